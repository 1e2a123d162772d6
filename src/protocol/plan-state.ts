import { type FileHandle, open } from "node:fs/promises";
import { createInflateRaw } from "node:zlib";
import type { PlannedOn } from "../domain/facts.ts";
import { type StateHead, StateScanner } from "../domain/state-file.ts";
import { outputsInState } from "./tofu-outputs.ts";

/** The end of a ZIP file with its longest comment, and more names than a plan has. */
const TAIL_BYTES = 22 + 65_535;
const DIRECTORY_BYTES_MAX = 4 * 1_048_576;

/** A larger state is left to OpenTofu. */
const OUTPUTS_STATE_BYTES_MAX = 4 * 1_048_576;

interface Entry {
  readonly name: string;
  /** 0: as it is; 8: deflated. */
  readonly method: number;
  readonly packedBytes: number;
  readonly sizeBytes: number;
  readonly headerAt: number;
}

/**
 * The state that a plan was made on, as its file tells: lineage and serial from the state after
 * refresh (the one before bears none), what is in it from the one before. Undefined: it does not
 * tell, as an encrypted one, or is no plan file. Never fails.
 */
export async function readPlannedOn(path: string): Promise<PlannedOn | undefined> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, "r");
    const entries = await readDirectory(file);
    const state = await headIn(file, entries, "tfstate");
    if (state === undefined) return undefined;
    const { serial, lineage } = state;
    if (lineage === "") return { state: "absent" };
    const before = await headIn(file, entries, "tfstate-prev");
    return { state: "present", serial, lineage, resources: before?.resources };
  } catch {
    return undefined;
  } finally {
    await file?.close();
  }
}

/**
 * The outputs in the state that a plan was made on, as OpenTofu found it, in the words of `output
 * -json`. Undefined: the file does not tell. Never fails.
 */
export async function readPriorOutputs(path: string): Promise<string | undefined> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, "r");
    const entry = (await readDirectory(file)).find(({ name }) => name === "tfstate-prev");
    if (entry === undefined || entry.sizeBytes > OUTPUTS_STATE_BYTES_MAX) return undefined;
    const chunks: Buffer[] = [];
    let left = OUTPUTS_STATE_BYTES_MAX;
    for await (const chunk of await contentOf(file, entry)) {
      left -= chunk.length;
      if (left < 0) return undefined;
      chunks.push(chunk);
    }
    return outputsInState(Buffer.concat(chunks).toString("utf8"));
  } catch {
    return undefined;
  } finally {
    await file?.close();
  }
}

async function headIn(
  file: FileHandle,
  entries: readonly Entry[],
  name: string,
): Promise<StateHead | undefined> {
  const entry = entries.find((each) => each.name === name);
  if (entry === undefined) return undefined;
  const scanner = new StateScanner();
  for await (const chunk of await contentOf(file, entry)) scanner.feed(chunk);
  const head = scanner.end();
  return "problem" in head ? undefined : head;
}

/** Unpacked. Fails if it is empty, or packed in a way that plans are not. */
async function contentOf(file: FileHandle, entry: Entry): Promise<AsyncIterable<Buffer>> {
  if (entry.method !== 0 && entry.method !== 8) throw new RangeError("Packed in another way");
  const header = await bytesAt(file, entry.headerAt, 30);
  const start = entry.headerAt + 30 + header.readUInt16LE(26) + header.readUInt16LE(28);
  if (entry.packedBytes === 0) throw new RangeError("The entry is empty");
  const end = start + entry.packedBytes - 1;
  const packed = file.createReadStream({ start, end, autoClose: false });
  const content = entry.method === 8 ? packed.pipe(createInflateRaw()) : packed;
  packed.on("error", (error) => content.destroy(error));
  return content;
}

async function readDirectory(file: FileHandle): Promise<Entry[]> {
  const { size } = await file.stat();
  const tailAt = Math.max(0, size - TAIL_BYTES);
  const tail = await bytesAt(file, tailAt, size - tailAt);
  const end = tail.lastIndexOf("PK\x05\x06", undefined, "latin1");
  if (end < 0) return [];
  const bytes = tail.readUInt32LE(end + 12);
  if (bytes > DIRECTORY_BYTES_MAX) return [];
  return entriesOf(await bytesAt(file, tail.readUInt32LE(end + 16), bytes));
}

function entriesOf(directory: Buffer): Entry[] {
  const entries: Entry[] = [];
  for (let at = 0; at + 46 <= directory.length; ) {
    if (directory.toString("latin1", at, at + 4) !== "PK\x01\x02") break;
    const nameBytes = directory.readUInt16LE(at + 28);
    entries.push({
      name: directory.toString("utf8", at + 46, at + 46 + nameBytes),
      method: directory.readUInt16LE(at + 10),
      packedBytes: directory.readUInt32LE(at + 20),
      sizeBytes: directory.readUInt32LE(at + 24),
      headerAt: directory.readUInt32LE(at + 42),
    });
    at += 46 + nameBytes + directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32);
  }
  return entries;
}

/** Exactly these bytes. */
async function bytesAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await file.read(buffer, 0, length, position);
  if (bytesRead !== length) throw new RangeError("The file is cut off");
  return buffer;
}
