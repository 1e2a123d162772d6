import type { ServerWritableStream } from "@grpc/grpc-js";
import type { WatchRequest, WatchResponse } from "../protocol/generated/runner_pb.ts";
import { entryToMessage } from "../protocol/messages.ts";
import type { Run } from "./run.ts";
import { sender } from "./sender.ts";

const HEARTBEAT_MS = 2_000;

/**
 * Streams a run from where the watcher left off: what is journalled, and the log. Log lines come
 * before the entries written after them, so behind the outcome there is nothing more, and the
 * stream ends.
 */
export async function watchRun(
  run: Run,
  call: ServerWritableStream<WatchRequest, WatchResponse>,
): Promise<void> {
  const { fromSequence, logOffset } = call.request;
  let next = Math.max(1, Number(fromSequence));
  let offset = Number(logOffset);
  const news = new News();
  const send = sender(call);
  const heartbeat = () => {
    // A watcher that does not read gets none on top.
    if (!call.writableNeedDrain) void send({ event: { case: "heartbeat", value: {} } });
  };
  const stops = [run.journal.listen(news.tell), run.log.listen(news.tell)];
  call.on("cancelled", news.tell);
  call.on("close", news.tell);
  const beating = setInterval(heartbeat, HEARTBEAT_MS);
  try {
    heartbeat();
    while (!call.cancelled) {
      const entries = run.journal.events.slice(next - 1);
      for await (const line of run.log.read(offset)) {
        await send({ event: { case: "log", value: { ...line, offset: BigInt(line.offset) } } });
        offset = line.offset;
        if (call.cancelled) return;
      }
      for (const entry of entries) {
        await send({ event: { case: "entry", value: entryToMessage(entry) } });
        next = entry.sequence + 1;
        if (entry.type === "outcome") return;
      }
      if (next > run.journal.events.length && offset >= run.log.sizeBytes) await news.wait();
    }
  } finally {
    clearInterval(beating);
    for (const stop of stops) stop();
    call.end();
  }
}

/** Wakes whoever waits; news told while nobody waits wakes the next one at once. */
class News {
  #told = false;
  #wake: () => void = () => undefined;

  readonly tell = () => {
    this.#told = true;
    this.#wake();
  };

  async wait(): Promise<void> {
    if (!this.#told) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#told = false;
  }
}
