import { PassThrough } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { handOverLine, STANDING_BY } from "../protocol/hand-over.ts";
import { standBy } from "./standby.ts";

const RUN = { folder: "/runs/one", env: { PATH: "/bin", TEXT: "line one\nline two ü" } };

/** What comes of an input, and what is said meanwhile. */
function start(limitMs?: number) {
  const input = new PassThrough();
  const shutdown = new AbortController();
  const said: string[] = [];
  const { signal } = shutdown;
  const say = (line: string) => said.push(line);
  const limit = limitMs === undefined ? {} : { limitMs };
  return { input, shutdown, said, run: standBy({ input, shutdown: signal, say, ...limit }) };
}

test("a run that comes in pieces is taken when its line is whole", async () => {
  const { input, said, run } = start();
  expect(said).toEqual([STANDING_BY]);
  const line = Buffer.from(handOverLine(RUN));
  for (const byte of line) {
    input.write(Buffer.of(byte));
    await turn();
  }
  expect(await run).toEqual(RUN);
  expect(said).toEqual([STANDING_BY]);
  expect(input.destroyed).toBe(true);
});

test.each([
  ["nothing", ""],
  ["half a line", handOverLine(RUN).slice(0, -1)],
  ["half of what says which run", handOverLine(RUN).slice(0, 20)],
])("an input that ends after %s hands over no run", async (_what, text) => {
  const { input, run, said } = start();
  input.end(text);
  expect(await run).toBeUndefined();
  expect(said[1]).toContain("the input has ended");
});

test("an input that breaks hands over no run", async () => {
  const { input, run } = start();
  input.write(handOverLine(RUN).slice(0, 20));
  await turn();
  input.destroy(new Error("broken"));
  expect(await run).toBeUndefined();
});

test.each([
  ["no JSON", "come here\n"],
  ["no object", "null\n"],
  ["no folder", '{"env":{}}\n'],
  ["no environment", '{"folder":"/runs/one","env":null}\n'],
  ["an environment of numbers", '{"folder":"/runs/one","env":{"A":1}}\n'],
])("a line that is %s is no run", async (_what, text) => {
  const { input, run, said } = start();
  input.write(text);
  expect(await run).toBeUndefined();
  expect(said[1]).toContain("what came is none");
});

test("a line without end is not kept without end", async () => {
  const { input, run } = start();
  const mebibyte = "x".repeat(1 << 20);
  for (let written = 0; written < 20; written += 1) input.write(mebibyte);
  expect(await run).toBeUndefined();
});

test("it goes when it is told to", async () => {
  const { shutdown, run, said } = start();
  shutdown.abort();
  expect(await run).toBeUndefined();
  expect(said[1]).toContain("told to go");
});

test("it goes by itself when nobody has come in time", async () => {
  const { run, said } = start(5);
  expect(await run).toBeUndefined();
  expect(said[1]).toContain("the time is over");
});
