import { cellCounts, type SeedResult } from "./campaign.ts";
import { oracles } from "./oracles.ts";

/** What a campaign came to. */
export interface Summary {
  readonly seeds: number;
  readonly start: number;
  readonly failures: number;
  readonly failedSeeds: readonly number[];
  /** How often each fault struck at each moment. */
  readonly struck: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Cells that never struck. */
  readonly unstruck: readonly string[];
  /** Such as "212/212". */
  readonly crashPoints: string;
  readonly virtualHours: number;
}

/** So many seeds strike every cell and kill the engine at every write. */
export const FULL_CAMPAIGN = 2_000;

export function summarizeSeeds(results: readonly SeedResult[], crashPoints: number): Summary {
  const failed = results.filter(({ violations }) => violations.length > 0);
  const struck = cellCounts(results);
  const unstruck = Object.entries(struck).flatMap(([fault, counts]) =>
    Object.entries(counts).flatMap(([moment, count]) =>
      count === 0 ? [`${fault}×${moment}`] : [],
    ),
  );
  const covered = new Set(results.flatMap(({ crashPoint }) => crashPoint ?? [])).size;
  const virtualMs = results.reduce((sum, each) => sum + each.virtualMs, 0);
  return {
    seeds: results.length,
    start: results[0]?.seed ?? 0,
    failures: failed.length,
    failedSeeds: failed.map(({ seed }) => seed),
    struck,
    unstruck,
    crashPoints: `${covered}/${crashPoints}`,
    virtualHours: Math.round(virtualMs / 36_000) / 100,
  };
}

/** Whether a campaign is clean; one that is long enough must also have struck everywhere. */
export function isClean({ seeds, failures, unstruck, crashPoints }: Summary): boolean {
  const [covered, all] = crashPoints.split("/");
  const complete = unstruck.length === 0 && covered === all;
  return failures === 0 && (seeds < FULL_CAMPAIGN || complete);
}

/** A failure that can be read in a minute: which oracle spoke, and what had happened. */
export function failureText({ seed, violations, story }: SeedResult): string {
  const spoke = violations.map(
    ({ oracle, message }) => `  ${oracle} (${oracles[oracle]}):\n    ${message}\n`,
  );
  const lines = story.map((line) => `  ${line}\n`);
  return (
    `Seed ${seed} failed. What spoke:\n${spoke.join("")}What happened:\n${lines.join("")}` +
    `Again: npm run -s sim -- --replay ${seed}\n`
  );
}
