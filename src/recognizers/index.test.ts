import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { know } from "../evidence/knowledge.ts";
import type { RecognizerCase } from "./case.ts";
import { allCases } from "./cases.ts";
import { recognizers } from "./index.ts";
import { judge } from "./judge.ts";

const ids = recognizers.map((each) => each.id);

describe("the list", () => {
  test("is what lies in the folders, each once, in the order of the ids", () => {
    const areas = readdirSync(import.meta.dirname, { withFileTypes: true }).filter((each) =>
      each.isDirectory(),
    );
    const found = areas.flatMap(({ name }) =>
      readdirSync(join(import.meta.dirname, name))
        .filter((file) => file.endsWith(".test.ts"))
        .map((file) => `${name}/${file.replace(/\.test\.ts$/, "")}`),
    );
    expect(ids).toEqual(found.sort());
    expect(Object.keys(allCases).sort()).toEqual(ids);
  });

  test("has look-alikes that know of each other", () => {
    const oneSided = recognizers.flatMap(({ id, lookAlikes }) =>
      lookAlikes
        .filter((other) => {
          const found = recognizers.find((each) => each.id === other.id);
          return found?.lookAlikes.some((each) => each.id === id) !== true;
        })
        .map((other) => `${id} names ${other.id}, which does not name it`),
    );
    expect(oneSided).toEqual([]);
  });

  test("refers to nothing that does not exist", () => {
    const named = recognizers.flatMap(({ specialises = [], accompanies = [] }) => [
      ...specialises,
      ...accompanies,
    ]);
    expect(named.filter((id) => !ids.includes(id))).toEqual([]);
  });

  test("keeps old ids apart from those in use", () => {
    const past = recognizers.flatMap(({ pastIds = [] }) => pastIds);
    expect(past.filter((id) => ids.includes(id))).toEqual([]);
  });
});

/** Ids that a case is true for: its own if it is recognized, and those it declares. */
interface Row {
  readonly id: string;
  readonly each: RecognizerCase;
  readonly truth: readonly string[];
}

const rows: Row[] = recognizers.flatMap(({ id }) => {
  const cases = allCases[id];
  if (cases === undefined) return [];
  return [
    ...cases.recognized.map((each) => ({ id, each, truth: [id, ...(each.also ?? [])] })),
    ...[...cases.ruledOut, ...cases.inconclusive].map((each) => ({
      ...{ id, each },
      truth: each.also ?? [],
    })),
  ];
});

function spoken({ each }: Row): { recognized: string[]; undecided: string[] } {
  const { asOfMs } = each.scene;
  const known = know(each.scene.evidence(), { asOfMs, takenMs: asOfMs });
  const verdicts = recognizers.map((recognizer) => ({
    id: recognizer.id,
    verdict: judge(recognizer, known, { asOfMs }).verdict,
  }));
  const of = (verdict: string) =>
    verdicts.filter((one) => one.verdict === verdict).map((one) => one.id);
  return { recognized: of("recognized"), undecided: of("inconclusive") };
}

describe("all cases by all recognizers", () => {
  test.each(rows)("$id: $each.why", (row) => {
    expect(spoken(row).recognized.sort()).toEqual([...row.truth].sort());
  });

  test("give the confusion matrix that is kept", async () => {
    const lines = rows.map((row) => {
      const { recognized, undecided } = spoken(row);
      const maybe = undecided.length === 0 ? "" : ` | cannot tell: ${undecided.join(" ")}`;
      return `${row.id}: ${row.each.why}\n    ${recognized.join(" ") || "nothing"}${maybe}`;
    });
    await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot("confusion-matrix.txt");
  });
});
