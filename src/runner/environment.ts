import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { StageFailure } from "./failure.ts";

type Environment = Readonly<Record<string, string>>;

/** Variables that would change what a command does or says behind our back. */
const FORBIDDEN = [
  /^TF_VAR_/,
  /^TF_CLI_ARGS/,
  /^TF_INPUT$/,
  /^TF_IN_AUTOMATION$/,
  /^TF_LOG/,
  /^TF_REATTACH_PROVIDERS$/,
  /^TF_APPEND_USER_AGENT$/,
  /^TF_WORKSPACE$/,
  /^TF_DISABLE_PLUGIN_TLS$/,
  /^TF_SKIP_PROVIDER_VERIFY$/,
];

/**
 * The environment for OpenTofu: the runner's own, the order's above it, and what is always set.
 * Fails if either has a forbidden variable, and names it, never its value.
 */
export function tofuEnvironment(own: Environment, ordered: Environment): Record<string, string> {
  refuse(ordered, "remove it from spec.runnerPodTemplate.spec.env");
  refuse(own, "remove it from the environment that is passed to runners");
  const env: Record<string, string> = { ...own, ...ordered };
  const config = env.TF_CLI_CONFIG_FILE;
  // OpenTofu would warn at every command.
  if (config !== undefined && !existsSync(config)) delete env.TF_CLI_CONFIG_FILE;
  // No module has business in there.
  delete env.NIGARI_CACHE;
  delete env.NODE_COMPILE_CACHE;
  env.TF_IN_AUTOMATION = "1";
  env.TF_INPUT = "0";
  env.CHECKPOINT_DISABLE ??= "1";
  env.TF_APPEND_USER_AGENT = "nigari";
  return env;
}

function refuse(env: Environment, mend: string): void {
  const name = Object.keys(env).find((each) => FORBIDDEN.some((pattern) => pattern.test(each)));
  if (name === undefined) return;
  const hint = name.startsWith("TF_VAR_") ? "; give variables in spec.vars or spec.varsFrom" : "";
  throw new StageFailure(
    "init",
    `Environment variable "${name}" must not be set by hand: ${mend}${hint}`,
  );
}

/** The program: NIGARI_TOFU, else `tofu`, else `terraform` on the PATH. */
export function findTofu(env: Environment): string {
  const named = env.NIGARI_TOFU;
  if (named !== undefined && named !== "") return named;
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  for (const name of ["tofu", "terraform"]) {
    const found = folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
    if (found !== undefined) return found;
  }
  throw new StageFailure(
    "init",
    "Neither tofu nor terraform is on the runner's PATH; install one or set NIGARI_TOFU",
  );
}
