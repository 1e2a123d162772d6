import type { Stage, TerraformSpec } from "../../api/terraform.ts";
import type { Random } from "../../ports/clock.ts";
import { seededRandom } from "../fakes/clock.ts";
import { type Cell, cells, type FaultName, faults } from "./faults.ts";
import type { Moment } from "./moments.ts";

/** What is to happen in one world: all of it follows from the seed. */
export interface Scenario {
  readonly seed: number;
  readonly objects: readonly ObjectPlan[];
  readonly acts: readonly Act[];
  readonly strikes: readonly Strike[];
  readonly maxRuns: number;
  readonly stageMs: Partial<Record<Stage, number>>;
  readonly launchMs: number;
  /** The engine dies at this write, instead of all strikes. */
  readonly crash?: CrashPlan;
}

export interface ObjectPlan {
  readonly name: string;
  readonly spec: Partial<TerraformSpec>;
}

/** What people do, one after the other. */
export interface Act {
  readonly do: "commit" | "edit" | "request" | "suspend" | "resume" | "secret" | "delete";
  readonly name: string;
  /** After the act before it, in milliseconds. */
  readonly afterMs: number;
}

export interface Strike {
  readonly fault: FaultName;
  readonly moment: Moment;
  /** Where in the stage, in [0, 1). */
  readonly when: number;
  /** How long it lasts, as a share of the longest. */
  readonly lasts: number;
  readonly seed: number;
}

export interface CrashPlan {
  /** Counts the engine's writes from 1. */
  readonly write: number;
  readonly side: "before" | "after";
}

/** What every world has: a source, and a Secret with a variable. */
export const SOURCE = "code";
export const INPUT = "input";

/** A check that would wait for a day if it were let. */
const CHECK = { name: "port", type: "tcp", address: "127.0.0.1:80", timeout: "24h" } as const;
const STRIKES_MAX = 3;
/** From cell to cell in such steps, so that the faults of a world have little in common. */
const STRIDE = 7_919;
const FIRST = "a";

/**
 * The world of a seed. Seeds in a row aim at cells in a row, so that a campaign that is long enough
 * strikes every cell; besides that everything is left to chance.
 */
export function scenarioOf(seed: number, aims: readonly Cell[] = aimsOf(seed)): Scenario {
  const random = seededRandom(seed);
  const chance = (share: number) => random.next() < share;
  const strikes = aims.map((cell): Strike => strikeOf(cell, random));
  const wants = (text: string) => strikes.some(({ moment }) => moment.startsWith(text));
  const first = specOf(FIRST, random, wants("destroy"));
  const objects: ObjectPlan[] = [{ name: FIRST, spec: first }];
  if (chance(0.3)) {
    const dependsOn = chance(0.5) ? [{ name: FIRST }] : [];
    objects.push({ name: "b", spec: { ...specOf("b", random, false), dependsOn } });
  }
  const mayLeave = !wants("plan/outputs");
  const acts = actsOf(random, objects, wants("destroy") ? "must" : mayLeave ? "may" : "stays");
  return {
    seed,
    objects,
    acts,
    strikes,
    maxRuns: 1 + Math.floor(random.next() * 2),
    stageMs: stageTimes(random),
    launchMs: Math.floor(between(random, 50, 2_000)),
  };
}

/** The cells a seed aims at. */
export function aimsOf(seed: number): Cell[] {
  const random = seededRandom(seed ^ 0x5eed);
  const count = 1 + Math.floor(random.next() * STRIKES_MAX);
  const places = Array.from({ length: count }, (_, index) => seed * STRIKES_MAX + index);
  return places.flatMap((place) => cells[(Math.abs(place) * STRIDE) % cells.length] ?? []);
}

function strikeOf(cell: Cell, random: Random): Strike {
  const seed = Math.floor(random.next() * 2 ** 31);
  return { ...cell, when: random.next() * 0.95, lasts: random.next(), seed };
}

function specOf(name: string, random: Random, mustDestroy: boolean): Partial<TerraformSpec> {
  const chance = (share: number) => random.next() < share;
  return {
    interval: "10m",
    approvePlan: chance(0.7) ? "auto" : "",
    ...(chance(0.4) ? { writeOutputsToSecret: { name: `outputs-of-${name}` } } : {}),
    ...(chance(0.3) ? { varsFrom: [{ kind: "Secret" as const, name: INPUT }] } : {}),
    ...(chance(0.3) ? { retryInterval: "5s" } : {}),
    ...(chance(0.2) ? { healthChecks: [{ ...CHECK }] } : {}),
    ...(mustDestroy || chance(0.3) ? { destroyResourcesOnDeletion: true } : {}),
  };
}

function actsOf(
  random: Random,
  objects: readonly ObjectPlan[],
  deletion: "must" | "may" | "stays",
): Act[] {
  const count = Math.floor(random.next() * 3);
  const kinds = ["commit", "edit", "request", "secret", "suspend"] as const;
  const acts: Act[] = [];
  for (let index = 0; index < count; index++) {
    const name = pick(objects, random)?.name ?? FIRST;
    const act = pick(kinds, random) ?? "commit";
    acts.push({ do: act, name, afterMs: between(random, 0, 25_000) });
    if (act === "suspend") acts.push({ do: "resume", name, afterMs: between(random, 0, 25_000) });
  }
  if (deletion === "stays" || (deletion === "may" && random.next() >= 0.2)) return acts;
  acts.push({ do: "delete", name: FIRST, afterMs: between(random, 20_000, 40_000) });
  // The first waits for those that depend on it.
  const dependant = objects.find(({ spec }) => (spec.dependsOn ?? []).length > 0);
  if (dependant !== undefined) {
    acts.push({ do: "delete", name: dependant.name, afterMs: between(random, 0, 20_000) });
  }
  return acts;
}

function stageTimes(random: Random): Partial<Record<Stage, number>> {
  const short = () => Math.floor(between(random, 200, 3_000));
  return {
    artifact: short(),
    init: short(),
    workspace: short(),
    plan: short(),
    show: short(),
    apply: Math.floor(between(random, 2_000, 15_000)),
    outputs: short(),
  };
}

/** An object made, changed and destroyed, while the engine dies at one of its writes. */
export function crashScenario(seed: number, crash?: CrashPlan): Scenario {
  const spec = {
    interval: "10m",
    approvePlan: "auto",
    writeOutputsToSecret: { name: `outputs-of-${FIRST}` },
    destroyResourcesOnDeletion: true,
  };
  return {
    seed,
    objects: [{ name: FIRST, spec }],
    acts: [
      { do: "commit", name: FIRST, afterMs: 10_000 },
      { do: "delete", name: FIRST, afterMs: 10_000 },
    ],
    strikes: [],
    maxRuns: 1,
    stageMs: { apply: 1_000 },
    launchMs: 50,
    ...(crash === undefined ? {} : { crash }),
  };
}

/** The same objects, to the same end, and nothing else happens. */
export function quiet({ objects, acts }: Scenario): Scenario {
  return {
    seed: 0,
    objects,
    acts: acts.filter((act) => act.do === "delete"),
    strikes: [],
    maxRuns: 2,
    stageMs: {},
    launchMs: 50,
  };
}

/** How long what a strike leaves behind may take to be mended, in milliseconds. */
export function mendedMs({ strikes }: Scenario): number {
  const each = strikes.map(({ fault }) => faults[fault].mendedMs ?? 0);
  return Math.max(0, ...each);
}

export function between(random: Random, least: number, most: number): number {
  return least + random.next() * (most - least);
}

export function pick<T>(from: readonly T[], random: Random): T | undefined {
  return from[Math.floor(random.next() * from.length)];
}
