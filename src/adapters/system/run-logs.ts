import { appendFile, mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { keyText, type ObjectKey } from "../../api/kinds.ts";
import { type Stage, stages } from "../../api/terraform.ts";
import { type LogLine, type LogOptions, type RunLogs, SlowReader } from "../../ports/runs.ts";

/**
 * Log lines of runs in `<root>/<namespace>/<name>/<runId>.log`, one line each: time, stage and text
 * with tabs between, so that `less` shows them too. A run's file is cut in two halves: when the
 * newer one is full it becomes the older (`.log.old`), whose forerunner goes. So the newest half of
 * `bytesPerRun` is always there, and with it the error that ended the run.
 */
export interface RunLogLimits {
  readonly bytesPerRun: number;
  readonly runsPerObject: number;
  /** Bytes that one `read` answers with at most; the newest. */
  readonly bytesPerRead: number;
}
export const runLogLimits: RunLogLimits = {
  bytesPerRun: 8 * 1024 * 1024,
  runsPerObject: 20,
  bytesPerRead: 16 * 1024 * 1024,
};

/** Lines a follower may lie behind before it is let go. */
const FOLLOWER_LINES_MAX = 10_000;
/** Characters kept of one line. */
const LINE_LENGTH_MAX = 64 * 1024;

export function createRunLogs(root: string, limits: RunLogLimits = runLogLimits): RunLogs {
  const followers = new Map<string, Set<Follower>>();
  const inTurn = oneAtATime();
  const folderOf = (key: ObjectKey) => join(root, safe(key.namespace), safe(key.name));

  return {
    append(key, runId, lines, call) {
      return inTurn(keyText(key), async () => {
        call.signal.throwIfAborted();
        const kept = fitting(lines, limits.bytesPerRun / 2);
        if (kept.length === 0) return;
        await appendLines(folderOf(key), safe(runId), kept, limits);
        for (const follower of followers.get(keyText(key)) ?? []) follower.take(kept);
      });
    },

    read(key, options, call) {
      return inTurn(keyText(key), () => readLines(folderOf(key), options, limits, call.signal));
    },

    async *follow(key, options, call) {
      const follower = new Follower(options.runId, call.signal);
      const others = followers.get(keyText(key)) ?? new Set();
      // Reading and joining are one turn: no line in between is missed or told twice.
      const before = await inTurn(keyText(key), async () => {
        const lines = await readLines(folderOf(key), options, limits, call.signal);
        followers.set(keyText(key), others.add(follower));
        return lines;
      });
      try {
        yield* before;
        yield* follower.lines();
      } finally {
        others.delete(follower);
        if (others.size === 0) followers.delete(keyText(key));
      }
    },
  };
}

async function appendLines(
  folder: string,
  runId: string,
  lines: readonly LogLine[],
  limits: RunLogLimits,
): Promise<void> {
  const path = join(folder, `${runId}.log`);
  const size = await stat(path).then(
    (found) => found.size,
    () => undefined,
  );
  if (size === undefined) {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await forgetOldRuns(folder, limits.runsPerObject - 1);
  } else if (size > limits.bytesPerRun / 2) {
    await rename(path, `${path}.old`);
  }
  await appendFile(path, lines.map(writeLine).join(""), { mode: 0o600 });
}

async function readLines(
  folder: string,
  options: LogOptions,
  limits: RunLogLimits,
  signal: AbortSignal,
): Promise<LogLine[]> {
  const wanted = options.tail ?? Number.POSITIVE_INFINITY;
  let found: LogLine[] = [];
  let left = limits.bytesPerRead;
  // From the newest file backwards, until there is enough.
  for (const file of (await filesOf(folder)).reverse()) {
    if (options.runId !== undefined && file.runId !== options.runId) continue;
    if (found.length >= wanted || left <= 0) break;
    signal.throwIfAborted();
    const text = await readFile(file.path, "utf8").catch(() => "");
    left -= text.length;
    found = [...parseLines(text, file.runId), ...found];
  }
  return found.slice(Math.max(0, found.length - wanted));
}

interface LogFile {
  readonly runId: string;
  readonly path: string;
  readonly old: boolean;
  readonly changedMs: number;
}

/** Oldest first: runs of one object follow one another, so their last writes order them. */
async function filesOf(folder: string): Promise<LogFile[]> {
  const names = await readdir(folder).catch(() => []);
  const files = await Promise.all(
    names.map(async (name): Promise<LogFile | undefined> => {
      const match = /^(.+)\.log(\.old)?$/.exec(name);
      const path = join(folder, name);
      const found = await stat(path).catch(() => undefined);
      if (match?.[1] === undefined || found === undefined) return undefined;
      return { runId: match[1], path, old: match[2] !== undefined, changedMs: found.mtimeMs };
    }),
  );
  return files
    .filter((file) => file !== undefined)
    .sort((a, b) => a.changedMs - b.changedMs || Number(b.old) - Number(a.old));
}

async function forgetOldRuns(folder: string, keep: number): Promise<void> {
  const files = await filesOf(folder);
  const runIds = [...new Set(files.map((file) => file.runId).reverse())];
  const gone = new Set(runIds.slice(keep));
  for (const file of files) if (gone.has(file.runId)) await rm(file.path, { force: true });
}

/** Each text on a line of its own, none too long, and of all no more than fit: the newest. */
function fitting(lines: readonly LogLine[], limitBytes: number): LogLine[] {
  let left = limitBytes;
  const kept: LogLine[] = [];
  const single = lines.flatMap((line) =>
    line.text
      .split(/\r?\n/)
      .map((text): LogLine => ({ ...line, text: text.slice(0, LINE_LENGTH_MAX) })),
  );
  for (const line of single.reverse()) {
    left -= Buffer.byteLength(writeLine(line));
    if (left < 0) break;
    kept.push(line);
  }
  return kept.reverse();
}

function writeLine(line: LogLine): string {
  return `${line.at}\t${line.stage}\t${line.text}\n`;
}

function parseLines(text: string, runId: string): LogLine[] {
  return text.split("\n").flatMap((line) => {
    const [at, stage, ...rest] = line.split("\t");
    // A line that a power cut tore is no line.
    if (at === undefined || !isStage(stage) || rest.length === 0) return [];
    return [{ at, runId, stage, text: rest.join("\t") }];
  });
}

function isStage(text: string | undefined): text is Stage {
  return stages.some((stage) => stage === text);
}

/** A name as one path segment. Names of objects and runs are such; anything else is a bug. */
function safe(name: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name)) {
    throw new RangeError(`Name "${name}" cannot name a log file`);
  }
  return name;
}

/** Runs tasks of the same key one after the other. */
function oneAtATime(): <T>(key: string, task: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return async (key, task) => {
    const mine = (last.get(key) ?? Promise.resolve()).then(task, task);
    last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (last.get(key) === mine) last.delete(key);
    }
  };
}

const TOO_SLOW =
  `This reader fell more than ${FOLLOWER_LINES_MAX} log lines behind and was let go; ` +
  "follow again, or read what is kept without following";

/** One reader that waits for more; it is handed lines and never holds up the writer. */
class Follower {
  private waiting: LogLine[] = [];
  private isSlow = false;
  private wake: () => void = () => {};
  private readonly runId: string | undefined;
  private readonly signal: AbortSignal;
  constructor(runId: string | undefined, signal: AbortSignal) {
    this.runId = runId;
    this.signal = signal;
  }

  take(lines: readonly LogLine[]): void {
    if (this.isSlow) return;
    for (const line of lines) {
      if (this.runId === undefined || this.runId === line.runId) this.waiting.push(line);
    }
    if (this.waiting.length > FOLLOWER_LINES_MAX) {
      this.waiting = [];
      this.isSlow = true;
    }
    this.wake();
  }

  async *lines(): AsyncIterable<LogLine> {
    const onAbort = () => this.wake();
    this.signal.addEventListener("abort", onAbort);
    try {
      while (!this.signal.aborted) {
        const ready = this.waiting;
        this.waiting = [];
        for (const line of ready) {
          if (this.isSlow) throw new SlowReader(TOO_SLOW);
          yield line;
        }
        if (this.isSlow) throw new SlowReader(TOO_SLOW);
        if (this.waiting.length > 0 || this.signal.aborted) continue;
        await new Promise<void>((resolve) => {
          this.wake = resolve;
        });
      }
    } finally {
      this.signal.removeEventListener("abort", onAbort);
    }
  }
}
