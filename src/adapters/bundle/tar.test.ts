import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { create } from "tar";
import { afterEach, beforeEach, expect, test } from "vitest";
import { tarEntries } from "./tar.ts";

let root = "";
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "tar-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function contents(bytes: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of bytes) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

async function archive(files: Record<string, string>): Promise<Buffer> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, "d", path)), { recursive: true });
    await writeFile(join(root, "d", path), text);
  }
  await create({ file: join(root, "x.tar"), cwd: join(root, "d") }, Object.keys(files));
  return readFile(join(root, "x.tar"));
}

const long = `${"folder-with-a-long-name/".repeat(8)}file.json`;

test.each([1, 500, 512, 100_000])("gives files whole, in pieces of %i bytes", async (size) => {
  const files = { "a.txt": "", "b/c.txt": "hello", [long]: "x".repeat(1_500) };
  const found: Record<string, string> = {};
  for await (const entry of tarEntries(inPieces(await archive(files), size))) {
    found[entry.path] = await contents(entry.bytes);
  }
  expect(found).toEqual(files);
});

test("passes over what nobody reads", async () => {
  const bytes = await archive({ "a.txt": "x".repeat(5_000), "b.txt": "y" });
  const names: string[] = [];
  for await (const entry of tarEntries(inPieces(bytes, 700))) names.push(entry.path);
  expect(names).toEqual(["a.txt", "b.txt"]);
});

test.each([
  ["inside a file", 700, "breaks off inside a file"],
  ["inside a header", 300, "breaks off inside a header"],
])("says that it breaks off %s", async (_, length, words) => {
  const bytes = (await archive({ "a.txt": "x".repeat(5_000) })).subarray(0, length);
  const read = async () => {
    for await (const entry of tarEntries(inPieces(bytes, 512))) await contents(entry.bytes);
  };
  await expect(read()).rejects.toThrow(words);
});

test("is no archive if its first header does not add up", async () => {
  const read = async () => {
    for await (const _ of tarEntries(inPieces(Buffer.alloc(2_048, "x"), 512))) break;
  };
  await expect(read()).rejects.toThrow("checksum");
});
