import { ArtifactError } from "../../ports/artifacts.ts";
import type { Call } from "../../ports/call.ts";
import { CommandError, runCommand } from "../../processes/command.ts";
import type { Session } from "./session.ts";
import { type TroubleContext, troubleOf } from "./trouble.ts";

/** Git, within one session. */
export interface Git {
  /** What it wrote to stdout. Fails with `ArtifactError` when it fails. */
  run(args: readonly string[], call: Call, more?: GitExtras): Promise<string>;
  /** Whether it succeeded. Fails with `ArtifactError` only if it cannot be run to its end. */
  succeeds(args: readonly string[], call: Call, more?: GitExtras): Promise<boolean>;
}
export interface GitExtras {
  readonly env?: Readonly<Record<string, string>>;
  /** File that takes stdout. */
  readonly into?: string;
  /** File that gives stdin. */
  readonly from?: string;
}

const OUTPUT_LIMIT_BYTES = 32 * 1024 * 1024;
/** The unit of `ulimit -f`, as POSIX has it. */
const BLOCK_BYTES = 512;
/**
 * Starts git with a limit on the size of each file it writes: the kernel's own, so that no
 * repository can fill the disk between two looks of ours. stdin and stdout by name: the file's or
 * nothing's.
 */
const LIMITED = `ulimit -f "$1" 2>/dev/null; from=$2 into=$3; shift 3
if [ -n "$into" ]; then exec git "$@" <"$from" >"$into"; else exec git "$@" <"$from"; fi`;

export function createGit(session: Session, context: TroubleContext): Git {
  async function run(args: readonly string[], call: Call, more: GitExtras = {}) {
    const blocks = String(Math.ceil(context.fileLimitBytes / BLOCK_BYTES));
    try {
      return await runCommand(
        {
          file: "/bin/sh",
          args: ["-c", LIMITED, "sh", blocks, more.from ?? "/dev/null", more.into ?? "", ...args],
          env: { ...session.env, ...more.env },
          cwd: session.folder,
          outputLimitBytes: OUTPUT_LIMIT_BYTES,
        },
        call,
      );
    } catch (error) {
      throw notRun(error, context, call);
    }
  }
  return {
    async run(args, call, more) {
      const result = await run(args, call, more);
      if (result.truncated) {
        throw new ArtifactError(
          `Repository ${context.address.shown} has more refs or files than can be read; ` +
            "name one branch or tag in spec.ref",
          false,
        );
      }
      if (result.code === 0) return result.stdout.toString("utf8");
      const said =
        result.signal === undefined ? result.stderr : `${result.stderr}\n${result.signal}`;
      throw missingGit(result.code, result.stderr) ?? troubleOf(said, context);
    },
    async succeeds(args, call, more) {
      return (await run(args, call, more)).code === 0;
    },
  };
}

function missingGit(code: number | undefined, stderr: string): ArtifactError | undefined {
  if (code !== 127 || !/git: (command )?not found|git.*No such file/i.test(stderr))
    return undefined;
  return new ArtifactError("Program git is not found on PATH; install it", false);
}

function notRun(error: unknown, context: TroubleContext, call: Call): unknown {
  if (call.signal.aborted) {
    const reason = call.signal.reason instanceof Error ? call.signal.reason.message : "cancelled";
    return new ArtifactError(
      `Reading ${context.address.shown} was stopped: ${reason}; ` +
        "make spec.timeout longer if the repository is large",
      true,
      { cause: call.signal.reason },
    );
  }
  if (!(error instanceof CommandError)) return error;
  return new ArtifactError(`Git could not be started: ${error.message}`, true, { cause: error });
}
