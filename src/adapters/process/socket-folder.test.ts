import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { assertPrivate, socketFolder, socketPath, UnsafeFolder } from "./socket-folder.ts";

let scratch = "";
const made: string[] = [];
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "nigari-sockets-"));
});
afterEach(() => {
  rmSync(scratch, { recursive: true, force: true });
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function folderFor(data: string, runtime?: string, temporary?: string): string {
  const folder = socketFolder(data, runtime, temporary);
  made.push(folder);
  return folder;
}

describe("socketFolder", () => {
  test("is private, and the same for the same data directory", () => {
    const folder = folderFor("/data/one", undefined, scratch);
    expect(lstatSync(folder).mode & 0o777).toBe(0o700);
    expect(folderFor("/data/one", undefined, scratch)).toBe(folder);
    expect(folderFor("/data/two", undefined, scratch)).not.toBe(folder);
    expect(socketPath(folder, "run-1")).not.toBe(socketPath(folder, "run-2"));
  });

  test("lies below /tmp under this user's id, and is short", () => {
    const folder = folderFor(join(scratch, "data"), scratch);
    expect(folder).toMatch(new RegExp(`^/tmp/nigari-${userInfo().uid}-[0-9a-f]{12}$`));
    expect(Buffer.byteLength(socketPath(folder, "r".repeat(100)))).toBeLessThanOrEqual(100);
  });

  test("lies in the runtime folder if the temporary one's name is too long", () => {
    const deep = join(scratch, "d".repeat(80));
    mkdirSync(deep);
    expect(folderFor("/data", scratch, deep)).toMatch(`${scratch}/nigari-`);
  });

  test("lies in the runtime folder if others could rename it away in the temporary one", () => {
    const open = join(scratch, "open");
    mkdirSync(open);
    chmodSync(open, 0o777);
    expect(folderFor("/data", scratch, open)).toMatch(`${scratch}/nigari-`);
    expect(() => socketFolder("/data", undefined, open)).toThrow(UnsafeFolder);
  });

  const traps: Record<string, (path: string) => void> = {
    "a link that leads elsewhere": (path) => symlinkSync(scratch, path),
    "a folder that others may enter": (path) => {
      mkdirSync(path);
      chmodSync(path, 0o755);
    },
  };
  test.each(Object.entries(traps))("is refused where somebody has put %s", (_, put) => {
    const path = folderFor(join(scratch, "data"), undefined);
    rmSync(path, { recursive: true });
    put(path);
    expect(() => socketFolder(join(scratch, "data"), undefined)).toThrow(UnsafeFolder);
    rmSync(path, { recursive: true });
    expect(existsSync(path)).toBe(false);
  });

  test("is refused where it belongs to somebody else", () => {
    const path = join(scratch, "theirs");
    mkdirSync(path, { mode: 0o700 });
    const stats = lstatSync(path);
    expect(() => assertPrivate(path, stats, stats.uid)).not.toThrow();
    expect(() => assertPrivate(path, stats, stats.uid + 1)).toThrow(/belongs to user/);
    if (userInfo().uid !== 0) return;
    const taken = folderFor(join(scratch, "data"), undefined);
    chownSync(taken, 4711, 4711);
    expect(() => socketFolder(join(scratch, "data"), undefined)).toThrow(/belongs to user 4711/);
  });
});
