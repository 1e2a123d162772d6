import { createHash, randomUUID } from "node:crypto";
import { type FileHandle, mkdir, open, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { moveDurably } from "../protocol/durable.ts";
import type { FileHeader, PutFileRequest } from "../protocol/generated/runner_pb.ts";
import { digestOf } from "./results.ts";
import { Refusal, type Run } from "./run.ts";

/** A file that did not arrive as its header says. */
export class NotWhole extends Error {
  override readonly name = "NotWhole";
}

const NAMES = new Set(["artifact.tar.gz", "plan.bin"]);
const FILE_BYTES_MAX = 2 ** 30;

/** Takes an input file; it is there under its name only when it is whole. */
export async function receiveFile(parts: AsyncIterable<PutFileRequest>, run: Run): Promise<void> {
  const { inputs } = run.folder;
  await mkdir(inputs, { recursive: true, mode: 0o700 });
  const beside = join(inputs, `${randomUUID()}.part`);
  const file = await open(beside, "wx", 0o600);
  try {
    const header = await receive(parts, file);
    await file.sync();
    const path = join(inputs, header.name);
    if (!run.started) await moveDurably(beside, path);
    else if (!(await hasDigest(path, header.digest))) {
      throw new Refusal(`Run ${run.identity.runId} has started with another ${header.name}`);
    }
  } finally {
    await file.close();
    await rm(beside, { force: true });
  }
}

async function receive(
  parts: AsyncIterable<PutFileRequest>,
  file: FileHandle,
): Promise<FileHeader> {
  const hash = createHash("sha256");
  let header: FileHeader | undefined;
  let sizeBytes = 0n;
  for await (const { part } of parts) {
    if (part.case === "header") {
      header = checked(part.value);
    } else if (part.case === "chunk") {
      sizeBytes += BigInt(part.value.length);
      if (header === undefined) throw new Refusal("A file begins with its header");
      if (sizeBytes > header.sizeBytes) throw notWhole(header, "is larger than its header says");
      hash.update(part.value);
      await file.write(part.value);
    }
  }
  if (header === undefined) throw new Refusal("A file begins with its header");
  if (sizeBytes < header.sizeBytes) throw notWhole(header, "ended early");
  if (hash.digest("hex") !== header.digest) throw notWhole(header, "has another digest");
  return header;
}

function checked(header: FileHeader): FileHeader {
  if (!NAMES.has(header.name)) throw new Refusal(`No file ${header.name} is taken`);
  if (header.sizeBytes <= BigInt(FILE_BYTES_MAX)) return header;
  throw new Refusal(`File ${header.name} is larger than ${FILE_BYTES_MAX} bytes`);
}

function notWhole({ name }: FileHeader, why: string): NotWhole {
  return new NotWhole(`File ${name} ${why}`);
}

async function hasDigest(path: string, digest: string): Promise<boolean> {
  const there = (await stat(path).catch(() => undefined)) !== undefined;
  return there && (await digestOf(path)) === digest;
}
