import { expect, test } from "vitest";
import { SlowReader } from "../ports/runs.ts";
import { VirtualClock } from "../testing/fakes/clock.ts";
import { eventStream } from "./stream.ts";
import { HEARTBEAT_MS, STALL_MS, type WireMessage } from "./wire.ts";

const message = (n: number): WireMessage => ({ event: "change", id: String(n), data: { n } });

function stage() {
  const clock = new VirtualClock();
  const ending = new AbortController();
  const state = { isCut: false };
  const streaming = {
    clock,
    ending: ending.signal,
    cut: () => {
      state.isCut = true;
    },
  };
  return { clock, ending, state, streaming };
}

async function textOf(response: Response): Promise<string> {
  return (await response.text()).replaceAll(":\n\n", "");
}

test("messages come with their ids, in order, and the stream ends when they do", async () => {
  const { streaming } = stage();
  const response = eventStream(streaming, async function* () {
    yield message(1);
    yield { event: "line", data: "größer\n日本" };
  });
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  expect(await textOf(response)).toBe(
    'event: change\nid: 1\ndata: {"n":1}\n\nevent: line\ndata: "größer\\n日本"\n\n',
  );
});

test("a source that fell behind ends with its own words", async () => {
  const { streaming } = stage();
  const response = eventStream(streaming, async function* () {
    yield message(1);
    throw new SlowReader("Too slow by far");
  });
  expect(await textOf(response)).toContain(
    'event: error\ndata: {"error":{"kind":"slow","message":"Too slow by far"}}',
  );
});

test("a reader that takes nothing holds the source, is told so, and is cut off", async () => {
  const { clock, state, streaming } = stage();
  let made = 0;
  let ended = false;
  const response = eventStream(streaming, async function* () {
    try {
      for (;;) {
        made += 1;
        yield message(made);
      }
    } finally {
      ended = true;
    }
  });
  const reader = response.body?.getReader();
  await reader?.read();
  await clock.advance(STALL_MS - 1);
  expect(state.isCut).toBe(false);
  // A few are on their way; no more are made for a reader that takes none.
  expect(made).toBeLessThan(5);
  await clock.advance(2_000);
  expect(state.isCut).toBe(true);
  expect(made).toBeLessThan(5);
  let text = "";
  for (;;) {
    const part = await reader?.read();
    if (part === undefined || part.done) break;
    text += new TextDecoder().decode(part.value);
  }
  expect(text).toContain('event: error\ndata: {"error":{"kind":"slow"');
  expect(ended || made < 5).toBe(true);
});

test("a client that goes away ends the source", async () => {
  const { streaming } = stage();
  const ended = Promise.withResolvers<void>();
  const response = eventStream(streaming, async function* ({ signal }) {
    try {
      yield message(1);
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    } finally {
      ended.resolve();
    }
  });
  await response.body?.cancel();
  await ended.promise;
});

test("where nothing happens, it says that it lives", async () => {
  const { clock, ending, streaming } = stage();
  const response = eventStream(streaming, async function* ({ signal }) {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  });
  const reading = response.text();
  for (let beats = 0; beats < 3; beats += 1) await clock.advance(HEARTBEAT_MS);
  ending.abort();
  expect(await reading).toBe(":\n\n:\n\n:\n\n:\n\n");
});
