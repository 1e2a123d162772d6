import {
  closeSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";

/**
 * Ports below those that systems hand out to outgoing connections (from 32768 on Linux, 49152
 * elsewhere): none of these can sit on the door's port while the engine is down.
 */
const PORT_MIN = 20_000;
const PORT_MAX = 32_767;

/** The door's port cannot be had. The message names the port, its holder and the mend. */
export class PortTaken extends Error {
  override readonly name = "PortTaken";
}

/** The port this data directory has chosen, if it has. Fails if the file cannot be understood. */
export function readPort(path: string): number | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
  const port = portIn(text);
  if (port !== undefined) return port;
  throw new PortTaken(
    `State door ${path}: holds no port; restore it, or remove it if no run is under way`,
  );
}

function portIn(text: string): number | undefined {
  try {
    const found: unknown = JSON.parse(text);
    if (typeof found !== "object" || found === null || !("port" in found)) return undefined;
    const { port } = found;
    const valid = typeof port === "number" && Number.isInteger(port) && port > 0 && port < 65_536;
    return valid ? port : undefined;
  } catch {
    return undefined;
  }
}

/** Keeps the port; it is on the disk when this returns. */
export function keepPort(path: string, port: number): void {
  const draft = `${path}.new`;
  writeFileSync(draft, `${JSON.stringify({ port })}\n`, { mode: 0o600, flush: true });
  renameSync(draft, path);
  const folder = openSync(dirname(path), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** A port to try; `chance` is in [0, 1). */
export function candidatePort(chance: number): number {
  return PORT_MIN + Math.floor(chance * (PORT_MAX - PORT_MIN + 1));
}

export function portTaken(path: string, port: number): PortTaken {
  const holder = portHolder(port) ?? "another program";
  return new PortTaken(
    `State door ${path}: port ${port} is taken by ${holder}, and runs that are under way may be ` +
      "waiting for it; end that program and start again",
  );
}

/** Who listens on this port of 127.0.0.1, as far as Linux tells: "process 812 (python3)". */
function portHolder(port: number): string | undefined {
  return quietly(() => {
    const socket = listeningSocket(port);
    return socket === undefined ? undefined : ownerOf(socket);
  }, undefined);
}

/** The inode of the listening socket, from the kernel's tables. */
function listeningSocket(port: number): string | undefined {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const LISTENING = "0A";
  return ["/proc/net/tcp", "/proc/net/tcp6"]
    .flatMap((path) => readFileSync(path, "utf8").split("\n").slice(1))
    .map((line) => line.trim().split(/\s+/))
    .find(([, local, , state]) => local?.endsWith(suffix) && state === LISTENING)?.[9];
}

function ownerOf(inode: string): string | undefined {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const pid = pids.find((each) => filesOf(each).includes(`socket:[${inode}]`));
  if (pid === undefined) return undefined;
  return `process ${pid} (${readFileSync(`/proc/${pid}/comm`, "utf8").trim()})`;
}

/** Open files of a process; none if it is another user's, or gone. */
function filesOf(pid: string): string[] {
  const folder = `/proc/${pid}/fd`;
  return quietly(() => readdirSync(folder), []).map((fd) =>
    quietly(() => readlinkSync(`${folder}/${fd}`), ""),
  );
}

function quietly<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
