import { closeSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { DoorProxy } from "../harness/door-proxy.ts";
import { EngineWorld } from "../harness/engine-world.ts";
import { serveGit } from "../harness/git-server.ts";
import { HealthServer } from "../harness/health-server.ts";
import { asRoot, mountMemory } from "../harness/mount.ts";
import { type Dials, dialsEnv } from "./dials.ts";
import type { Stand } from "./hold.ts";

/** Runs that may go on at once: every object has one held. */
const CONCURRENT = 40;

export interface StandOptions {
  readonly stageLimitMs?: number;
  /** The engine's clock can be bent. */
  readonly clock?: boolean;
  /** The folder of all runs is a file system of this many MiB. */
  readonly diskMib?: number;
  /** Sources are served over HTTP. */
  readonly source?: boolean;
}

/** A Nigari with a proxy before its state door; ended whatever `work` does. */
export async function withStand<T>(
  options: StandOptions,
  work: (stand: Stand) => Promise<T>,
): Promise<T> {
  const undo: (() => Promise<void> | void)[] = [];
  try {
    return await work(await standUp(options, undo));
  } finally {
    for (const each of undo.reverse()) await each();
  }
}

async function standUp(
  options: StandOptions,
  undo: (() => Promise<void> | void)[],
): Promise<Stand> {
  const door = new DoorProxy();
  const proxy = await door.listen();
  undo.push(() => door.close());
  const checks = new HealthServer();
  const health = { server: checks, url: await checks.listen() };
  undo.push(() => checks.close());
  const world = new EngineWorld({ concurrent: CONCURRENT });
  world.gate.lead(proxy);
  const runs = join(world.dataDir, "runs");
  undo.push(() => world.close());
  if (options.diskMib !== undefined) {
    mountMemory(runs, options.diskMib);
    // Before the world goes, but after its processes: what lives there is not in the way of this.
    undo.push(() => asRoot("umount", "-l", runs));
  }
  const disk = new Disk(join(runs, ".filler"));
  undo.push(() => disk.leave());
  const source = { silent: false };
  if (options.source === true) {
    const server = await serveGit(world.estate.folder, () => source.silent);
    undo.push(() => server.close());
    world.estate.serveAt(server.url);
  }
  const clockFile = join(world.scratch, "clock");
  return {
    world,
    door,
    health,
    env: envOf(options, clockFile),
    bendClock: (ms) => writeFileSync(clockFile, `${ms}`),
    silenceSource: (silent) => {
      source.silent = silent;
    },
    fillDisk: () => disk.fill(),
    makeRoom: () => disk.makeRoom(),
  };
}

function envOf({ stageLimitMs, clock }: StandOptions, clockFile: string): Record<string, string> {
  const dials: Dials = {
    ...(stageLimitMs === undefined ? {} : { stageLimitMs }),
    ...(clock === true ? { clockFile } : {}),
  };
  return Object.keys(dials).length === 0 ? {} : dialsEnv(dials);
}

/** How often what others gave back is taken. */
const REFILL_MS = 250;

/** Fills a file system to the last byte, and keeps it full. */
class Disk {
  readonly #path: string;
  #refilling: NodeJS.Timeout | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  fill(): void {
    fillUp(this.#path);
    this.#refilling = setInterval(() => fillUp(this.#path), REFILL_MS);
  }
  leave(): void {
    clearInterval(this.#refilling);
  }
  makeRoom(): void {
    this.leave();
    rmSync(this.#path);
  }
}

function fillUp(path: string): void {
  const file = openSync(path, "a");
  try {
    for (let size = 1 << 20; size >= 1; size >>= 1) {
      const chunk = Buffer.alloc(size);
      try {
        while (writeSync(file, chunk) === size);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      }
    }
  } finally {
    closeSync(file);
  }
}
