import { createLoader } from "../../adapters/bundle/load.ts";
import type { Evidence } from "../../evidence/model.ts";
import { type Diagnosis, diagnose } from "../../recognizers/diagnose.ts";
import { recognizers } from "../../recognizers/index.ts";
import { type Dump, filesOf } from "./dump.ts";
import { faults, type MadeWorld, makeWorld } from "./generate.ts";
import { nameUnder, type Thinning, thinned, thinnings } from "./thin.ts";
import type { Outcome, Truth } from "./world.ts";

/** How often a doctor was right. */
export interface Score {
  /** Of what it said, how much is true. */
  readonly precision: number;
  /** Of what is true, how much it said; where a needed fact is out, "cannot tell" is right. */
  readonly recall: number;
  readonly right: number;
  /** Said and not true. */
  readonly wrong: number;
  /** True and neither said nor called undecided. */
  readonly missed: number;
  /** Rightly called undecided. */
  readonly undecided: number;
}

export interface Mistake {
  readonly seed: number;
  readonly thinning: Thinning;
  readonly id: string;
  readonly object: string;
  readonly kind: "wrong" | "missed";
  readonly faults: readonly string[];
}

export interface Scores extends Score {
  readonly worlds: number;
  readonly perRecognizer: Readonly<Record<string, Score>>;
  readonly perThinning: Readonly<Record<string, Score>>;
  /** Kinds of faults that never came up: the score says nothing of them. */
  readonly untried: readonly string[];
  readonly mistakes: readonly Mistake[];
}

/** Judges the worlds of some seeds in every thinning. */
export async function scoreSeeds(seeds: readonly number[], size?: number): Promise<Scores> {
  const all = new Tally();
  const perRecognizer = new Map(recognizers.map((each) => [each.id, new Tally()]));
  const perThinning = new Map(thinnings.map((each) => [each as string, new Tally()]));
  const mistakes: Mistake[] = [];
  const tried = new Set<string>();
  for (const seed of seeds) {
    const world = makeWorld(seed, size);
    for (const each of world.faults) tried.add(each);
    for (const thinning of thinnings) {
      for (const row of await scoreWorld(world, thinning)) {
        const tallies = [all, perRecognizer.get(row.id), perThinning.get(thinning)];
        for (const tally of tallies) tally?.add(row.is);
        if (row.is !== "wrong" && row.is !== "missed") continue;
        const { id, object, is: kind } = row;
        mistakes.push({ seed, thinning, id, object, kind, faults: world.faults });
      }
    }
  }
  return {
    ...all.score(),
    worlds: seeds.length,
    perRecognizer: Object.fromEntries([...perRecognizer].map(([id, own]) => [id, own.score()])),
    perThinning: Object.fromEntries([...perThinning].map(([name, own]) => [name, own.score()])),
    untried: faults.map((each) => each.name).filter((name) => !tried.has(name)),
    mistakes,
  };
}

interface Row {
  readonly id: string;
  readonly object: string;
  readonly is: "right" | "wrong" | "missed" | "undecided";
}

/** What is said of a world against what is true of it. */
export async function scoreWorld(world: MadeWorld, thinning: Thinning): Promise<Row[]> {
  const diagnosis = judged(await evidenceOf(thinned(world.dump, thinning)));
  const said = new Map(
    diagnosis.findings.map(({ recognizer, objects }) => {
      const object = objects[0] ?? "";
      return [`${recognizer.id} ${object}`, { id: recognizer.id, object }];
    }),
  );
  const rows: Row[] = [];
  const free = new Set(
    world.unscored.map(({ id, object }) => `${id} ${nameUnder(thinning, object)}`),
  );
  for (const truth of world.truths) {
    const object = nameUnder(thinning, truth.object);
    const key = `${truth.id} ${object}`;
    const outcome = truth.under[thinning] ?? "recognized";
    if (outcome === "open") free.add(key);
    if (outcome === "open" || outcome === "gone") continue;
    const is = said.delete(key) ? "right" : unsaid(diagnosis, { ...truth, object }, outcome);
    rows.push({ id: truth.id, object, is });
  }
  for (const [key, { id, object }] of said) {
    if (!free.has(key)) rows.push({ id, object, is: "wrong" });
  }
  return rows;
}

/** True and not said: right only where that was allowed and is told as undecided. */
function unsaid(diagnosis: Diagnosis, truth: Truth, outcome: Outcome): Row["is"] {
  if (outcome !== "either") return "missed";
  const told = diagnosis.notJudged.some(
    ({ recognizer, objects }) =>
      recognizer.id === truth.id && (objects.length === 0 || objects.includes(truth.object)),
  );
  return told ? "undecided" : "missed";
}

/** A dump as the doctor loads it. */
export async function evidenceOf(dump: Dump): Promise<Evidence> {
  const loader = createLoader();
  const files = filesOf(dump);
  for (const holds of ["manifest", "objects", "text"] as const) {
    for (const { path, text } of files.filter((each) => holdsOf(each.path) === holds)) {
      await loader.put({ path, origin: path, holds, bytes: bytesOf(text) });
    }
  }
  return loader.evidence();
}

function holdsOf(path: string): "manifest" | "objects" | "text" {
  if (path === "manifest.json") return "manifest";
  return path.startsWith("objects/") ? "objects" : "text";
}

async function* bytesOf(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

function judged(evidence: Evidence): Diagnosis {
  const atMs = evidence.taken?.atMs ?? 0;
  const moment = { asOfMs: atMs, takenMs: atMs, asOfFrom: "manifest" } as const;
  return diagnose(evidence, moment, recognizers);
}

class Tally {
  readonly #counts = { right: 0, wrong: 0, missed: 0, undecided: 0 };

  add(is: Row["is"]): void {
    this.#counts[is] += 1;
  }

  score(): Score {
    const { right, wrong, missed, undecided } = this.#counts;
    const share = (part: number, whole: number) => (whole === 0 ? 1 : part / whole);
    return {
      precision: share(right, right + wrong),
      recall: share(right + undecided, right + undecided + missed),
      ...this.#counts,
    };
  }
}
