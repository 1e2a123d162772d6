import { type ChildProcess, spawn } from "node:child_process";

/**
 * One short-lived command whose end we wait for (git, go, `tofu version`). Runs of OpenTofu do not
 * come here: their output must go to files, for a pipe dies with its reader.
 */
export interface Command {
  /** A path, or a name that is looked up on the PATH of `env`. */
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  /** The whole environment of the child; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  /** Bytes kept of stdout and of stderr each; the rest is read and dropped. 1 MiB if absent. */
  readonly outputLimitBytes?: number;
  /** Takes stdout as it comes, instead of keeping it. */
  readonly onStdout?: (chunk: Buffer) => void;
  /** Sees stderr as it comes; it is kept all the same. */
  readonly onStderr?: (chunk: Buffer) => void;
  /** Between SIGTERM and SIGKILL when the call ends early. 2,000 if absent. */
  readonly graceMs?: number;
}

export interface CommandResult {
  /** Undefined when a signal ended it. */
  readonly code: number | undefined;
  readonly signal: NodeJS.Signals | undefined;
  readonly stdout: Buffer;
  /** Not masked: whoever gave the child a secret removes it before showing this. */
  readonly stderr: string;
  /** More came than was kept. */
  readonly truncated: boolean;
}

export type CommandErrorCode =
  /** There is no such program, or it may not be executed. */
  | "NotFound"
  /** The call's signal fired first; `cause` is its reason. */
  | "Ended"
  /** The system would not start it. */
  | "NotStarted";

/** The command could not be run to its end. An exit code other than 0 is a result, not an error. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly code: CommandErrorCode;
  constructor(code: CommandErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

const OUTPUT_LIMIT_BYTES = 1024 * 1024;
const GRACE_MS = 2_000;
/** How long a grandchild may hold the output open once the command itself has ended. */
const DRAIN_MS = 500;

/**
 * Runs a command in a process group of its own, stdin closed, and answers with how it ended. When
 * the signal fires, the group is ended, and only then does the call fail with CommandError "Ended".
 */
export async function runCommand(
  command: Command,
  call: { readonly signal: AbortSignal },
): Promise<CommandResult> {
  if (call.signal.aborted) throw ended(command, call.signal);
  const child = spawn(command.file, command.args, {
    cwd: command.cwd,
    env: command.env,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const stdout = new Kept(command.outputLimitBytes ?? OUTPUT_LIMIT_BYTES);
  const stderr = new Kept(command.outputLimitBytes ?? OUTPUT_LIMIT_BYTES);
  child.stdout?.on("data", command.onStdout ?? ((chunk: Buffer) => stdout.add(chunk)));
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr.add(chunk);
    command.onStderr?.(chunk);
  });
  const { code, signal } = await endOf(child, command, call.signal);
  if (call.signal.aborted && code !== 0) throw ended(command, call.signal);
  return {
    code: code ?? undefined,
    signal: signal ?? undefined,
    stdout: stdout.bytes(),
    stderr: stderr.bytes().toString("utf8"),
    truncated: stdout.dropped || stderr.dropped,
  };
}

interface End {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

function endOf(child: ChildProcess, command: Command, signal: AbortSignal): Promise<End> {
  const { promise, resolve, reject } = Promise.withResolvers<End>();
  let timer: NodeJS.Timeout | undefined;
  const onAbort = () => {
    signalGroup(child, "SIGTERM");
    timer = setTimeout(() => signalGroup(child, "SIGKILL"), command.graceMs ?? GRACE_MS);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  const settle = () => {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  };
  child.once("error", (error: NodeJS.ErrnoException) => {
    if (child.pid !== undefined) return;
    settle();
    reject(notStarted(command, error));
  });
  child.once("exit", () => {
    clearTimeout(timer);
    // A grandchild may have kept our pipes. Its group is ours as long as it has a member, so its
    // number cannot have passed to strangers while the pipes are held by one.
    timer = setTimeout(() => {
      signalGroup(child, "SIGKILL");
      child.stdout?.destroy();
      child.stderr?.destroy();
    }, DRAIN_MS);
  });
  child.once("close", (code, endSignal) => {
    settle();
    resolve({ code, signal: endSignal });
  });
  return promise;
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // Nobody is left in the group.
  }
}

function ended(command: Command, signal: AbortSignal): CommandError {
  const reason = signal.reason instanceof Error ? signal.reason.message : String(signal.reason);
  return new CommandError("Ended", `Program "${command.file}" was ended: ${reason}`, {
    cause: signal.reason,
  });
}

function notStarted(command: Command, error: NodeJS.ErrnoException): CommandError {
  const where = command.cwd === undefined ? "" : ` in ${command.cwd}`;
  if (error.code === "ENOENT" || error.code === "EACCES") {
    return new CommandError(
      "NotFound",
      `Program "${command.file}" could not be started${where} (${error.code}); ` +
        "see that it is installed and on PATH",
      { cause: error },
    );
  }
  const message = `Program "${command.file}" could not be started${where}: ${error.message}`;
  return new CommandError("NotStarted", message, { cause: error });
}

/** The first bytes of a stream, up to a limit. */
class Kept {
  dropped = false;
  private readonly chunks: Buffer[] = [];
  private room: number;
  constructor(limitBytes: number) {
    this.room = limitBytes;
  }
  add(chunk: Buffer): void {
    const kept = chunk.subarray(0, this.room);
    if (kept.length < chunk.length) this.dropped = true;
    if (kept.length === 0) return;
    this.room -= kept.length;
    this.chunks.push(kept);
  }
  bytes(): Buffer {
    return Buffer.concat(this.chunks);
  }
}
