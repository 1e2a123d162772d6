import { chownSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { engineSocketPath, prepareSocketFolder, refuseForeignFolder } from "./socket.ts";

let scratch: string;
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "nigari-socket-"));
});
afterEach(() => rmSync(scratch, { recursive: true }));

test("the socket lies in the data directory, in a folder for the owner alone", () => {
  const socket = engineSocketPath(join(scratch, "data"));
  expect(socket).toBe(join(scratch, "data/engine/socket"));
  prepareSocketFolder(socket);
  expect(statSync(dirname(socket)).mode & 0o777).toBe(0o700);
});

test("a path too long for a socket gives a short one, the same each time", () => {
  const long = join(scratch, "x".repeat(200));
  const socket = engineSocketPath(long, scratch);
  expect(Buffer.byteLength(socket)).toBeLessThanOrEqual(100);
  expect(engineSocketPath(`${long}/../${"x".repeat(200)}`, scratch)).toBe(socket);
  expect(engineSocketPath(`${long}y`, scratch)).not.toBe(socket);
  prepareSocketFolder(socket);
  expect(statSync(dirname(socket)).mode & 0o777).toBe(0o700);
});

test("a folder that somebody else made is refused", () => {
  // Only root can make a folder somebody else's; anybody else finds root's own.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(scratch, 12_345, 12_345);
  const socket = join(isRoot ? scratch : "/proc/1", "socket");
  expect(() => refuseForeignFolder(socket)).toThrow("is not yours; remove it");
  if (isRoot) chownSync(scratch, 0, 0);
});
