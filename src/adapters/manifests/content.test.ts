import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { contentOf } from "./content.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "nigari-content-"));
});
afterEach(() => rmSync(folder, { recursive: true }));
const never = new AbortController().signal;

test("a file, whole or up to the limit and one byte", async () => {
  const file = join(folder, "a");
  writeFileSync(file, "0123456789");
  expect((await contentOf(file, 10, never)).toString()).toBe("0123456789");
  expect((await contentOf(file, 4, never)).toString()).toBe("01234");
});

test("a pipe that nobody writes to ends with the signal, too", async () => {
  const pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  await expect(contentOf(pipe, 10, AbortSignal.timeout(50))).rejects.toThrow(
    `Pipe ${pipe} was not written to its end: `,
  );
});

test("a pipe that is written to is read to its end", async () => {
  const pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  const writer = spawn("sh", ["-c", `exec 3<>${pipe}; echo ready; sleep 0.2; echo more >&3`]);
  await new Promise((resolve) => writer.stdout.once("data", resolve));
  expect((await contentOf(pipe, 100, never)).toString()).toBe("more\n");
});

test("a pipe whose writer says nothing ends with the signal", async () => {
  const pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  const writer = spawn("sh", ["-c", `exec 3<>${pipe}; echo ready; exec sleep 30`]);
  await new Promise((resolve) => writer.stdout.once("data", resolve));
  const reading = contentOf(pipe, 100, AbortSignal.timeout(50));
  await expect(reading).rejects.toThrow(/timeout/);
  writer.kill("SIGKILL");
});

test("what is not there, or is a folder", async () => {
  await expect(contentOf(join(folder, "x"), 10, never)).rejects.toThrow(/ENOENT/);
  await expect(contentOf(folder, 10, never)).rejects.toThrow(/EISDIR/);
});
