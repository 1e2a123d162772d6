import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { maskOf } from "./masking.ts";
import { RunLog } from "./run-log.ts";

const scratch = mkdtempSync(join(tmpdir(), "nigari-log-"));
afterAll(() => rmSync(scratch, { recursive: true }));
let count = 0;
const newPath = () => join(scratch, `${++count}.txt`);

async function read(log: RunLog, from = 0) {
  const lines: { offset: number; line: string }[] = [];
  for await (const each of log.read(from)) lines.push(each);
  return lines;
}

test("lines are read back with the offset behind them, from any such offset on", async () => {
  const log = new RunLog(newPath());
  log.write("one");
  log.write("zwölf\nthree");
  const lines = await read(log);
  expect(lines).toEqual([
    { offset: 4, line: "one" },
    { offset: 11, line: "zwölf" },
    { offset: 17, line: "three" },
  ]);
  expect(await read(log, 11)).toEqual(lines.slice(2));
  expect(await read(log, log.sizeBytes)).toEqual([]);
  expect(await read(log, 999)).toEqual([]);
});

test("a very long line comes in several, whatever its characters", async () => {
  const log = new RunLog(newPath());
  const text = "€".repeat(100_000);
  log.write(text);
  const lines = await read(log);
  expect(lines.length).toBeGreaterThan(3);
  expect(lines.map((each) => each.line).join("")).toBe(text);
});

test("nothing unmasked gets to the disk", () => {
  const path = newPath();
  const log = new RunLog(path);
  log.configure(maskOf(["hunter2"]), 1000);
  log.write("the password is hunter2");
  expect(readFileSync(path, "utf8")).toBe("the password is (sensitive value)\n");
});

describe("the limit", () => {
  test("lets go of noise first, and says how much it was", async () => {
    const log = new RunLog(newPath());
    log.configure(maskOf([]), 100);
    for (let line = 0; line < 50; line += 1) log.write("noise noise", "noise");
    log.write("an error");
    log.reportDropped();
    const lines = (await read(log)).map((each) => each.line);
    expect(lines.slice(0, 2)).toEqual(["noise noise", "noise noise"]);
    expect(lines.slice(-2)).toEqual([
      "an error",
      "(41 more lines were not kept: the log is limited)",
    ]);
  });

  test("holds at twice its size for everything", () => {
    const log = new RunLog(newPath());
    log.configure(maskOf([]), 100);
    for (let line = 0; line < 1000; line += 1) log.write("an error");
    expect(log.sizeBytes).toBeLessThan(220);
  });
});

test("a log that is opened again goes on at its end", async () => {
  const path = newPath();
  new RunLog(path).write("one");
  const again = new RunLog(path);
  expect(again.sizeBytes).toBe(4);
  again.write("two");
  expect((await read(again)).map((each) => each.line)).toEqual(["one", "two"]);
});
