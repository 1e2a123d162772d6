import { type Cell, cells } from "./faults.ts";
import type { Violation } from "./oracles.ts";
import { type CrashPlan, crashScenario, quiet, type Scenario, scenarioOf } from "./scenario.ts";
import { type Lived, live } from "./simulate.ts";
import { liveStates } from "./state-worlds.ts";

/** What came of one seed. */
export interface SeedResult {
  readonly seed: number;
  readonly violations: readonly Violation[];
  readonly struck: readonly Cell[];
  /** What happened, if an oracle spoke; else nothing. */
  readonly story: readonly string[];
  readonly virtualMs: number;
  /** Which of the engine's writes it died at, and on which side, if this seed was about that. */
  readonly crashPoint?: string;
}

export interface TryOptions {
  /** What happened is told of a clean world too. */
  readonly tell?: boolean;
  /** What it strikes at, instead of what the seed says. */
  readonly aims?: readonly Cell[];
}

/** Of so many seeds in a row, one kills the engine at a write. */
const CRASH_EVERY = 4;

type End = Pick<Lived, "end" | "violations">;

/** How worlds end in which nothing goes wrong, by what is asked for in them. */
const quietEnds = new Map<string, Promise<End>>();

/** Lives through one world, and holds its end against that of the world without faults. */
export async function tryScenario(
  scenario: Scenario,
  options: TryOptions = {},
): Promise<SeedResult> {
  const lived = await live(scenario);
  const violations = [...lived.violations];
  if (violations.length === 0) {
    const still = await quietEnd(scenario);
    if (still.violations.length > 0) {
      const told = still.violations.map(({ oracle, message }) => `${oracle}: ${message}`);
      violations.push({ oracle: "same-end", message: `without any fault: ${told.join("; ")}` });
    } else if (lived.end !== still.end) {
      violations.push({ oracle: "same-end", message: `${lived.end}\ninstead of\n${still.end}` });
    }
  }
  const { seed } = scenario;
  const { struck, virtualMs } = lived;
  const story = violations.length === 0 && options.tell !== true ? [] : lived.story;
  return { seed, violations, struck, story, virtualMs };
}

/**
 * What a seed stands for: most strike at cells; every fourth kills the engine at one of its writes,
 * the next one with each. Besides, each lives through a world of states alone.
 */
export async function trySeed(seed: number, options: TryOptions = {}): Promise<SeedResult> {
  const result = await tryEngine(seed, options);
  const violations = [...result.violations, ...(await liveStates(seed))];
  return { ...result, violations };
}

async function tryEngine(seed: number, options: TryOptions): Promise<SeedResult> {
  const { aims } = options;
  if (aims !== undefined) return await tryScenario(scenarioOf(seed, aims), options);
  if (seed % CRASH_EVERY !== 0) return await tryScenario(scenarioOf(seed), options);
  const crash = await crashOf(seed / CRASH_EVERY);
  const result = await tryScenario(crashScenario(seed, crash), options);
  return { ...result, crashPoint: `${crash.side} ${crash.write}` };
}

/** Every moment at which an engine can die in the world that is made for it. */
export async function crashPoints(): Promise<number> {
  return 2 * (await countWrites());
}

async function crashOf(index: number): Promise<CrashPlan> {
  const writes = await countWrites();
  const point = index % (2 * writes);
  return { write: 1 + (point % writes), side: point < writes ? "before" : "after" };
}

let counted: Promise<number> | undefined;
function countWrites(): Promise<number> {
  counted ??= live(crashScenario(0)).then(({ writes }) => writes);
  return counted;
}

function quietEnd(scenario: Scenario): Promise<End> {
  const still = quiet(scenario);
  const deleted = still.acts.map(({ name }) => name);
  const key = JSON.stringify([still.objects, deleted]);
  const known =
    quietEnds.get(key) ?? live(still).then(({ end, violations }) => ({ end, violations }));
  quietEnds.set(key, known);
  return known;
}

/** How often each fault struck at each moment; a cell that never did stands as 0. */
export function cellCounts(
  results: Iterable<Pick<SeedResult, "struck">>,
): Record<string, Record<string, number>> {
  const counts: Record<string, Record<string, number>> = {};
  const add = ({ fault, moment }: Cell, count: number) => {
    const row = counts[fault] ?? {};
    row[moment] = (row[moment] ?? 0) + count;
    counts[fault] = row;
  };
  for (const cell of cells) add(cell, 0);
  for (const { struck } of results) for (const cell of struck) add(cell, 1);
  return counts;
}

/** Cells that struck in none of the worlds. */
export function unstruckCells(results: Iterable<Pick<SeedResult, "struck">>): Cell[] {
  const counts = cellCounts(results);
  return cells.filter(({ fault, moment }) => counts[fault]?.[moment] === 0);
}
