import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { Journal, outcomeOf, readJournal } from "./journal.ts";
import type { JournalBody } from "./messages.ts";

const scratch = mkdtempSync(join(tmpdir(), "nigari-journal-"));
afterAll(() => rmSync(scratch, { recursive: true }));
let count = 0;
const folder = () => join(scratch, `${++count}`);

const stage = (name: "init" | "plan"): JournalBody => ({ type: "stage", stage: name, at: "now" });
const progress = (resource: string): JournalBody => ({
  type: "progress",
  resource,
  action: "create",
  state: "started",
});
const end: JournalBody = { type: "outcome", outcome: { kind: "applied", outputs: undefined } };

describe("what is written", () => {
  test("is read back by whoever has the folder, numbered without gaps", async () => {
    const path = folder();
    const journal = new Journal(path);
    await journal.append(stage("init"));
    await journal.append(progress("a"), progress("b"));
    await journal.append(end);
    const read = readJournal(path);
    expect(read.map((each) => [each.sequence, each.type])).toEqual([
      [1, "stage"],
      [2, "progress"],
      [3, "progress"],
      [4, "outcome"],
    ]);
    expect(outcomeOf(read)).toEqual({ kind: "applied", outputs: undefined });
    expect(readdirSync(path)).toEqual(["000001.json", "000002.json", "000004.json"]);
  });

  test("keeps the order of the calls, though nobody waits for the one before", async () => {
    const path = folder();
    const journal = new Journal(path);
    const names = Array.from({ length: 20 }, (_, index) => `r${index}`);
    await Promise.all(names.map((name) => journal.append(progress(name))));
    const read = readJournal(path).map((each) => each.type === "progress" && each.resource);
    expect(read).toEqual(names);
  });

  test("is seen by listeners only once it is on disk", async () => {
    const path = folder();
    const journal = new Journal(path);
    const seen: number[] = [];
    const stop = journal.listen(() => seen.push(readJournal(path).length - journal.events.length));
    await journal.append(stage("init"));
    await journal.append(stage("plan"));
    stop();
    await journal.append(end);
    expect(seen).toEqual([0, 0]);
  });

  test("nothing at all is no entry", async () => {
    const journal = new Journal(folder());
    await journal.append();
    expect(journal.events).toEqual([]);
  });
});

describe("what is read", () => {
  test("of a run that never wrote is empty", () => {
    expect(readJournal(join(scratch, "nowhere"))).toEqual([]);
    expect(outcomeOf([])).toBeUndefined();
  });

  test("leaves out what was being written when the power went", async () => {
    const path = folder();
    await new Journal(path).append(stage("init"));
    writeFileSync(join(path, "000002.json.tmp"), '[{"sequ');
    expect(readJournal(path)).toHaveLength(1);
  });

  test("ends at a gap: what comes behind it is not to be trusted", async () => {
    const path = folder();
    const journal = new Journal(path);
    for (const each of [stage("init"), stage("plan"), end]) await journal.append(each);
    rmSync(join(path, "000002.json"));
    expect(readJournal(path)).toHaveLength(1);
  });

  test("goes on counting where an earlier writer ended", async () => {
    const path = folder();
    await new Journal(path).append(stage("init"));
    await new Journal(path).append(end);
    expect(readJournal(path).map((each) => each.sequence)).toEqual([1, 2]);
  });

  test("a field of a later version is no harm", async () => {
    const path = folder();
    await new Journal(path).append(stage("init"));
    const file = join(path, "000001.json");
    const text = readFileSync(file, "utf8").replace('"stage":{', '"stage":{"later":1,');
    writeFileSync(file, text);
    expect(readJournal(path)).toMatchObject([{ stage: "init" }]);
  });
});
