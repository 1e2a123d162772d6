import { describe, expect, test } from "vitest";
import { type Known, know, type Moment, type Part } from "../evidence/knowledge.ts";
import type { Evidence, LogStream } from "../evidence/model.ts";
import { redactText } from "../evidence/redaction.ts";
import type { RecognizerCase, RecognizerCases } from "../recognizers/case.ts";
import { allCases } from "../recognizers/cases.ts";
import { type Recognizer, risks, type Verdict } from "../recognizers/define.ts";
import { judge } from "../recognizers/judge.ts";

/**
 * Holds a recognizer to its cases and to the rules of the house: enough cases of each verdict, the
 * same verdict in any order, nothing read that is not declared, no verdict without its needs, no
 * other verdict on thinner evidence, no look-alike taken for it, citations without secrets.
 */
export function checkRecognizer(recognizer: Recognizer, cases: RecognizerCases): void {
  const every = [...cases.recognized, ...cases.ruledOut, ...cases.inconclusive];
  describe(recognizer.id, () => {
    declares(recognizer, cases);
    judges(recognizer, cases);
    readsWhatItDeclares(recognizer, every);
    isNothingElse(recognizer);
    describe.each(every.map((each) => ({ name: each.why, each })))("$name", ({ each }) => {
      staysItself(recognizer, each);
      thins(recognizer, each);
    });
  });
}

const momentOf = (each: RecognizerCase): Moment => {
  const { asOfMs } = each.scene;
  return { asOfMs, takenMs: asOfMs };
};
const knownOf = (each: RecognizerCase) => know(each.scene.evidence(), momentOf(each));
const verdictOf = (recognizer: Recognizer, each: RecognizerCase) =>
  judge(recognizer, knownOf(each), momentOf(each));

function declares(recognizer: Recognizer, cases: RecognizerCases): void {
  test("has enough cases, each once", () => {
    expect(cases.recognized.length).toBeGreaterThanOrEqual(2);
    expect(cases.ruledOut.length).toBeGreaterThanOrEqual(1);
    expect(cases.inconclusive.length).toBeGreaterThanOrEqual(1);
    const all = [...cases.recognized, ...cases.ruledOut, ...cases.inconclusive];
    expect(new Set(all.map((each) => each.why)).size).toBe(all.length);
    expect(new Set(all.map((each) => JSON.stringify(each.scene.evidence()))).size).toBe(all.length);
  });

  test("declares itself by the rules", () => {
    expect(recognizer.summary).toMatch(/^Checks for .*\.$/);
    expect(recognizer.lookAlikes.length).toBeGreaterThan(0);
    expect(recognizer.doc.symptoms.length).toBeGreaterThan(0);
    const grades = recognizer.remedies.map((each) => risks.indexOf(each.risk));
    expect(recognizer.remedies.every((each) => each.verify !== "")).toBe(true);
    const harmless = grades.filter((grade) => grade === 0);
    expect(grades.slice(0, harmless.length), "what only reads comes first").toEqual(harmless);
    const texts = [...recognizer.doesNotHelp, recognizer.doc.meaning, recognizer.doc.limits];
    for (const text of texts) expect(text).toMatch(/[.]$/);
  });
}

function judges(recognizer: Recognizer, cases: RecognizerCases): void {
  test.each(cases.recognized)("recognizes: $why", (each) => {
    const verdict = verdictOf(recognizer, each);
    expect(verdict).toMatchObject({ verdict: "recognized" });
    if (verdict.verdict !== "recognized") return;
    const objects = verdict.findings.flatMap((finding) => finding.objects);
    if (each.objects !== undefined) expect(objects.sort()).toEqual([...each.objects].sort());
    if (each.facts !== undefined) expect(verdict.findings[0]?.facts).toMatchObject(each.facts);
    for (const finding of verdict.findings) {
      expect(finding.cites.length, "cites").toBeGreaterThan(0);
      for (const { says } of finding.cites) expect(redactText(says)).toBe(says);
      expect(finding.says).toMatch(/\.$|\)$|…$/);
    }
  });
  test.each(cases.ruledOut)("rules out: $why", (each) => {
    expect(verdictOf(recognizer, each)).toMatchObject({ verdict: "ruled-out" });
  });
  test.each(cases.inconclusive)("cannot tell: $why", (each) => {
    const verdict = verdictOf(recognizer, each);
    expect(verdict).toMatchObject({ verdict: "inconclusive" });
    if (verdict.verdict !== "inconclusive") return;
    const objects = verdict.undecided.flatMap((one) => one.objects);
    if (each.objects !== undefined) expect(objects.sort()).toEqual([...each.objects].sort());
    const missing = verdict.undecided.flatMap((one) => one.missing);
    expect(missing.every((one) => one.command !== "")).toBe(true);
    expect(missing.length).toBeGreaterThan(0);
  });
}

/** Asks with a watch on what is read: the undeclared throws, the declared must be read once. */
function readsWhatItDeclares(recognizer: Recognizer, every: readonly RecognizerCase[]): void {
  test("reads what it declares, all of it and nothing else", () => {
    const declared = new Set<string>([...recognizer.needs, ...recognizer.wants]);
    const read = new Set<string>();
    for (const each of every) {
      const known = knownOf(each);
      if (recognizer.needs.some((part) => known[part] === undefined)) continue;
      recognizer.recognize(watched(known, declared, read), momentOf(each));
    }
    expect(
      [...declared].filter((part) => !read.has(part)),
      "declared and never read",
    ).toEqual([]);
  });

  test.each(every)("is inconclusive without any of its needs: $why", (each) => {
    const known = knownOf(each);
    for (const part of recognizer.needs) {
      const { [part]: _, ...rest } = known;
      expect(judge(recognizer, rest, momentOf(each)).verdict, part).toBe("inconclusive");
    }
  });
}

function watched(known: Known, declared: ReadonlySet<string>, read: Set<string>): Known {
  return new Proxy(known, {
    get(target, key) {
      if (typeof key === "string") {
        if (!declared.has(key)) throw new Error(`${key} is read and not declared`);
        read.add(key);
      }
      return target[key as Part];
    },
    ownKeys: (target) => Reflect.ownKeys(target).filter((key) => declared.has(String(key))),
  });
}

/** The first case of each look-alike is not this. */
function isNothingElse(recognizer: Recognizer): void {
  test.each(recognizer.lookAlikes)("is not $id", ({ id }) => {
    const first = allCases[id]?.recognized[0];
    if (first === undefined) throw new Error(`${id} has no case`);
    expect(verdictOf(recognizer, first).verdict).not.toBe("recognized");
  });
}

function staysItself(recognizer: Recognizer, each: RecognizerCase): void {
  const verdict = verdictOf(recognizer, each);

  test("same verdict twice, in any order, and on frozen evidence", () => {
    const { evidence } = { evidence: deepFrozen(each.scene.evidence()) };
    expect(judge(recognizer, know(evidence, momentOf(each)), momentOf(each))).toEqual(verdict);
    const turned: Evidence = {
      ...evidence,
      objects: evidence.objects.toReversed(),
      logs: evidence.logs.toReversed(),
      metrics: evidence.metrics.toReversed(),
      drops: evidence.drops.toReversed(),
    };
    const again = judge(recognizer, know(turned, momentOf(each)), momentOf(each));
    expect(sortedVerdict(again)).toEqual(sortedVerdict(verdict));
  });

  test("hostile text does not hold it up", () => {
    const evidence = hostile(each.scene.evidence());
    const startedMs = performance.now();
    judge(recognizer, know(evidence, momentOf(each)), momentOf(each));
    expect(performance.now() - startedMs).toBeLessThan(HOSTILE_MS);
  });
}

/** For a text of a megabyte in every message; machines that test are slow and busy. */
const HOSTILE_MS = 2_000;

/** Citations of one finding may come in the order of the evidence. */
function sortedVerdict(verdict: Verdict): unknown {
  if (verdict.verdict !== "recognized") return verdict.verdict;
  return verdict.findings
    .map((finding) => ({ objects: [...finding.objects].sort(), says: finding.says }))
    .sort((one, two) => (one.says < two.says ? -1 : 1));
}

/** Ways in which a dump grows thin, and old. */
const thinnings: readonly { readonly name: string; readonly thin: (e: Evidence) => Evidence }[] = [
  { name: "without goroutines", thin: (e) => ({ ...e, goroutines: [] }) },
  { name: "without metrics", thin: (e) => ({ ...e, metrics: [] }) },
  { name: "without events", thin: (e) => without(e, "Event") },
  { name: "without Leases", thin: (e) => without(e, "Lease") },
  { name: "without the controller's log", thin: (e) => ({ ...e, logs: e.logs.filter(isOther) }) },
  { name: "without logs of a life before", thin: (e) => ({ ...e, logs: e.logs.filter(isNow) }) },
  { name: "without logs", thin: (e) => ({ ...e, logs: [] }) },
  { name: "with objects and metrics alone", thin: (e) => ({ ...e, logs: [], goroutines: [] }) },
  { name: "with logs of the last 10 min", thin: (e) => ({ ...e, logs: e.logs.map(lastLines) }) },
];

const isNow = (log: LogStream) => !log.previous;
const isOther = (log: LogStream) => !log.lines.some((line) => line.object !== undefined);

const without = (evidence: Evidence, kind: string): Evidence => ({
  ...evidence,
  kinds: evidence.kinds.filter((each) => each !== kind),
  objects: evidence.objects.filter((each) => each.kind !== kind),
});

function lastLines(log: LogStream): LogStream {
  const fromMs = (log.span?.lastMs ?? 0) - 10 * 60_000;
  return { ...log, lines: log.lines.filter((line) => line.atMs >= fromMs) };
}

function thins(recognizer: Recognizer, each: RecognizerCase): void {
  const whole = verdictOf(recognizer, each);
  test.each(thinnings)("$name: the same verdict or none", ({ thin }) => {
    const evidence = thin(each.scene.evidence());
    const verdict = judge(recognizer, know(evidence, momentOf(each)), momentOf(each));
    if (verdict.verdict === "inconclusive") return;
    expect(verdict.verdict).toBe(whole.verdict === "inconclusive" ? "inconclusive" : whole.verdict);
    if (verdict.verdict !== "recognized" || whole.verdict !== "recognized") return;
    const before = whole.findings.flatMap((finding) => finding.objects);
    const after = verdict.findings.flatMap((finding) => finding.objects);
    expect(before).toEqual(expect.arrayContaining(after));
  });
}

const FLOOD = `${"a=".repeat(10)} id id id not found ${"x ".repeat(512 * 1024)}`;

/** The same evidence with a megabyte of text wherever a message can be. */
function hostile(evidence: Evidence): Evidence {
  return {
    ...evidence,
    objects: evidence.objects.map((object) => flooded(object) as (typeof evidence.objects)[number]),
    logs: evidence.logs.map((log) => ({
      ...log,
      lines: log.lines.map((line) => ({ ...line, message: line.message + FLOOD, error: FLOOD })),
    })),
  };
}

function flooded(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(flooded);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      key === "message" && typeof each === "string" ? each + FLOOD : flooded(each),
    ]),
  );
}

function deepFrozen<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const each of Object.values(value)) deepFrozen(each);
  }
  return value;
}
