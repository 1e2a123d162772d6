import { destination, pino } from "pino";
import type { Log, LogFields } from "../../ports/log.ts";

export const logLevels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];

export interface LogOptions {
  /** "json": one JSON line each, for machines; "human": one plain line each, for a terminal. */
  readonly format: "json" | "human";
  /** The lowest level that is written. */
  readonly level: LogLevel;
  /** Takes whole lines; stderr by default. */
  readonly sink?: LineSink;
}
export interface LineSink {
  write(line: string): void;
}

/** Writes each line before the call returns, so that a crash loses none. */
export function createLog(options: LogOptions): Log {
  const sink = options.sink ?? stderr();
  return options.format === "json" ? jsonLog(options.level, sink) : humanLog(options.level, sink);
}

function stderr(): LineSink {
  const sink = destination({ fd: 2, sync: true });
  // A reader that went away (a closed terminal, a broken pipe) must not end the engine.
  sink.on("error", () => {});
  return sink;
}

function jsonLog(level: LogLevel, sink: LineSink): Log {
  const log = pino(
    {
      level,
      base: null,
      messageKey: "message",
      timestamp: () => `,"at":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    sink,
  );
  return forEachLevel((at, message, fields) => log[at](fields ?? {}, message));
}

function humanLog(level: LogLevel, sink: LineSink): Log {
  const lowest = logLevels.indexOf(level);
  return forEachLevel((at, message, fields) => {
    if (logLevels.indexOf(at) < lowest) return;
    const time = new Date().toTimeString().slice(0, 8);
    const mark = at === "info" ? "" : `${at}: `;
    sink.write(`${time} ${mark}${plain(message)}${humanFields(fields)}\n`);
  });
}

function humanFields(fields: LogFields = {}): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => {
      const text = plain(String(value));
      return ` ${name}=${/[\s"]/.test(text) || text === "" ? JSON.stringify(text) : text}`;
    })
    .join("");
}

/** One line without control characters: a message of tofu's must not steer a person's terminal. */
function plain(text: string): string {
  return text
    .replaceAll("\n", "\\n")
    .replaceAll("\t", " ")
    .replaceAll(/\p{Cc}/gu, "");
}

function forEachLevel(
  write: (level: LogLevel, message: string, fields: LogFields | undefined) => void,
): Log {
  return {
    debug: (message, fields) => write("debug", message, fields),
    info: (message, fields) => write("info", message, fields),
    warn: (message, fields) => write("warn", message, fields),
    error: (message, fields) => write("error", message, fields),
  };
}
