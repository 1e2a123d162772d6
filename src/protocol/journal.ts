import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import type { RunOutcome } from "../domain/facts.ts";
import { writeDurably } from "./durable.ts";
import { EntrySchema } from "./generated/runner_pb.ts";
import {
  entryFromMessage,
  entryToMessage,
  type JournalBody,
  type JournalEvent,
} from "./messages.ts";

// The journal of a run: what happened, on disk before anybody is told. A file holds the entries of
// one moment as a JSON list of the protocol's Entry messages and is named after the first one's
// sequence number. Its reader needs no living runner.

/** Everything in the journal, in order; empty if there is none. Ends at the first gap. */
export function readJournal(folder: string): JournalEvent[] {
  const events: JournalEvent[] = [];
  for (const name of journalFiles(folder)) {
    const list: unknown = JSON.parse(readFileSync(join(folder, name), "utf8"));
    if (!Array.isArray(list)) throw new Error(`Journal file ${name} is no list`);
    for (const each of list) {
      const event = eventFromJson(each);
      if (event.sequence !== events.length + 1) return events;
      events.push(event);
    }
  }
  return events;
}

/** An entry as the journal's files have it. */
export function eventToJson(event: JournalEvent): JsonValue {
  return toJson(EntrySchema, entryToMessage(event));
}

/** Fails if it is no entry, or says what this version has no word for. */
export function eventFromJson(value: unknown): JournalEvent {
  return entryFromMessage(fromJson(EntrySchema, value as JsonValue, { ignoreUnknownFields: true }));
}

/** The run's last word; undefined while it has none. */
export function outcomeOf(events: readonly JournalEvent[]): RunOutcome | undefined {
  const last = events.findLast((event) => event.type === "outcome");
  return last?.type === "outcome" ? last.outcome : undefined;
}

function journalFiles(folder: string): string[] {
  try {
    const names = readdirSync(folder).filter((name) => /^\d+\.json$/.test(name));
    return names.sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}

/** The runner's pen. Entries are written in the order of the calls. */
export class Journal {
  readonly #folder: string;
  readonly #events: JournalEvent[] = [];
  readonly #listeners = new Set<() => void>();
  #queue: Promise<void> = Promise.resolve();

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#events = readJournal(folder);
  }

  /** What is safely on disk. */
  get events(): readonly JournalEvent[] {
    return this.#events;
  }

  /** Resolves when the entries are on disk; only then do listeners see them. */
  append(...bodies: readonly JournalBody[]): Promise<void> {
    const written = this.#queue.then(() => this.#write(bodies));
    // A failed entry is the caller's to deal with; the next one is tried all the same.
    this.#queue = written.catch(() => undefined);
    return written;
  }

  /** Calls back after every append; returns how to stop that. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #write(bodies: readonly JournalBody[]): Promise<void> {
    if (bodies.length === 0) return;
    const first = this.#events.length + 1;
    const events = bodies.map(
      (body, index): JournalEvent => ({ ...body, sequence: first + index }),
    );
    const list = events.map(eventToJson);
    const name = `${String(first).padStart(6, "0")}.json`;
    await writeDurably(join(this.#folder, name), `${JSON.stringify(list)}\n`);
    this.#events.push(...events);
    for (const listener of this.#listeners) listener();
  }
}
