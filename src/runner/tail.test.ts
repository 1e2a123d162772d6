import { appendFileSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test, vi } from "vitest";
import { followFile, type TailedFile } from "./tail.ts";

const scratch = mkdtempSync(join(tmpdir(), "nigari-tail-"));
afterAll(() => rmSync(scratch, { recursive: true }));
let count = 0;

function follow(more: Partial<TailedFile> = {}) {
  const path = join(scratch, `${++count}.out`);
  const lines: string[] = [];
  const tail = followFile({
    path,
    limitBytes: 1 << 20,
    onLine: (line) => lines.push(line),
    onLook: async () => undefined,
    ...more,
  });
  return { path, lines, tail };
}

describe("lines", () => {
  test("are handed on as they are written, also those that were there before", async () => {
    const path = join(scratch, `${++count}.out`);
    writeFileSync(path, "one\n");
    const { lines, tail } = follow({ path });
    await vi.waitFor(() => expect(lines).toEqual(["one"]));
    appendFileSync(path, "two\nthr");
    await vi.waitFor(() => expect(lines).toEqual(["one", "two"]));
    appendFileSync(path, "ee\n");
    await tail.finish();
    expect(lines).toEqual(["one", "two", "three"]);
  });

  test("need no file at the start and no line end at the end", async () => {
    const { path, lines, tail } = follow();
    appendFileSync(path, "last words");
    await tail.finish();
    expect(lines).toEqual(["last words"]);
  });

  test("keep their characters where a read cuts one in two", async () => {
    const text = "äöü€".repeat(100_000);
    const { path, lines, tail } = follow();
    appendFileSync(path, `${text}\nend\n`);
    await tail.finish();
    expect(lines.join("")).toBe(`${text}end`);
  });

  test("without end come in pieces that overlap, so that nothing hides in a cut", async () => {
    const { path, lines, tail } = follow({ overlap: 10, limitBytes: 1 << 24 });
    appendFileSync(path, "x".repeat((1 << 20) - 3));
    appendFileSync(path, `secret${"y".repeat(1 << 20)}\n`);
    await tail.finish();
    expect(lines.length).toBeGreaterThan(1);
    expect(lines.some((line) => line.includes("secret"))).toBe(true);
  });
});

describe("a flood", () => {
  test("is cut off behind what was read, and loses no line of a slow writer", async () => {
    const limitBytes = 10_000;
    const { path, lines, tail } = follow({ limitBytes });
    let largest = 0;
    for (let line = 0; line < 400; line += 1) {
      appendFileSync(path, `${String(line).padStart(99, "0")}\n`);
      largest = Math.max(largest, statSync(path).size);
      if (line % 50 === 49) await sleep(120);
    }
    await tail.finish();
    expect(lines.map(Number)).toEqual(Array.from({ length: 400 }, (_, line) => line));
    expect(largest).toBeLessThan(limitBytes + 6_000);
    expect(tail.cutBytes).toBeGreaterThan(20_000);
  });

  test("is only cut off once what was read of it is safe", async () => {
    const sizes: number[] = [];
    const path = join(scratch, `${++count}.out`);
    const { tail } = follow({
      path,
      limitBytes: 1_000,
      onLook: async () => {
        sizes.push(statSync(path).size);
      },
    });
    appendFileSync(path, `${"x".repeat(5_000)}\n`);
    await vi.waitFor(() => expect(tail.cutBytes).toBe(5_001));
    await tail.finish();
    expect(sizes[0]).toBe(5_001);
  });
});
