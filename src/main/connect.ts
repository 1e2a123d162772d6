import { existsSync } from "node:fs";
import { join } from "node:path";
import { connectEngine } from "../adapters/engine-client/client.ts";
import { DatabaseError } from "../adapters/sqlite/database.ts";
import { readHolder } from "../adapters/system/data-lock.ts";
import { CliError, EXIT, type World } from "../cli/world.ts";
import type { Call } from "../ports/call.ts";
import type { Clock } from "../ports/clock.ts";
import { engineSocketPath } from "../server/socket.ts";
import { type Kept, openKept } from "./store.ts";

/**
 * What the verbs work on: the engine of the data directory if one answers, else the directory
 * itself. Whether an engine *holds* the directory is asked of its socket, never of a file.
 */
export async function connectWorld(dataDir: string, clock: Clock, call: Call): Promise<World> {
  const socket = engineSocketPath(dataDir);
  if (existsSync(socket)) {
    const client = connectEngine(socket, clock);
    try {
      const info = await client.engine.info(call);
      return {
        store: client.store,
        logs: client.logs,
        state: client.states,
        unlocker: client.unlocker,
        live: (key, each) => client.engine.liveRun(key, each),
        via: `engine (pid ${info.pid}, since ${info.since})`,
        engineRuns: true,
        close: async () => {},
      };
    } catch (error) {
      if (!isGone(error)) throw call.signal.aborted ? await silent(dataDir, error) : error;
      // A killed engine leaves its socket behind; the directory is free.
    }
  }
  return direct(dataDir, clock);
}

/** An engine that is there but says nothing: who it is, and how to go on without it. */
async function silent(dataDir: string, error: unknown): Promise<unknown> {
  const holder = await readHolder(dataDir);
  if (holder === undefined || !(error instanceof Error)) return error;
  const { pid, command } = holder;
  return new CliError(
    EXIT.unreachable,
    `The engine of ${dataDir} (pid ${pid}, started as "${command}") gives no answer within 10s; ` +
      `"kill -CONT ${pid}" wakes it if it was stopped, "kill -9 ${pid}" and "nigari up" replace it`,
    { cause: error },
  );
}

function isGone(error: unknown): boolean {
  for (let each = error; each instanceof Error; each = each.cause) {
    if ("code" in each && (each.code === "ECONNREFUSED" || each.code === "ENOENT")) return true;
  }
  return false;
}

function direct(dataDir: string, clock: Clock): World {
  if (!existsSync(join(dataDir, "nigari.db"))) {
    throw new CliError(
      EXIT.unreachable,
      `No engine runs on ${dataDir}, and nothing is kept there; start one with "nigari up DIR", ` +
        "or name another with --data-dir, or a cluster with --context",
    );
  }
  const kept = openOrSay(dataDir, clock);
  return {
    store: kept.store,
    logs: kept.logs,
    state: kept.states,
    live: async () => undefined,
    via: `data directory ${dataDir}, no engine runs`,
    engineRuns: false,
    close: async () => kept.database.close(),
  };
}

function openOrSay(dataDir: string, clock: Clock): Kept {
  try {
    return openKept(dataDir, clock);
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    throw new CliError(EXIT.unreachable, error.message, { cause: error });
  }
}
