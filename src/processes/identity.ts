import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** What tells one process from every other that ever had its pid. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Start time as the platform gives it (Linux: clock ticks since boot; macOS: ps's lstart). */
  readonly startTime: string;
  /** Identity of the kernel's start (Linux: boot_id; macOS: kern.bootsessionuuid). */
  readonly bootId: string;
}

/** One process as the kernel lists it at a moment. */
export interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  /** Process group. */
  readonly group: number;
  /** Session; 0 where the platform does not tell. */
  readonly session: number;
  /** One letter: R, S, D, T, Z … */
  readonly state: string;
  readonly startTime: string;
}

let knownBootId: string | undefined;

/** Identity of this start of the machine; it cannot change while this process lives. */
export function bootId(): string {
  knownBootId ??=
    process.platform === "linux"
      ? readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()
      : execFileSync("sysctl", ["-n", "kern.bootsessionuuid"], { encoding: "utf8" }).trim();
  return knownBootId;
}

/** The process with this pid, zombies included; undefined if there is none. */
export function statOf(pid: number): ProcessStat | undefined {
  if (process.platform === "linux") {
    try {
      return parseProcStat(readFileSync(`/proc/${pid}/stat`, "utf8"));
    } catch {
      return undefined;
    }
  }
  try {
    return parsePsLine(execFileSync("ps", ["-p", `${pid}`, "-o", PS_COLUMNS], PS_OPTIONS));
  } catch {
    return undefined;
  }
}

/** Identity of the living process with this pid. A zombie is dead: it can do nothing more. */
export function identityOf(pid: number): ProcessIdentity | undefined {
  const stat = statOf(pid);
  if (stat === undefined || isDead(stat)) return undefined;
  return { pid, startTime: stat.startTime, bootId: bootId() };
}

/** Whether this very process, not merely its pid, still lives. */
export function sameProcess(identity: ProcessIdentity): boolean {
  const now = identity.bootId === bootId() ? identityOf(identity.pid) : undefined;
  return now !== undefined && now.startTime === identity.startTime;
}

/** Zombie, or dead and not yet taken off the list. */
export function isDead(stat: ProcessStat): boolean {
  return stat.state.startsWith("Z") || stat.state.startsWith("X");
}

/** Reads the text of /proc/<pid>/stat. The name may hold spaces and brackets, so: last bracket. */
export function parseProcStat(text: string): ProcessStat | undefined {
  const pid = Number.parseInt(text, 10);
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state, parent, group, session] = fields;
  const startTime = fields[19];
  if (!Number.isInteger(pid) || state === undefined || startTime === undefined) return undefined;
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    state,
    startTime,
  };
}

/** Columns for `ps`, all of which both macOS and Linux know; the last one holds spaces. */
export const PS_COLUMNS = "pid=,ppid=,pgid=,stat=,lstart=";
/** lstart is written in the local language and time zone, so both are fixed. */
export const PS_OPTIONS = {
  encoding: "utf8",
  env: { PATH: "/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C", TZ: "UTC0" },
  stdio: ["ignore", "pipe", "ignore"],
  maxBuffer: 16 << 20,
} as const satisfies Parameters<typeof execFileSync>[2];

/** Reads one line of `ps -o PS_COLUMNS`. */
export function parsePsLine(line: string): ProcessStat | undefined {
  const found = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S.*?)\s*$/.exec(line);
  if (found === null) return undefined;
  const [, pid, parent, group, state = "", start = ""] = found;
  return {
    pid: Number(pid),
    parent: Number(parent),
    group: Number(group),
    session: 0,
    state,
    startTime: start.replaceAll(/\s+/g, " "),
  };
}

/** Reads an identity from JSON text; undefined if it is none (half-written files count as none). */
export function parseIdentity(text: string): ProcessIdentity | undefined {
  try {
    const { pid, startTime, bootId } = JSON.parse(text);
    const whole = Number.isInteger(pid) && pid > 1 && typeof startTime === "string";
    return whole && typeof bootId === "string" ? { pid, startTime, bootId } : undefined;
  } catch {
    return undefined;
  }
}
