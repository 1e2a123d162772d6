import { createHash } from "node:crypto";
import { closeSync, openSync, readSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { Header } from "tar";

/** A file of an image: a copy of one of this machine, a text, or a symbolic link. */
export type ImageFile =
  | { readonly from: string; readonly mode?: number }
  | { readonly text: string; readonly mode?: number }
  | { readonly link: string }
  | { readonly folder: true; readonly mode?: number; readonly owner?: number };

/** Files by their path in the image, without a leading slash. Folders above need not be named. */
export type ImageFiles = Readonly<Record<string, ImageFile>>;

export interface Layer {
  /** sha256 of its bytes, in hex. */
  readonly digest: string;
  readonly sizeBytes: number;
  /** Uncompressed tar. */
  readonly path: string;
}

const BLOCK = 512;
const EPOCH = new Date(0);

/**
 * Writes a layer. Order, owner and time are fixed, so that the same files give the same digest
 * everywhere and a second import finds it there.
 */
export function writeLayer(files: ImageFiles, path: string): Layer {
  const hash = createHash("sha256");
  const out = openSync(path, "w", 0o600);
  let sizeBytes = 0;
  const put = (bytes: Uint8Array) => {
    hash.update(bytes);
    sizeBytes += bytes.length;
    writeSync(out, bytes);
  };
  try {
    for (const name of withFolders(files)) writeEntry(name, files[name] ?? { folder: true }, put);
    put(Buffer.alloc(2 * BLOCK));
  } finally {
    closeSync(out);
  }
  return { digest: hash.digest("hex"), sizeBytes, path };
}

/** All paths in order, each folder before what is in it. */
function withFolders(files: ImageFiles): string[] {
  const all = new Set(Object.keys(files));
  for (const name of Object.keys(files)) {
    for (let folder = dirname(name); folder !== "."; folder = dirname(folder)) all.add(folder);
  }
  return [...all].sort();
}

type Put = (bytes: Uint8Array) => void;

function writeEntry(path: string, file: ImageFile, put: Put): void {
  if ("folder" in file) {
    const { mode = 0o755, owner = 0 } = file;
    put(header({ path: `${path}/`, type: "Directory", mode, uid: owner, gid: owner }));
  } else if ("link" in file) {
    put(header({ path, type: "SymbolicLink", linkpath: file.link, mode: 0o777 }));
  } else if ("text" in file) {
    const bytes = Buffer.from(file.text);
    put(header({ path, type: "File", size: bytes.length, mode: file.mode ?? 0o644 }));
    put(padded(bytes));
  } else {
    const { size, mode } = statSync(file.from);
    const own = mode & 0o111 ? 0o755 : 0o644;
    put(header({ path, type: "File", size, mode: file.mode ?? own }));
    copy(file.from, put);
    put(Buffer.alloc(padding(size)));
  }
}

function header(data: ConstructorParameters<typeof Header>[0] & object): Buffer {
  const block = Buffer.alloc(BLOCK);
  const head = new Header({ uid: 0, gid: 0, mtime: EPOCH, ...data });
  if (head.encode(block)) throw new Error(`A path is too long for a plain tar: ${head.path}`);
  return block;
}

function copy(file: string, put: Put): void {
  const buffer = Buffer.alloc(1024 * 1024);
  const source = openSync(file, "r");
  try {
    for (;;) {
      const count = readSync(source, buffer);
      if (count === 0) return;
      put(buffer.subarray(0, count));
    }
  } finally {
    closeSync(source);
  }
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(padding(bytes.length))]);
}

function padding(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK;
}
