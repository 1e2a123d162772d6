import { markOf } from "./log-marks.ts";
import type { LogLine } from "./model.ts";

/**
 * Reads one line of a log: JSON and console encoding of controller-runtime (zap), klog, plain Go
 * and anything with an RFC 3339 time before it (kubectl's --timestamps, a container runtime's own
 * form). Lines are hostile input: a broken one gives what can be told, or undefined.
 */
export function readLogLine(text: string, context: LineContext): LogLine | undefined {
  const { body, atMs } = withoutPrefix(text);
  const parsed = parse(body, context);
  if (parsed === undefined) return undefined;
  const time = parsed.atMs ?? atMs ?? context.beforeMs;
  if (time === undefined) return undefined;
  const message = cut(parsed.message, MESSAGE_CHARACTERS, text);
  const error = parsed.error === undefined ? undefined : cut(parsed.error, ERROR_CHARACTERS, text);
  return {
    atMs: time,
    level: parsed.level,
    message,
    object: parsed.object,
    reconcileId: parsed.reconcileId,
    passBeganMs: parsed.passBeganMs,
    error,
    mark: markOf(parsed.message, parsed.error, parsed.level),
    fields: parsed.fields,
    place: { origin: context.origin, line: context.line },
  };
}

export interface LineContext {
  readonly origin: string;
  readonly line: number;
  /** Time of the line before, for lines without one. */
  readonly beforeMs: number | undefined;
  /** A time near the log's, to find the year of klog lines. */
  readonly nearMs: number | undefined;
}

type Parsed = Omit<LogLine, "atMs" | "place" | "mark"> & { readonly atMs: number | undefined };

const MESSAGE_CHARACTERS = 600;
const ERROR_CHARACTERS = 1_200;

/** A part of a long line is copied: by itself it would hold the whole line in memory. */
function cut(part: string, limit: number, line: string): string {
  const short = part.length > limit ? `${part.slice(0, limit)}…` : part;
  return line.length > LONG_CHARACTERS ? Buffer.from(short).toString() : short;
}

const LONG_CHARACTERS = 2_000;

const PREFIX =
  /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) (?:std(?:out|err) [FP] )?/;

/** Takes off the time that kubectl --timestamps or the container runtime puts before a line. */
function withoutPrefix(text: string): { body: string; atMs: number | undefined } {
  const found = PREFIX.exec(text);
  if (found === null) return { body: text, atMs: undefined };
  return { body: text.slice(found[0].length), atMs: timeMs(found[1]) };
}

function parse(body: string, context: LineContext): Parsed | undefined {
  if (body.startsWith("{")) return fromJson(body) ?? fromBrokenJson(body);
  return fromKlog(body, context) ?? fromConsole(body) ?? fromPlain(body);
}

const levels: Readonly<Record<string, LogLine["level"]>> = {
  trace: "debug",
  debug: "debug",
  info: "info",
  warn: "warn",
  warning: "warn",
  error: "error",
  fatal: "error",
  panic: "error",
  dpanic: "error",
  D: "debug",
  I: "info",
  W: "warn",
  E: "error",
  F: "error",
};

function fromJson(body: string): Parsed | undefined {
  let record: unknown;
  try {
    record = JSON.parse(body);
  } catch {
    return undefined;
  }
  if (typeof record !== "object" || record === null || Array.isArray(record)) return undefined;
  return fromFields(record as Record<string, unknown>, {});
}

/** A line that was cut off or is too long: only its first fields can be told. */
function fromBrokenJson(body: string): Parsed {
  const head = body.slice(0, 4_000);
  const pick = (key: string) => new RegExp(`"${key}":"((?:[^"\\\\]|\\\\.)*)"`).exec(head)?.[1];
  const name = /"name":"([^"\\]+)"/.exec(head)?.[1];
  const namespace = /"namespace":"([^"\\]+)"/.exec(head)?.[1];
  const level = pick("level");
  return {
    atMs: timeMs(pick("ts")),
    level: level === undefined ? undefined : levels[level],
    message: pick("msg") ?? head.slice(0, MESSAGE_CHARACTERS),
    object: name === undefined || namespace === undefined ? undefined : `${namespace}/${name}`,
    reconcileId: pick("reconcileID"),
    passBeganMs: timeMs(pick("start-time")),
    error: pick("error"),
    fields: undefined,
  };
}

interface Head {
  readonly atMs?: number | undefined;
  readonly level?: LogLine["level"];
  readonly message?: string;
}

function fromFields(record: Record<string, unknown>, head: Head): Parsed {
  const level = text(record.level);
  return {
    atMs: head.atMs ?? timeMs(record.ts ?? record.time ?? record.timestamp),
    level: head.level ?? (level === undefined ? undefined : levels[level.toLowerCase()]),
    message: head.message ?? text(record.msg ?? record.message) ?? "",
    object: objectOf(record),
    reconcileId: text(record.reconcileID),
    passBeganMs: timeMs(record["start-time"]),
    error: text(record.error ?? record.err),
    fields: kept(record),
  };
}

/** The object of a controller-runtime line: `namespace` and `name` beside the controller's name. */
function objectOf(record: Record<string, unknown>): string | undefined {
  if (record.controller === undefined && record.reconcileID === undefined) return undefined;
  const name = text(record.name);
  const namespace = text(record.namespace);
  if (name === undefined || namespace === undefined) return undefined;
  return `${namespace}/${name}`;
}

const KEPT = [
  "controller",
  "interval",
  "lock",
  "logger",
  "revision",
  "state",
  "took",
  "version",
  "worker count",
];

/** Most lines say this and no more; they share it. */
const OF_TERRAFORM = Object.freeze({ controller: "terraform" });

function kept(record: Record<string, unknown>): Record<string, string> | undefined {
  const ours = record.controller === "terraform";
  if (ours && !KEPT.some((key) => key !== "controller" && record[key] !== undefined)) {
    return OF_TERRAFORM;
  }
  let fields: Record<string, string> | undefined;
  for (const key of KEPT) {
    const value = record[key];
    if (typeof value !== "string" && typeof value !== "number") continue;
    fields ??= {};
    fields[key] = String(value).slice(0, 200);
  }
  return fields;
}

/** zap's console encoding: time, level, [logger,] message and fields, between tabs. */
function fromConsole(body: string): Parsed | undefined {
  const parts = body.split("\t", 8);
  const atMs = timeMs(parts[0]);
  const level = levels[parts[1]?.toLowerCase() ?? ""];
  if (atMs === undefined || level === undefined || parts.length < 3) return undefined;
  const brace = body.indexOf("\t{");
  const before = (brace < 0 ? body : body.slice(0, brace)).split("\t").slice(2);
  const message = before.at(-1) ?? "";
  if (brace < 0) return bare({ atMs, level, message });
  try {
    return fromFields(JSON.parse(body.slice(brace + 1)), { atMs, level, message });
  } catch {
    const broken = fromBrokenJson(body.slice(brace + 1).replaceAll('": ', '":'));
    return { ...broken, atMs, level, message };
  }
}

const KLOG = /^([IWEF])(\d\d)(\d\d) (\d\d):(\d\d):(\d\d)\.(\d+)\s+\d+ [^\]\s]+\] ?/;

/** klog writes no year: it is the one that brings the line nearest to a time that is known. */
function fromKlog(body: string, context: LineContext): Parsed | undefined {
  const found = KLOG.exec(body);
  if (found === null) return undefined;
  const near = context.beforeMs ?? context.nearMs;
  const [, level = "", ...digits] = found;
  const [month = 1, day = 1, hour = 0, minute = 0, second = 0, micros = 0] = digits.map(Number);
  const at = (year: number) =>
    Date.UTC(year, month - 1, day, hour, minute, second, Math.floor(micros / 1_000));
  const atMs = near === undefined ? undefined : nearest(near, at);
  const rest = body.slice(found[0].length);
  const quoted = /^"((?:[^"\\]|\\.)*)"/.exec(rest);
  const error = /\berr="((?:[^"\\]|\\.)*)"/.exec(rest)?.[1];
  const lock = /\block="([^"]*)"/.exec(rest)?.[1];
  return {
    ...bare({ atMs, level: levels[level], message: quoted?.[1] ?? rest }),
    error,
    fields: lock === undefined ? undefined : { lock },
  };
}

function nearest(nearMs: number, at: (year: number) => number): number {
  const year = new Date(nearMs).getUTCFullYear();
  const distance = (ms: number) => Math.abs(ms - nearMs);
  return [at(year - 1), at(year), at(year + 1)].reduce((best, each) =>
    distance(each) < distance(best) ? each : best,
  );
}

const PLAIN = /^(\d{4})[/-](\d\d)[/-](\d\d)[ T](\d\d:\d\d:\d\d(?:[.,]\d+)?) ?(.*)/;

function fromPlain(body: string): Parsed | undefined {
  if (body.trim() === "") return undefined;
  const found = PLAIN.exec(body);
  if (found === null) return bare({ atMs: undefined, level: undefined, message: body });
  const [, year, month, day, time, message] = found;
  const atMs = timeMs(`${year}-${month}-${day}T${time?.replace(",", ".")}Z`);
  const level = /^(?:\| )?(TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b/.exec(message ?? "")?.[1];
  return bare({
    atMs,
    level: level === undefined ? undefined : levels[level.toLowerCase()],
    message: message ?? "",
  });
}

function bare(head: {
  atMs: number | undefined;
  level: LogLine["level"];
  message: string;
}): Parsed {
  return {
    ...head,
    object: undefined,
    reconcileId: undefined,
    passBeganMs: undefined,
    error: undefined,
    fields: undefined,
  };
}

const text = (value: unknown) => (typeof value === "string" ? value : undefined);

/** RFC 3339 text or seconds since 1970, as zap writes either. */
export function timeMs(value: unknown): number | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? value * 1_000 : undefined;
  if (typeof value !== "string" || !/^\d{4}-\d\d-\d\dT/.test(value)) return undefined;
  const ms = Date.parse(value);
  return Number.isNaN(ms) ? undefined : ms;
}
