import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { uptime } from "node:os";
import { promisify } from "node:util";
import {
  bootId,
  isDead,
  type ProcessIdentity,
  type ProcessStat,
  PS_COLUMNS,
  PS_OPTIONS,
  parseProcStat,
  parsePsLine,
} from "./identity.ts";

/** Name of the environment variable that marks every process of a run. */
const TOKEN_VARIABLE = "NIGARI_RUN_TOKEN";

/** What a run is known by. */
export interface RunMarks {
  /** Its runner and the leaders of its groups, living or not. */
  readonly leaders: readonly ProcessIdentity[];
  /** Value of NIGARI_RUN_TOKEN in its processes; undefined: it has none. */
  readonly token: string | undefined;
}

/** A living process of a run. */
export interface Member extends ProcessIdentity {
  readonly group: number;
  /** How it is known to belong to the run. */
  readonly by: "leader" | "group" | "token" | "descent";
}

/** All living processes at a moment, zombies left out. */
export interface ProcessTable {
  readonly bootId: string;
  readonly byPid: ReadonlyMap<number, ProcessStat>;
  /** Value of the run token in the process's environment; read when first asked for. */
  tokenOf(pid: number): string | undefined;
  /** All that carry this token. */
  withToken(token: string): readonly ProcessStat[];
}

/**
 * Reads the process table. About 10 µs a process on Linux: cheap enough for four times a second.
 * The environment is read once per process.
 */
export async function readProcessTable(): Promise<ProcessTable> {
  return process.platform === "linux" ? readProc() : await readPs();
}

function readProc(): ProcessTable {
  const byPid = new Map<number, ProcessStat>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = parseProcStat(readFileSync(`/proc/${name}/stat`, "utf8"));
      if (stat !== undefined && !isDead(stat)) byPid.set(stat.pid, stat);
    } catch {
      // Ended since the folder was listed.
    }
  }
  return tableOf(byPid, environmentToken);
}

async function readPs(): Promise<ProcessTable> {
  const options = { ...PS_OPTIONS, timeout: 5_000 };
  const [stats, environments] = await Promise.all([
    promisify(execFile)("ps", ["-axo", PS_COLUMNS], options),
    promisify(execFile)("ps", ["-axEwwo", "pid=,command="], options),
  ]);
  const byPid = new Map<number, ProcessStat>();
  for (const line of stats.stdout.split("\n")) {
    const stat = parsePsLine(line);
    if (stat !== undefined && !isDead(stat)) byPid.set(stat.pid, stat);
  }
  const tokens = new Map<number, string>();
  const marked = new RegExp(`^\\s*(\\d+)\\s.*\\b${TOKEN_VARIABLE}=(\\S+)`, "gm");
  for (const [, pid, token] of environments.stdout.matchAll(marked)) {
    if (token !== undefined) tokens.set(Number(pid), token);
  }
  return tableOf(byPid, (stat) => tokens.get(stat.pid));
}

/** A table of these processes; `tokenOf` reads one environment. */
export function tableOf(
  byPid: ReadonlyMap<number, ProcessStat>,
  tokenOf: (stat: ProcessStat) => string | undefined,
): ProcessTable {
  let byToken: Map<string, ProcessStat[]> | undefined;
  return {
    bootId: bootId(),
    byPid,
    tokenOf(pid) {
      const stat = byPid.get(pid);
      return stat === undefined ? undefined : tokenOf(stat);
    },
    withToken(token) {
      if (byToken === undefined) {
        byToken = new Map();
        for (const stat of byPid.values()) {
          const found = tokenOf(stat);
          if (found === undefined) continue;
          const list = byToken.get(found);
          if (list === undefined) byToken.set(found, [stat]);
          else list.push(stat);
        }
      }
      return byToken.get(token) ?? [];
    },
  };
}

/** Every living process of the run. Empty in two looks in a row proves that the run is dead. */
export function membersOf(run: RunMarks, table: ProcessTable): Member[] {
  const found = new Map<number, Member>();
  const add = (stat: ProcessStat, by: Member["by"]) => {
    if (found.has(stat.pid)) return;
    const { pid, startTime, group } = stat;
    found.set(pid, { pid, startTime, bootId: table.bootId, group, by });
  };
  for (const leader of run.leaders) {
    const holder = leader.bootId === table.bootId ? table.byPid.get(leader.pid) : undefined;
    if (holder?.startTime === leader.startTime) add(holder, "leader");
    if (!isGroupOf(leader, table, run.token)) continue;
    for (const stat of table.byPid.values()) {
      if (stat.group === leader.pid || stat.session === leader.pid) add(stat, "group");
    }
  }
  if (run.token !== undefined) {
    for (const stat of table.withToken(run.token)) add(stat, "token");
  }
  addDescendants(found, table, add);
  return [...found.values()];
}

/** Children of members belong too, also those that have left the group and cleared their mark. */
function addDescendants(
  found: ReadonlyMap<number, Member>,
  table: ProcessTable,
  add: (stat: ProcessStat, by: Member["by"]) => void,
): void {
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const stat of table.byPid.values()) if (found.has(stat.parent)) add(stat, "descent");
  }
}

/**
 * Whether the group (or session) that bears the leader's number has a living process and is still
 * the leader's. The kernel gives no number to a new process while a group has it, so it is enough
 * that the leader itself lives, or else that a process in it carries the run's mark.
 */
export function isGroupOf(
  leader: ProcessIdentity,
  table: ProcessTable,
  token: string | undefined,
): boolean {
  if (leader.bootId !== table.bootId) return false;
  const holder = table.byPid.get(leader.pid);
  if (holder !== undefined) return holder.startTime === leader.startTime;
  if (token === undefined) return false;
  for (const stat of table.byPid.values()) {
    const inside = stat.group === leader.pid || stat.session === leader.pid;
    if (inside && table.tokenOf(stat.pid) === token) return true;
  }
  return false;
}

/** Ticks in a second, as /proc gives start times to programs on every Linux. */
const TICKS = 100;
/** A process this old will not become part of a run any more: between fork and exec lie moments. */
const SETTLED_S = 5;

const environments = new Map<number, { startTime: string; token: string | undefined }>();

/**
 * The run token in a process's environment. A token once seen, and the absence of one in a settled
 * process, are remembered, so that each environment is read a few times at most: reading one takes
 * a lock of the process read, and a process stuck in the kernel may hold that for long.
 */
function environmentToken(stat: ProcessStat): string | undefined {
  const known = environments.get(stat.pid);
  if (known?.startTime === stat.startTime) return known.token;
  // A kernel thread has none; one in uninterruptible sleep is looked at when it wakes.
  if (stat.pid === 2 || stat.parent === 2 || stat.state === "D") return undefined;
  const token = readToken(stat.pid);
  const settled = uptime() - Number(stat.startTime) / TICKS > SETTLED_S;
  if (token !== undefined || settled) {
    // Pids are few (pid_max); the map is emptied rather than searched for those that have ended.
    if (environments.size > 50_000) environments.clear();
    environments.set(stat.pid, { startTime: stat.startTime, token });
  }
  return token;
}

function readToken(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/environ`, "latin1");
    const start = text.startsWith(`${TOKEN_VARIABLE}=`) ? 0 : text.indexOf(`\0${TOKEN_VARIABLE}=`);
    if (start < 0) return undefined;
    const value = text.indexOf("=", start) + 1;
    const end = text.indexOf("\0", value);
    return text.slice(value, end < 0 ? undefined : end);
  } catch {
    // Ended, or of another user: then no process of a run either.
    return undefined;
  }
}
