import { readLogLine } from "./log-line.ts";
import type { LogLine, LogMark, LogStream, MarkCount } from "./model.ts";

export interface LogSource {
  readonly namespace: string | undefined;
  readonly name: string;
  readonly container: string | undefined;
  readonly previous: boolean;
  /** File or request. */
  readonly origin: string;
  /** A time near the log's, to find the year of klog lines. */
  readonly nearMs: number | undefined;
}

/** Lines kept of each object: where its newest pass stands, and how the one before ended. */
const LINES_PER_OBJECT = 16;
/** Lines kept of each mark: so many of the first, so many of the last. */
const FIRST_OF_MARK = 20;
const LAST_OF_MARK = 200;
/** Lines kept that speak of no object and are no sign: the last ones. */
const OTHER_LINES = 20;

/** More objects than this in one log are hostile input. */
const OBJECTS_MAX = 20_000;

/**
 * Folds a log, line by line, into what a recognizer may need of it, in bounded memory however
 * long the log is: the last lines of each object, signs, counts and times.
 */
export class LogDigest {
  readonly #source: LogSource;
  readonly #byObject = new Map<string, LogLine[]>();
  readonly #byMark = new Map<LogMark, { count: MarkCount; first: LogLine[]; last: LogLine[] }>();
  #other: LogLine[] = [];
  #number = 0;
  #firstMs: number | undefined;
  #lastMs: number | undefined;
  #beforeMs: number | undefined;

  constructor(source: LogSource) {
    this.#source = source;
  }

  /** One line without its end. */
  add(text: string): void {
    this.#number += 1;
    if (text === "") return;
    const line = readLogLine(text, {
      origin: this.#source.origin,
      line: this.#number,
      beforeMs: this.#beforeMs,
      nearMs: this.#source.nearMs,
    });
    if (line === undefined) return;
    this.#firstMs = Math.min(this.#firstMs ?? line.atMs, line.atMs);
    this.#lastMs = Math.max(this.#lastMs ?? line.atMs, line.atMs);
    this.#beforeMs = line.atMs;
    this.#keep(line);
  }

  #keep(kept: LogLine): void {
    const { object, mark } = kept;
    if (object !== undefined) {
      const lines = this.#byObject.get(object);
      if (lines !== undefined) push(lines, kept, LINES_PER_OBJECT);
      else if (this.#byObject.size < OBJECTS_MAX) this.#byObject.set(object, [kept]);
    }
    if (mark !== undefined) this.#keepMark(mark, kept);
    else if (object === undefined) push(this.#other, kept, OTHER_LINES);
  }

  #keepMark(mark: LogMark, kept: LogLine): void {
    const { atMs } = kept;
    const found = this.#byMark.get(mark);
    if (found === undefined) {
      const count = { count: 1, firstMs: atMs, lastMs: atMs };
      this.#byMark.set(mark, { count, first: [kept], last: [] });
      return;
    }
    found.count = {
      count: found.count.count + 1,
      firstMs: Math.min(found.count.firstMs, atMs),
      lastMs: Math.max(found.count.lastMs, atMs),
    };
    if (found.first.length < FIRST_OF_MARK) found.first.push(kept);
    else push(found.last, kept, LAST_OF_MARK);
  }

  /** What was kept; `brokenOff` if the log ends in the middle of a line. */
  finish(brokenOff: boolean): LogStream {
    const { namespace, name, container, previous, origin } = this.#source;
    const all = new Set<LogLine>();
    const take = (kept: readonly LogLine[], limit: number) => {
      for (const each of kept.slice(-limit)) all.add(each);
    };
    take(this.#other, OTHER_LINES);
    for (const lines of this.#byObject.values()) take(lines, LINES_PER_OBJECT);
    const marks: Partial<Record<LogMark, MarkCount>> = {};
    for (const [mark, { count, first, last }] of this.#byMark) {
      marks[mark] = count;
      take(first, FIRST_OF_MARK);
      take(last, LAST_OF_MARK);
    }
    const lines = [...all].sort((one, two) => (one.place.line ?? 0) - (two.place.line ?? 0));
    const span =
      this.#firstMs === undefined || this.#lastMs === undefined
        ? undefined
        : { firstMs: this.#firstMs, lastMs: this.#lastMs };
    const lineCount = this.#number;
    const place = { origin };
    return {
      ...{ namespace, name, container, previous, lines, lineCount, marks, span },
      ...{ brokenOff, place },
    };
  }
}

/** Keeps the last ones; cuts seldom, so that adding stays cheap. */
function push(lines: LogLine[], kept: LogLine, limit: number): void {
  lines.push(kept);
  if (lines.length >= limit * 1.5) lines.splice(0, lines.length - limit);
}
