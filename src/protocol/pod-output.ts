import type { LogEvent } from "../ports/runner.ts";
import { eventFromJson, eventToJson } from "./journal.ts";
import type { JournalEvent } from "./messages.ts";

/**
 * What a runner in a pod prints. Its folder dies with it, but what it printed can be read as long
 * as the pod's object is there: the lines of its log as they are, for people too, and its journal
 * in lines that begin with a mark.
 */
const JOURNAL = "nigari-journal: ";
/** What the runner says of itself; no part of the run's log. */
const REMARK = "nigari-runner: ";
/** A line of the log that would pass for one of ours is set off by a space. */
const LIKE_OURS = /^ *nigari-(?:journal|runner): /;

/**
 * A kubelet serves only the newest file of a container's output, of 10 MiB by default. The journal
 * is told again often enough to be whole in any such file.
 */
const TOLD_AGAIN_BYTES = 4 << 20;

/** Prints a run. `write` gets whole lines, each with its end. */
export class PodOutput {
  readonly #write: (text: string) => void;
  readonly #events: JournalEvent[] = [];
  #sinceWhole = 0;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  event(event: JournalEvent): void {
    this.#events.push(event);
    this.#line(journalLine(event));
    this.#again();
  }

  log(line: string): void {
    this.#line(LIKE_OURS.test(line) ? ` ${line}` : line);
    this.#again();
  }

  remark(text: string): void {
    for (const line of text.split("\n")) this.#line(`${REMARK}${line}`);
  }

  #again(): void {
    if (this.#sinceWhole < TOLD_AGAIN_BYTES) return;
    for (const event of this.#events) this.#line(journalLine(event));
    this.#sinceWhole = 0;
  }

  #line(text: string): void {
    this.#sinceWhole += text.length + 1;
    this.#write(`${text}\n`);
  }
}

function journalLine(event: JournalEvent): string {
  return `${JOURNAL}${JSON.stringify(eventToJson(event))}`;
}

/** What one printed line is. A journal line that is torn or strange tells nothing. */
export type PrintedLine =
  | { readonly is: "journal"; readonly event: JournalEvent | undefined }
  | { readonly is: "remark" }
  | { readonly is: "log"; readonly text: string };

export function readPodLine(line: string): PrintedLine {
  if (line.startsWith(JOURNAL)) return { is: "journal", event: eventIn(line) };
  if (line.startsWith(REMARK)) return { is: "remark" };
  return { is: "log", text: LIKE_OURS.test(line) ? line.slice(1) : line };
}

/** What was printed, read again. A journal line that is torn or strange ends the journal. */
export interface PrintedRun {
  readonly events: readonly JournalEvent[];
  readonly log: readonly LogEvent[];
}

export function readPodOutput(text: string): PrintedRun {
  const events = new Map<number, JournalEvent>();
  const log: LogEvent[] = [];
  let offset = 0;
  // What stands behind the last line's end was torn off by the kill.
  for (const line of text.split("\n").slice(0, -1)) {
    const told = readPodLine(line);
    if (told.is === "journal" && told.event !== undefined) {
      events.set(told.event.sequence, told.event);
    } else if (told.is === "log") {
      offset += Buffer.byteLength(told.text) + 1;
      log.push({ type: "log", offset, line: told.text });
    }
  }
  return { events: unbroken(events), log };
}

function eventIn(line: string): JournalEvent | undefined {
  try {
    return eventFromJson(JSON.parse(line.slice(JOURNAL.length)));
  } catch {
    return undefined;
  }
}

function unbroken(events: ReadonlyMap<number, JournalEvent>): JournalEvent[] {
  const found: JournalEvent[] = [];
  for (let event = events.get(1); event !== undefined; event = events.get(found.length + 1)) {
    found.push(event);
  }
  return found;
}
