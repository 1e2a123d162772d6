import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inflateRawSync } from "node:zlib";
import type { StateAccess } from "../../../src/ports/state.ts";
import { pinnedTools } from "../../../src/testing/pinned-tools.ts";

export interface TofuEnd {
  readonly code: number | null;
  /** stdout and stderr as they came. */
  readonly text: string;
}
export interface TofuRun {
  readonly child: ChildProcess;
  readonly end: Promise<TofuEnd>;
  /** What it has said so far. */
  text(): string;
}

/** A module in a folder of its own, and the pinned tofu to run on it. */
export interface TofuModule {
  readonly folder: string;
  start(access: StateAccess, args: readonly string[]): TofuRun;
  /** Fails the test unless tofu ends with 0. */
  run(access: StateAccess, ...args: string[]): Promise<string>;
}

export function tofuModule(folder: string, hcl: string): TofuModule {
  const { tofu } = pinnedTools();
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "main.tf"), hcl);
  let runs = 0;
  function start(access: StateAccess, args: readonly string[]): TofuRun {
    writeFileSync(join(folder, "backend_override.tf"), access.backend);
    const path = join(folder, `${++runs}.out`);
    const file = openSync(path, "w");
    const child = spawn(tofu, [...args, "-no-color"], {
      cwd: folder,
      env: { PATH: process.env.PATH ?? "", HOME: folder, TF_IN_AUTOMATION: "1", ...access.env },
      stdio: ["ignore", file, file],
      detached: true,
    });
    closeSync(file);
    const text = () => readFileSync(path, "utf8");
    const end = once(child, "exit").then(([code]) => ({ code, text: text() }));
    return { child, end, text };
  }
  return {
    folder,
    start,
    async run(access, ...args) {
      const { code, text } = await start(access, args).end;
      if (code !== 0) throw new Error(`tofu ${args.join(" ")} ended with ${code}: ${text}`);
      return text;
    },
  };
}

/** Every file in a zip archive (a saved plan is one), by its name. */
export function readZip(archive: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  const end = archive.lastIndexOf(Buffer.from("PK\x05\x06", "latin1"));
  let at = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left--) {
    const method = archive.readUInt16LE(at + 10);
    const sizeBytes = archive.readUInt32LE(at + 20);
    const nameBytes = archive.readUInt16LE(at + 28);
    const local = archive.readUInt32LE(at + 42);
    const name = archive.toString("utf8", at + 46, at + 46 + nameBytes);
    const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
    const packed = archive.subarray(start, start + sizeBytes);
    files.set(name, method === 0 ? packed : inflateRawSync(packed));
    at += 46 + nameBytes + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32);
  }
  return files;
}
