import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, constants, openSync, readFileSync, rmSync } from "node:fs";
import type { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { bootId, isDead, type ProcessIdentity, parseIdentity, statOf } from "./identity.ts";
import { isGroupOf, type Member, readProcessTable } from "./members.ts";

/** A command to run in a session and process group of its own. */
export interface GroupCommand {
  /** Program and arguments; no shell reads them. */
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The whole environment of the command. */
  readonly env: Readonly<Record<string, string>>;
  /** Files for its output, appended to: a pipe would kill the command when its reader dies. */
  readonly stdout: string;
  readonly stderr: string;
  /** File for its input; absent: the input is closed (/dev/null). */
  readonly stdin?: string;
  /** File that the wrapper writes its identity to before the command starts. */
  readonly identityFile: string;
  /** File that the wrapper writes the exit code to when the command has ended. */
  readonly exitFile: string;
}

export interface ProcessGroup {
  /** The wrapper: leader of session and group. */
  readonly identity: ProcessIdentity;
  /**
   * Resolves when the wrapper has ended: with the command's exit code (128 + signal if a signal
   * ended it), or undefined if the wrapper was killed before it could tell.
   */
  readonly ended: Promise<number | undefined>;
}

/**
 * The wrapper. It outlives an interrupt that is meant for its group, because it traps the signal
 * instead of ignoring it: an ignored one would be ignored by the command too. It notes who it is
 * before the command starts, so that no moment has a command of which nobody knows. It needs no
 * program on PATH but the command itself: both files are one short write, and half of it is taken
 * for nothing by who reads them. What a shell says by itself of a command that a signal ended would
 * stand among the command's own words, so its stderr is away meanwhile.
 */
const WRAPPER = `
umask 077
trap : INT TERM
identity=$1 exit_file=$2
shift 2
if [ -r "/proc/$$/stat" ]; then
  read -r stat <"/proc/$$/stat"
  start=$(set -f; set -- \${stat##*) }; printf %s "\${20}")
  read -r boot </proc/sys/kernel/random/boot_id
else
  start=$(LC_ALL=C TZ=UTC0 ps -o lstart= -p $$ | tr -s ' ' | sed 's/^ //;s/ $//')
  boot=$(sysctl -n kern.bootsessionuuid)
fi
printf '{"pid":%s,"startTime":"%s","bootId":"%s"}\\n' $$ "$start" "$boot" >"$identity" || exit 125
exec 3>&2 2>/dev/null
(exec "$@" 2>&3 3>&-)
code=$?
exec 2>&3 3>&-
printf '%s\\n' "$code" >"$exit_file"
exit "$code"
`;

/** How long the wrapper may take to say who it is: a shell start on a very busy machine. */
const IDENTITY_MS = 10_000;

/**
 * Starts a command. Fails if its folder or its output files are not there, or if the wrapper does
 * not come up in 10 s. A command that cannot be found is no failure here: it ends with code 127.
 */
export async function startGroup(command: GroupCommand): Promise<ProcessGroup> {
  const child = spawnWrapper(command);
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const failure = new Promise<Error>((resolve) => child.once("error", resolve));
  const pid = child.pid;
  if (pid === undefined) {
    throw new Error(`Cannot start ${command.argv[0]} in ${command.cwd}`, { cause: await failure });
  }
  const over = new AbortController();
  void ended.then(() => over.abort());
  const identity = await identityWritten(pid, command.identityFile, over.signal);
  if (identity === undefined) {
    // Still our unreaped child, so its pid is certain to be its own.
    child.kill("SIGKILL");
    const why = over.signal.aborted ? "wrote no identity (is the disk full?)" : "hangs";
    throw new Error(`Cannot start ${command.argv[0]}: its wrapper ${why}`);
  }
  // The wrapper ends with the code that it writes; on a full disk the file may be missing.
  const code = ended.then((own) => own ?? readExitFile(command.exitFile));
  return { identity, ended: code };
}

function spawnWrapper(command: GroupCommand): ChildProcess {
  // What an earlier command left must not be taken for this one's word.
  rmSync(command.identityFile, { force: true });
  rmSync(command.exitFile, { force: true });
  const names = [command.identityFile, command.exitFile];
  return spawnWithFiles({
    ...command,
    argv: ["/bin/sh", "-c", WRAPPER, "nigari-step", ...names, ...command.argv],
  });
}

function spawnWithFiles(
  command: Omit<DetachedCommand, "input"> & { readonly stdin?: string; readonly input?: "pipe" },
): ChildProcess {
  const append = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND;
  const [program = "", ...args] = command.argv;
  const files: number[] = [];
  try {
    if (command.input === undefined) files.push(openSync(command.stdin ?? "/dev/null", "r"));
    const stdin = files[0] ?? "pipe";
    const [stdout, stderr] = [command.stdout, command.stderr].map((path) => {
      const file = openSync(path, append, 0o600);
      files.push(file);
      return file;
    });
    const { cwd, env } = command;
    // Detached means setsid: a session and a group of its own, out of reach of our terminal.
    return spawn(program, args, { cwd, env, stdio: [stdin, stdout, stderr], detached: true });
  } finally {
    for (const file of files) closeSync(file);
  }
}

/** A program that outlives us and writes its own identity and results, such as a runner. */
export interface DetachedCommand {
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The whole environment of the program. */
  readonly env: Readonly<Record<string, string>>;
  /** Files for its output, appended to; may be the same. */
  readonly stdout: string;
  readonly stderr: string;
  /** Its input is a pipe, whose other end is closed when this process ends, however that comes. */
  readonly input?: "pipe";
}

export interface DetachedProcess {
  readonly identity: ProcessIdentity;
  /** Our end of its input, where that is a pipe. It fails silently: who writes looks for an end. */
  readonly input: Writable | undefined;
  /** How it ended, for as long as we live: its exit code or the signal that ended it. */
  readonly ended: Promise<ProcessEnd>;
}
export type ProcessEnd = { readonly exitCode: number } | { readonly signal: string };

/**
 * Starts a program in a session of its own, with files for its output, and does not keep this
 * process alive for it. Fails if it cannot be started.
 */
export async function startDetached(command: DetachedCommand): Promise<DetachedProcess> {
  const child = spawnWithFiles(command);
  // Looked at before the event loop can reap it: one that has ended already is still a zombie.
  const stat = child.pid === undefined ? undefined : statOf(child.pid);
  const ended = new Promise<ProcessEnd>((resolve) => {
    child.once("exit", (code, signal) => {
      resolve(signal === null ? { exitCode: code ?? 0 } : { signal });
    });
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (cause) => {
      reject(new Error(`Cannot start ${command.argv[0]} in ${command.cwd}`, { cause }));
    });
  });
  child.unref();
  const input = child.stdin ?? undefined;
  // A pipe without a reader is no reason to end; who wrote hears of it by the callback.
  input?.on("error", () => undefined);
  if (stat === undefined) throw new Error(`The process table does not show ${command.argv[0]}`);
  const { pid, startTime } = stat;
  return { identity: { pid, startTime, bootId: bootId() }, input, ended };
}

async function identityWritten(
  pid: number,
  file: string,
  ended: AbortSignal,
): Promise<ProcessIdentity | undefined> {
  const until = performance.now() + IDENTITY_MS;
  while (performance.now() < until) {
    const over = ended.aborted;
    const found = readIdentityFile(file);
    if (found?.pid === pid) return found;
    if (over) return undefined;
    await sleep(5);
  }
  return undefined;
}

/** The identity a wrapper or runner wrote; undefined if there is none. */
export function readIdentityFile(file: string): ProcessIdentity | undefined {
  const text = readIfThere(file);
  return text === undefined ? undefined : parseIdentity(text);
}

/** The exit code a wrapper wrote; undefined while there is none. */
export function readExitFile(file: string): number | undefined {
  const text = readIfThere(file)?.trim();
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

/**
 * SIGINT to every process of the group; false if there is none left. `token` is the value of
 * NIGARI_RUN_TOKEN in the group: once the leader is gone it alone proves whose group it is.
 *
 * OpenTofu takes a second interrupt as "stop at once, whatever becomes of the state". `onceFile`
 * makes sure that it gets one at most, whoever sends it, before and after a restart: the file is
 * made before the signal is sent, and where it stands already nothing is sent.
 */
export async function interrupt(
  leader: ProcessIdentity,
  token: string,
  onceFile?: string,
): Promise<boolean> {
  if (!isGroupOf(leader, await readProcessTable(), token)) return false;
  if (onceFile !== undefined && !claim(onceFile)) return true;
  return signalGroup(leader, "SIGINT");
}

/** Makes the file; false if it was there. */
function claim(file: string): boolean {
  try {
    closeSync(openSync(file, "wx", 0o600));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/**
 * SIGKILL to the group until nobody of it is left, within `boundMs`. True if that is confirmed,
 * false if a process outlived the bound (it hangs in the kernel).
 */
export async function kill(
  leader: ProcessIdentity,
  token: string,
  boundMs: number,
): Promise<boolean> {
  const until = performance.now() + boundMs;
  for (let empty = 0; ; ) {
    const left = isGroupOf(leader, await readProcessTable(), token);
    empty = left ? 0 : empty + 1;
    if (empty === 2) return true;
    if (left) signalGroup(leader, "SIGKILL");
    if (performance.now() > until) return empty > 0;
    // The second look is only to see who was born during the first.
    await sleep(left ? 10 : 1);
  }
}

/** Callers have proven a moment ago that the group is the leader's. */
function signalGroup(leader: ProcessIdentity, signal: "SIGINT" | "SIGKILL"): boolean {
  // If the leader's pid now belongs to another process, the group was gone and its number reused.
  const holder = statOf(leader.pid);
  if (holder !== undefined && holder.startTime !== leader.startTime) return false;
  return send(-leader.pid, signal);
}

/** SIGKILL to one process, checked the instant before to be the very one. */
export function killProcess(member: Member | ProcessIdentity): boolean {
  const now = statOf(member.pid);
  if (now === undefined || isDead(now) || now.startTime !== member.startTime) return false;
  return member.bootId === bootId() && send(member.pid, "SIGKILL");
}

function send(target: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(target, signal);
    return true;
  } catch {
    // Gone in between, or not ours: either way the caller's next look tells.
    return false;
  }
}
