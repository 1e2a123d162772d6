import type { StartOrder } from "../protocol/messages.ts";

// What OpenTofu is told, one function a command. None asks for input or colours its text.

const QUIET = ["-no-color", "-input=false"] as const;

/**
 * No -force-copy: it would let a state file that lies in the source overwrite the real state at
 * every run. Such a source ends here, with OpenTofu's own words.
 */
export function initArguments(order: StartOrder, backendConfigFile: string | undefined): string[] {
  return [
    "init",
    ...QUIET,
    "-backend=true",
    "-get=true",
    `-upgrade=${order.upgrade}`,
    ...(backendConfigFile === undefined ? [] : [`-backend-config=${backendConfigFile}`]),
  ];
}

export function workspaceArguments(order: StartOrder): string[] {
  return ["workspace", "select", "-no-color", "-or-create=true", order.workspace];
}

export function planArguments(
  order: StartOrder,
  files: { plan: string; varFiles: readonly string[] },
): string[] {
  return [
    "plan",
    "-json",
    ...QUIET,
    "-detailed-exitcode",
    `-lock-timeout=${order.lockTimeout === "" ? "0s" : order.lockTimeout}`,
    `-out=${files.plan}`,
    ...files.varFiles.map((file) => `-var-file=${file}`),
    `-lock=${order.lock}`,
    "-parallelism=10",
    `-refresh=${order.refresh}`,
    ...(order.destroy ? ["-destroy"] : []),
    ...order.targets.map((target) => `-target=${target}`),
  ];
}

/** Targets, variables and the kind of plan are in the plan file. */
export function applyArguments(order: StartOrder, planFile: string): string[] {
  return [
    "apply",
    "-json",
    ...QUIET,
    "-auto-approve",
    "-lock=true",
    `-parallelism=${order.parallelism > 0 ? order.parallelism : 10}`,
    planFile,
  ];
}

export function showArguments(planFile: string, form: "json" | "human"): string[] {
  return ["show", ...(form === "json" ? ["-json"] : []), "-no-color", planFile];
}

/** What the state holds. */
export const stateArguments = ["show", "-json", "-no-color"] as const;

export function unlockArguments(lockId: string): string[] {
  return ["force-unlock", "-no-color", "-force", lockId];
}

export const outputArguments = ["output", "-json", "-no-color"] as const;

/** Attributes of -backend-config as a file: on the command line everybody could read them. */
export function backendConfigText(config: Readonly<Record<string, string>>): string {
  const lines = Object.entries(config).map(([key, value]) => {
    // A quoted HCL string escapes as JSON does, and would expand ${ and %{ besides.
    const quoted = JSON.stringify(value).replaceAll(/[$%](?=\{)/g, (sign) => sign + sign);
    return `${key} = ${quoted}\n`;
  });
  return lines.join("");
}
