import { appendFileSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { LogLine } from "../../ports/runs.ts";
import { createRunLogs } from "./run-logs.ts";

const web = { namespace: "default", name: "web" };
const call = () => ({ signal: AbortSignal.timeout(5_000) });
const limits = { bytesPerRun: 2_000, runsPerObject: 3, bytesPerRead: 100_000 };

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "nigari-logs-"));
});
afterEach(() => rmSync(root, { recursive: true }));

function line(text: string, runId = "r1"): LogLine {
  return { at: "2026-01-01T00:00:00.000Z", runId, stage: "plan", text };
}
const texts = (lines: LogLine[]) => lines.map((each) => each.text);

describe("read", () => {
  test("gives back what was appended, tabs and all, also in another process", async () => {
    await createRunLogs(root).append(web, "r1", [line("a\tb"), line("")], call());
    expect(await createRunLogs(root).read(web, {}, call())).toEqual([line("a\tb"), line("")]);
  });

  test("of an object without runs is empty", async () => {
    expect(await createRunLogs(root).read(web, {}, call())).toEqual([]);
  });

  test("keeps objects and runs apart, and puts the runs in order", async () => {
    const logs = createRunLogs(root);
    await logs.append(web, "r2", [line("second", "r2")], call());
    await logs.append(web, "r1", [line("first", "r1")], call());
    utimesSync(join(root, "default/web/r1.log"), 1_000, 1_000);
    await logs.append({ ...web, name: "db" }, "r3", [line("other", "r3")], call());
    expect(texts(await logs.read(web, {}, call()))).toEqual(["first", "second"]);
    expect(texts(await logs.read(web, { runId: "r2" }, call()))).toEqual(["second"]);
    expect(texts(await logs.read(web, { tail: 1 }, call()))).toEqual(["second"]);
    expect(texts(await logs.read(web, { tail: 0 }, call()))).toEqual([]);
  });

  test("splits a text of several lines, and passes over a torn line", async () => {
    const logs = createRunLogs(root);
    await logs.append(web, "r1", [line("a\nb")], call());
    appendFileSync(join(root, "default/web/r1.log"), "2026-01-0");
    expect(texts(await logs.read(web, {}, call()))).toEqual(["a", "b"]);
  });
});

describe("bounds", () => {
  test("a run keeps its newest lines within its size", async () => {
    const logs = createRunLogs(root, limits);
    for (let n = 1; n <= 200; n++) await logs.append(web, "r1", [line(`line ${n}`)], call());
    const kept = texts(await logs.read(web, {}, call()));
    expect(kept.at(-1)).toBe("line 200");
    expect(kept.length).toBeGreaterThan(15);
    expect(kept.length).toBeLessThan(60);
    const sizes = readdirSync(join(root, "default/web")).map(
      (name) => statSync(join(root, "default/web", name)).size,
    );
    expect(Math.max(...sizes)).toBeLessThan(limits.bytesPerRun);
  });

  test("one flood at once keeps its end", async () => {
    const logs = createRunLogs(root, limits);
    const flood = Array.from({ length: 10_000 }, (_, n) => line(`line ${n}`));
    await logs.append(web, "r1", [...flood, line("the error")], call());
    const kept = texts(await logs.read(web, {}, call()));
    expect(kept.at(-1)).toBe("the error");
    expect(kept.length).toBeLessThan(60);
  });

  test("only so many runs of an object are kept, the newest", async () => {
    const logs = createRunLogs(root, limits);
    for (const [index, runId] of ["r1", "r2", "r3", "r4", "r5"].entries()) {
      await logs.append(web, runId, [line(runId, runId)], call());
      utimesSync(join(root, `default/web/${runId}.log`), 1_000 + index, 1_000 + index);
    }
    expect(texts(await logs.read(web, {}, call()))).toEqual(["r3", "r4", "r5"]);
  });

  test("files are for the owner alone", async () => {
    await createRunLogs(join(root, "logs")).append(web, "r1", [line("x")], call());
    expect(statSync(join(root, "logs/default/web")).mode & 0o777).toBe(0o700);
    expect(statSync(join(root, "logs/default/web/r1.log")).mode & 0o777).toBe(0o600);
  });

  test("a name that would lead out of the folder is refused", async () => {
    const logs = createRunLogs(root);
    await expect(logs.append(web, "../r1", [line("x")], call())).rejects.toThrow("cannot name");
    await expect(logs.read({ ...web, name: ".." }, {}, call())).rejects.toThrow("cannot name");
  });
});

describe("follow", () => {
  test("tells what is there and then what comes, each line once, until the signal", async () => {
    const logs = createRunLogs(root);
    await logs.append(web, "r1", [line("old")], call());
    const stop = new AbortController();
    const heard: string[] = [];
    const following = (async () => {
      for await (const each of logs.follow(web, {}, { signal: stop.signal })) {
        heard.push(each.text);
        if (each.text === "last") stop.abort();
      }
    })();
    // No waiting for the follower to be there: lines appended meanwhile must not get lost.
    for (const text of ["a", "b", "c"]) await logs.append(web, "r1", [line(text)], call());
    await logs.append({ ...web, name: "db" }, "r1", [line("other object")], call());
    await logs.append(web, "r2", [line("last", "r2")], call());
    await following;
    expect(heard).toEqual(["old", "a", "b", "c", "last"]);
  });

  test("of one run hears nothing of another", async () => {
    const logs = createRunLogs(root);
    const stop = new AbortController();
    const heard: string[] = [];
    const following = (async () => {
      for await (const each of logs.follow(web, { runId: "r2" }, { signal: stop.signal })) {
        heard.push(each.text);
        stop.abort();
      }
    })();
    await logs.append(web, "r1", [line("one")], call());
    await logs.append(web, "r2", [line("two", "r2")], call());
    await following;
    expect(heard).toEqual(["two"]);
  });

  test("ends at once when nothing comes and the signal fires", async () => {
    const stop = new AbortController();
    const lines = createRunLogs(root).follow(web, {}, { signal: stop.signal });
    const next = lines[Symbol.asyncIterator]().next();
    setTimeout(() => stop.abort(), 20);
    expect((await next).done).toBe(true);
  });
});
