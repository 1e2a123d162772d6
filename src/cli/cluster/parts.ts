import type { Command } from "commander";
import type { Call } from "../../ports/call.ts";
import type { ClusterAdmin } from "../../ports/cluster.ts";
import type { CommonFlags } from "../context.ts";
import { CliError, EXIT, type PlaceFlags, type Shell } from "../world.ts";

/** Which cluster: that of the current context, if neither is given. */
export type ClusterFlags = Pick<PlaceFlags, "kubeconfig" | "context">;

/** A cluster as tools work on it. Main hands it in. */
export interface OpenCluster {
  readonly admin: ClusterAdmin;
  close(): void;
}

export interface ClusterParts {
  readonly shell: Shell;
  /** Fails with CliError where there is no way to it. */
  openCluster(flags: ClusterFlags): Promise<OpenCluster>;
  /** The definition of the kind Terraform that comes with this version. */
  definition(): Promise<unknown>;
}

/** What a tool gets: the shell, the cluster, and a bound on each call. */
export interface ClusterContext {
  readonly shell: Shell;
  readonly admin: ClusterAdmin;
  readonly output: CommonFlags["output"];
  /** A call of at most 30 s that Ctrl-C ends. */
  call(): Call;
}

const CALL_LIMIT_MS = 30_000;

/** Opens the cluster, says which it is, runs the tool, closes it. */
export async function withCluster(
  parts: ClusterParts,
  flags: CommonFlags,
  tool: (context: ClusterContext) => Promise<number>,
): Promise<number> {
  const { shell } = parts;
  if (flags.dataDir !== undefined) {
    throw new CliError(EXIT.usage, "This works on a cluster; leave --data-dir out");
  }
  const { admin, close } = await parts.openCluster(flags);
  try {
    shell.out.error(`On ${admin.name}\n`);
    const call = (): Call => ({
      signal: shell.clock.deadline("The request", CALL_LIMIT_MS, shell.interrupted),
    });
    return await tool({ shell, admin, output: flags.output, call });
  } finally {
    close();
  }
}

/** What adds a tool's verb to the program. */
export interface VerbPorts {
  readonly program: Command;
  readonly parts: ClusterParts;
  readonly common: (command: Command) => CommonFlags;
  readonly done: (code: number) => void;
}
