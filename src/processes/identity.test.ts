import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import {
  identityOf,
  isDead,
  PS_COLUMNS,
  PS_OPTIONS,
  parseIdentity,
  parseProcStat,
  parsePsLine,
  sameProcess,
  statOf,
} from "./identity.ts";

/** /proc/<pid>/stat with this name and state; the fields between do not matter here. */
function procStat(name: string, state = "S"): string {
  const between = Array.from({ length: 15 }, (_, index) => index).join(" ");
  return `4711 (${name}) ${state} 1 4700 4699 ${between} 98765 0 0 0\n`;
}

describe("parseProcStat", () => {
  const whole = {
    pid: 4711,
    parent: 1,
    group: 4700,
    session: 4699,
    state: "S",
    startTime: "98765",
  };
  const rows: [why: string, text: string, expected: unknown][] = [
    ["a plain name", procStat("tofu"), whole],
    ["a name with a space", procStat("tofu apply"), whole],
    ["a name that looks like the fields behind it", procStat("a) R 7 7 7 (b"), whole],
    ["a file cut off in the middle", "4711 (tofu) S 1 2", undefined],
    ["an empty file", "", undefined],
  ];
  test.each(rows)("%s", (_, text, expected) => {
    expect(parseProcStat(text)).toEqual(expected);
  });
});

describe("parsePsLine", () => {
  test("reads what both systems print", () => {
    expect(parsePsLine("  501     1   490 Ss   Mon Nov  3 09:04:05 2025   ")).toEqual({
      pid: 501,
      parent: 1,
      group: 490,
      session: 0,
      state: "Ss",
      startTime: "Mon Nov 3 09:04:05 2025",
    });
  });
  test("takes no other line", () => {
    expect(parsePsLine("ps: illegal option")).toBeUndefined();
  });
  test("agrees with the kernel about this process", () => {
    const line = execFileSync("ps", ["-p", `${process.pid}`, "-o", PS_COLUMNS], PS_OPTIONS);
    const { parent, group } = statOf(process.pid) ?? {};
    expect(parsePsLine(line)).toMatchObject({ pid: process.pid, parent, group });
  });
});

describe("parseIdentity", () => {
  const rows: [why: string, text: string, whole: boolean][] = [
    ["what a wrapper writes", '{"pid":12,"startTime":"7","bootId":"b"}', true],
    ["a half-written file", '{"pid":12,"startT', false],
    ["no file's worth of text", "", false],
    ["a pid that is every process (0 or 1 is never one of ours)", '{"pid":1}', false],
    ["no start time: a pid alone is no identity", '{"pid":12,"bootId":"b"}', false],
  ];
  test.each(rows)("%s", (_, text, whole) => {
    expect(parseIdentity(text) !== undefined).toBe(whole);
  });
});

describe("a living process", () => {
  test("is itself, and another with its pid is not", () => {
    const own = identityOf(process.pid);
    expect(own).toBeDefined();
    if (own === undefined) return;
    expect(sameProcess(own)).toBe(true);
    expect(sameProcess({ ...own, startTime: "1" })).toBe(false);
    expect(sameProcess({ ...own, bootId: "another start of the machine" })).toBe(false);
  });

  test("is dead once it is killed, even while nobody has reaped it", async () => {
    // The shell becomes a sleep that reaps nobody: its child stays a zombie.
    const script = "sleep 60 & echo $!; exec sleep 60";
    const holder = spawn("/bin/sh", ["-c", script], { stdio: ["ignore", "pipe", "ignore"] });
    try {
      const [text] = await once(holder.stdout, "data");
      const pid = Number(`${text}`);
      await until(() => statOf(holder.pid ?? 0) !== undefined && identityOf(pid) !== undefined);
      const identity = identityOf(pid);
      process.kill(pid, "SIGKILL");
      await until(() => identity !== undefined && !sameProcess(identity));
      const left = statOf(pid);
      expect(left === undefined || isDead(left)).toBe(true);
      expect(identityOf(pid)).toBeUndefined();
    } finally {
      holder.kill("SIGKILL");
    }
  });
});

async function until(holds: () => boolean): Promise<void> {
  const end = performance.now() + 5_000;
  while (!holds()) {
    if (performance.now() > end) throw new Error("It did not come about in 5 s");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
