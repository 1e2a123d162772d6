import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { lstatSync, readFileSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { dirname, join } from "node:path";
import { prepareSocketFolder } from "./socket.ts";

/** Where to listen beside the socket: this machine alone. */
export interface ListenAddress {
  readonly host: "127.0.0.1" | "::1";
  /** 0: any that is free. */
  readonly port: number;
}

/** "127.0.0.1:9090", "localhost:9090" or "[::1]:9090"; undefined for anything else. */
export function readListenAddress(text: string): ListenAddress | undefined {
  const found = /^(127\.0\.0\.1|localhost|\[::1\]):(\d{1,5})$/.exec(text);
  const port = Number(found?.[2]);
  if (found === null || port > 65_535) return undefined;
  return { host: found[1] === "[::1]" ? "::1" : "127.0.0.1", port };
}

const TOKEN_BYTES = 32;

/** The file of the token that opens the TCP port, beside the socket. */
export function tokenFile(socket: string): string {
  return join(dirname(socket), "token");
}

/**
 * The token in this file; made if there is none, and kept over restarts. Throws if others than this
 * user can read the file, for then it is no secret.
 */
export function keepToken(file: string): string {
  prepareSocketFolder(file);
  const made = randomBytes(TOKEN_BYTES).toString("base64url");
  try {
    writeFileSync(file, `${made}\n`, { flag: "wx", mode: 0o600 });
    return made;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const found = lstatSync(file);
  if (!found.isFile() || found.uid !== userInfo().uid || (found.mode & 0o077) !== 0) {
    throw new Error(`File ${file} is no secret of this user alone; remove it, and one is made`);
  }
  const token = readFileSync(file, "utf8").trim();
  if (token.length >= TOKEN_BYTES) return token;
  throw new Error(`File ${file} holds no token of at least ${TOKEN_BYTES} characters; remove it`);
}

export interface Refusal {
  readonly status: 401 | 403;
  readonly message: string;
}

/** Who may ask over TCP. */
export interface Gate {
  /** Undefined: the request may pass. Headers as they came. */
  refuse(headers: {
    host: string | undefined;
    authorization: string | undefined;
  }): Refusal | undefined;
}

/**
 * Lets a request pass that bears the token and was sent to this machine by name: a page in a
 * browser that was led here by a false DNS name has its own name in Host.
 */
export function createGate(token: string): Gate {
  const expected = digest(token);
  return {
    refuse({ host, authorization }) {
      if (!isLoopbackHost(host ?? "")) {
        const message = "Host is not this machine; use 127.0.0.1, [::1] or localhost";
        return { status: 403, message };
      }
      const given = /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
      // Digests have one length, so that the time says nothing about the token's.
      if (given !== undefined && timingSafeEqual(digest(given), expected)) return undefined;
      const message =
        'Request bears no valid token; send "Authorization: Bearer TOKEN" with the content of ' +
        "engine/token in the data directory";
      return { status: 401, message };
    },
  };
}

function isLoopbackHost(host: string): boolean {
  return /^(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?$/i.test(host);
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
