import type { Call } from "../ports/call.ts";
import type { Clock } from "../ports/clock.ts";
import { errorAnswer } from "./answers.ts";
import { HEARTBEAT_MS, STALL_MS, type WireMessage, wireError } from "./wire.ts";

export interface Streaming {
  readonly clock: Clock;
  /** The client's connection, or the engine, ends. */
  readonly ending: AbortSignal;
  /** Ends the connection, whatever still waits to be sent on it. */
  readonly cut: () => void;
}

/** After the word that a reader was too slow, so long until its connection is ended. */
const WORD_MS = 1_000;

/**
 * Answers with server-sent events for as long as there are any, with comments in between so that
 * the client knows that we live. A failure is the last event; the connection then ends.
 *
 * Nothing piles up here: the next message is asked for when the last one was taken. A reader that
 * takes nothing for half a minute is told so and cut off.
 */
export function eventStream(
  { clock, ending, cut }: Streaming,
  messages: (call: Call) => AsyncIterable<WireMessage>,
): Response {
  const gone = new AbortController();
  const signal = AbortSignal.any([gone.signal, ending]);
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const encoder = new TextEncoder();
  // Whoever reads no more has gone.
  writer.closed.catch(() => gone.abort());

  async function write(text: string): Promise<void> {
    const written = new AbortController();
    const late = clock.sleep(STALL_MS, AbortSignal.any([written.signal, signal]));
    const taken = writer.write(encoder.encode(text)).then(() => "taken" as const);
    const first = await Promise.race([taken, late.then(() => "late" as const)]);
    written.abort();
    if (first === "late" && !signal.aborted) throw new Stalled();
    if (first === "late") taken.catch(() => {});
  }

  async function beat(): Promise<void> {
    while (!signal.aborted) {
      await write(":\n\n");
      await clock.sleep(HEARTBEAT_MS, signal);
    }
  }

  async function speak(): Promise<void> {
    for await (const message of messages({ signal })) {
      if (signal.aborted) return;
      await write(textOf(message));
    }
  }

  async function last(error: unknown): Promise<void> {
    if (signal.aborted) return;
    const stalled = error instanceof Stalled;
    const text = `This reader took nothing for ${STALL_MS / 1_000} s; go on from the last event`;
    const body = stalled ? wireError("slow", text) : errorAnswer(error).body;
    // Not waited for: who stalled may never take it.
    writer.write(encoder.encode(textOf({ event: "error", data: body }))).catch(() => {});
    if (!stalled) return;
    await clock.sleep(WORD_MS, signal);
    cut();
  }

  void (async () => {
    try {
      await Promise.race([beat(), speak()]);
    } catch (error) {
      await last(error);
    } finally {
      gone.abort();
      writer.close().catch(() => {});
    }
  })();
  return new Response(readable, {
    headers: { "content-type": "text/event-stream", "cache-control": "no-cache" },
  });
}

class Stalled extends Error {}

/** Data is JSON, so it is one line. */
function textOf({ event, id, data }: WireMessage): string {
  const place = id === undefined ? "" : `id: ${id}\n`;
  return `event: ${event}\n${place}data: ${JSON.stringify(data)}\n\n`;
}
