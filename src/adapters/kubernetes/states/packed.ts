import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { constants, gunzip, gzip } from "node:zlib";
import { STATE_BYTES_MAX } from "../../../domain/state-file.ts";

const zip = promisify(gzip);
const unzip = promisify(gunzip);

/** What the values of one Secret may come to, in bytes: Kubernetes' own limit. */
export const SECRET_BYTES_MAX = 1_048_576;

/** Why a Secret's value is no packed state, as the end of a sentence; quotes nothing of it. */
export class Unreadable extends Error {
  override readonly name = "Unreadable";
}

export async function packed(content: Uint8Array): Promise<Buffer> {
  return await zip(content, { level: constants.Z_BEST_COMPRESSION });
}

/** Fails with Unreadable. */
export async function unpacked(bytes: Uint8Array): Promise<Buffer> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) throw new Unreadable("it is not gzipped");
  try {
    return await unzip(bytes, { maxOutputLength: STATE_BYTES_MAX });
  } catch (error) {
    const tooLarge = (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
    const most = `it unfolds to more than ${STATE_BYTES_MAX} bytes`;
    throw new Unreadable(tooLarge ? most : "its gzip is damaged or cut off");
  }
}

export async function* inChunks(content: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += 262_144) yield content.subarray(at, at + 262_144);
}

/** SHA-256, hex. */
export function digestOf(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
