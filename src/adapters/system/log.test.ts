import { describe, expect, test } from "vitest";
import type { Log } from "../../ports/log.ts";
import { createLog, type LogOptions } from "./log.ts";

function written(options: Pick<LogOptions, "format" | "level">, act: (log: Log) => void): string[] {
  const lines: string[] = [];
  act(createLog({ ...options, sink: { write: (line) => lines.push(line) } }));
  return lines;
}

describe("JSON", () => {
  test("is one object a line with time, level, message and fields", () => {
    const [line, ...more] = written({ format: "json", level: "info" }, (log) => {
      log.info("Run started", { object: "default/web", runId: "r1", attempt: 2, plan: undefined });
      log.debug("not wanted");
    });
    expect(more).toEqual([]);
    expect(line?.endsWith("\n")).toBe(true);
    const { at, ...rest } = JSON.parse(line ?? "");
    expect(rest).toEqual({
      level: "info",
      message: "Run started",
      object: "default/web",
      runId: "r1",
      attempt: 2,
    });
    expect(Math.abs(Date.parse(at) - Date.now())).toBeLessThan(60_000);
  });
});

describe("human lines", () => {
  const cases: Record<string, { act: (log: Log) => void; line: string }> = {
    "information needs no mark": {
      act: (log) => log.info("Run started", { object: "default/web" }),
      line: "Run started object=default/web",
    },
    "a warning is marked": {
      act: (log) => log.warn("Runner lost"),
      line: "warn: Runner lost",
    },
    "values with spaces are quoted, absent ones left out": {
      act: (log) => log.info("Said", { text: "a b", none: undefined, empty: "" }),
      line: 'Said text="a b" empty=""',
    },
    "a message from outside stays one line and cannot steer the terminal": {
      act: (log) => log.error("a\nb\u001b[2Jc\u009bd"),
      line: "error: a\\nb[2Jcd",
    },
  };
  test.each(Object.entries(cases))("%s", (_, { act, line }) => {
    const [first, ...more] = written({ format: "human", level: "debug" }, act);
    expect(more).toEqual([]);
    expect(first).toMatch(/^\d\d:\d\d:\d\d /);
    expect(first?.slice(9)).toBe(`${line}\n`);
  });

  test("below the level nothing is written", () => {
    expect(written({ format: "human", level: "warn" }, (log) => log.info("x"))).toEqual([]);
  });
});
