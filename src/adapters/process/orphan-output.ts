import { createReadStream, existsSync, readFileSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Journal } from "../../protocol/journal.ts";
import { maskOf } from "../../protocol/masking.ts";
import { type JournalBody, orderFromText, type StartOrder } from "../../protocol/messages.ts";
import type { RunFolder } from "../../protocol/run-folder.ts";
import { RunLog } from "../../protocol/run-log.ts";
import { loggedAs, parseTofuLine, type TofuLine } from "../../protocol/tofu-json.ts";
import { list } from "./record.ts";

// What an apply says after its runner died. The dead runner's pen is taken up: its log and journal
// are continued as it would have done. Only for runs whose runner is proven dead.

/** The line that the runner begins the log of an apply with. */
const BEGINNING = "nigari: apply";

/** The order as the runner stored it; undefined if there is none that can be read. */
export function orderIn(folder: RunFolder): StartOrder | undefined {
  try {
    return orderFromText(readFileSync(folder.order, "utf8"));
  } catch {
    // Never ordered, released already, or written by a runner of another time.
    return undefined;
  }
}

/**
 * Writes into log and journal what the output of an apply has beyond them, and `closing` as the
 * log's last line. Safe to do again.
 */
export async function continueOutput(folder: RunFolder, closing?: string): Promise<void> {
  const order = orderIn(folder);
  const output = join(folder.steps, "apply.out");
  if (order === undefined || !existsSync(output)) return;
  const mask = maskOf(order.sensitive);
  const log = new RunLog(folder.log);
  try {
    log.configure(mask, order.outputLimitBytes);
    const told = await linesOf(log);
    const write = (text: string, weight: "matters" | "noise") => {
      for (const line of text.split("\n")) if (!told.has(mask.apply(line))) log.write(line, weight);
    };
    const journal = new Journal(folder.journal);
    const journalled = journal.events.filter((event) => event.type === "progress");
    const known = new Sequence(journalled.map(progressText));
    const fresh: JournalBody[] = [];
    for await (const line of tofuLines(output)) {
      const progress = progressOf(line);
      if (progress !== undefined && !known.has(progressText(progress))) fresh.push(progress);
      const logged = loggedAs(line);
      if (logged !== undefined) write(logged.text, logged.weight);
    }
    await journal.append(...fresh);
    log.reportDropped();
    if (closing !== undefined) write(closing, "matters");
  } finally {
    log.close();
  }
}

/**
 * Cuts off output that has grown beyond its limit, once what matters of it is in log and journal:
 * an orphan that floods must not fill the disk. It writes with O_APPEND and goes on at the new end;
 * what it writes between the last read and the cut is lost.
 */
export async function capOutput(folder: RunFolder): Promise<void> {
  const limitBytes = orderIn(folder)?.outputLimitBytes;
  if (limitBytes === undefined) return;
  for (const name of list(folder.steps)) {
    if (!/\.(out|err)$/.test(name)) continue;
    const path = join(folder.steps, name);
    if (statSync(path).size <= limitBytes) continue;
    if (name === "apply.out") await continueOutput(folder);
    truncateSync(path, 0);
  }
}

type Progress = Extract<JournalBody, { type: "progress" }>;

function progressOf(line: TofuLine): Progress | undefined {
  if (line.kind !== "progress" || line.state === "going") return undefined;
  const { resource, action, state } = line;
  return { type: "progress", resource, action, state };
}

function progressText({ resource, action, state }: Omit<Progress, "type">): string {
  return `${state} ${action} ${resource}`;
}

/** Lines of the log since the apply began. */
async function linesOf(log: RunLog): Promise<Sequence> {
  let lines: string[] = [];
  for await (const { line } of log.read(0)) {
    if (line === BEGINNING) lines = [];
    else lines.push(line);
  }
  return new Sequence(lines);
}

async function* tofuLines(path: string): AsyncIterable<TofuLine> {
  const lines = createInterface({ input: createReadStream(path, "utf8"), crlfDelay: Infinity });
  for await (const text of lines) {
    const line = parseTofuLine(text);
    // Torn by a cut or by a kill.
    if (line.kind === "text" && line.text.startsWith("{")) continue;
    yield line;
  }
}

/**
 * Texts in their order, found again one after the other: where a second sequence begins with what
 * is in this one, among others, all of that is found, and nothing that comes after it.
 */
class Sequence {
  readonly #places = new Map<string, number[]>();
  #next = 0;

  constructor(texts: readonly string[]) {
    for (const [place, text] of texts.entries()) {
      const places = this.#places.get(text);
      if (places === undefined) this.#places.set(text, [place]);
      else places.push(place);
    }
  }

  has(text: string): boolean {
    const place = this.#places.get(text)?.find((each) => each >= this.#next);
    if (place === undefined) return false;
    this.#next = place + 1;
    return true;
  }
}
