import { setTimeout as sleep } from "node:timers/promises";
import { canMount } from "../harness/mount.ts";
import { expected, type FaultName, faults, type StageName, stages } from "./cells.ts";
import { addFor, type Held, reach, release, type Stand } from "./hold.ts";
import { type StandOptions, withStand } from "./stand.ts";
import {
  doorIs,
  type Figures,
  runnerFrozen,
  runnerKilled,
  STAGE_LIMIT_MS,
  tofuFrozen,
  tofuKilled,
} from "./strikes.ts";
import {
  bothKilled,
  clockJumps,
  diskFull,
  engineKilled,
  sourceSilent,
} from "./strikes-together.ts";
import { Together } from "./together.ts";

export interface Cell {
  readonly stage: StageName;
  readonly fault: FaultName;
}

/** What came of a cell. */
export interface CellResult extends Cell {
  readonly came: "as-expected" | "failed" | "impossible" | "skipped";
  /** Why it failed, cannot be, or was skipped; "" if it came as expected. */
  readonly why: string;
  /** Milliseconds that were measured in it. */
  readonly figures: Figures;
}

export interface MatrixOptions {
  readonly only: (cell: Cell) => boolean;
  readonly say: (line: string) => void;
}

type Strike = (held: Held, together: Together<Held>) => Promise<Figures>;

/** Faults that one engine goes through, each of a run of its own or of all runs at once. */
interface Campaign {
  readonly options: StandOptions;
  readonly faults: Partial<Record<FaultName, Strike>>;
  /** All are struck at once, when each stands still in its stage. */
  readonly together: boolean;
}

const short: StandOptions = { stageLimitMs: STAGE_LIMIT_MS };
/** Of campaigns that go side by side. Those of one lane go one after the other. */
const lanes: readonly (readonly Campaign[])[] = [
  [
    { options: {}, faults: { "runner-frozen": runnerFrozen }, together: false },
    {
      options: {},
      faults: { "runner-killed": runnerKilled, "tofu-killed": tofuKilled },
      together: false,
    },
    { options: {}, faults: { "engine-killed": engineKilled }, together: true },
    { options: {}, faults: { "both-killed": bothKilled }, together: true },
    { options: { clock: true }, faults: { "clock-jumps": clockJumps }, together: true },
    { options: { source: true }, faults: { "source-silent": sourceSilent }, together: true },
    { options: { diskMib: 400 }, faults: { "disk-full": diskFull }, together: true },
  ],
  [
    {
      options: short,
      faults: {
        "tofu-frozen": tofuFrozen,
        "door-broken": doorIs("broken"),
        "door-silent": doorIs("silent"),
      },
      together: false,
    },
  ],
];

/** Cells of one engine that are on their way at once; most of them wait. */
const AT_ONCE = 8;
/** Between the beginnings of two cells: runs that start at once tell of the machine alone. */
const STAGGER_MS = 500;

/** Goes through the cells that are asked for, and answers for each of them. */
export async function runMatrix({ only, say }: MatrixOptions): Promise<CellResult[]> {
  const cells = faults.flatMap((fault) => stages.map((stage) => ({ stage, fault }))).filter(only);
  const results: CellResult[] = [];
  const mounts = canMount();
  const possible = cells.filter((cell) => {
    const what = expected(cell.stage, cell.fault);
    if (what.is === "impossible") {
      results.push({ ...cell, came: "impossible", why: what.why, figures: {} });
    } else if (cell.fault === "disk-full" && !mounts) {
      const why = "no file system may be mounted here: run as root, or with sudo";
      results.push({ ...cell, came: "skipped", why, figures: {} });
    } else return true;
    return false;
  });
  const tell = (result: CellResult) => {
    results.push(result);
    say(lineOf(result));
  };
  await Promise.all(
    lanes.map(async (lane) => {
      for (const campaign of lane) {
        const own = possible.filter(({ fault }) => campaign.faults[fault] !== undefined);
        if (own.length > 0) await runCampaign(campaign, own, tell);
      }
    }),
  );
  return results;
}

export function lineOf({ stage, fault, came, why, figures }: CellResult): string {
  const measured = Object.entries(figures).map(([name, ms]) => `${name} ${Math.round(ms)}`);
  return [`${fault} in ${stage}:`, came, ...measured, why].filter(Boolean).join(" ");
}

async function runCampaign(
  campaign: Campaign,
  cells: readonly Cell[],
  tell: (result: CellResult) => void,
): Promise<void> {
  const results = await withStand(campaign.options, async (stand) => {
    const places = new Places(campaign.together ? cells.length : AT_ONCE);
    const together = new Together<Held>(cells.length);
    // All modules stand in the first commit: a later one would have every object planned anew.
    const all = cells.map((cell) => ({ ...cell, subject: subjectOf(cell, stand) }));
    stand.world.estate.commit();
    await stand.world.start(stand.env);
    const found = await Promise.all(
      all.map((cell) =>
        places.in(async () => {
          const strike = campaign.faults[cell.fault] as Strike;
          const result = await runCell(cell, stand, (held) => strike(held, together));
          together.leave();
          return result;
        }),
      ),
    );
    const left = await leftovers(stand);
    if (left === "") return found;
    return found.map((each) => ({ ...each, came: "failed" as const, why: `${each.why}${left}` }));
  });
  for (const result of results) tell(result);
}

function subjectOf({ stage, fault }: Cell, stand: Stand) {
  return addFor(stage, `${fault}-${stage}`, stand);
}

async function runCell(
  { stage, fault, subject }: Cell & { readonly subject: ReturnType<typeof addFor> },
  stand: Stand,
  strike: (held: Held) => Promise<Figures>,
): Promise<CellResult> {
  let held: Held | undefined;
  try {
    held = await reach(stage, subject, stand);
    const figures = await strike(held);
    return { stage, fault, came: "as-expected", why: "", figures };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    const effects = JSON.stringify(subject.workspace.actions());
    const why = `${text}\nReady: ${subject.ready}\nEffects: ${effects}\n`;
    // Nothing of it is to be in the way of the others.
    if (held !== undefined) release(held);
    return { stage, fault, came: "failed", why, figures: {} };
  }
}

/** What is left when all is over: a place taken, a process, a folder, or word of a bug. */
async function leftovers({ world }: Stand): Promise<string> {
  try {
    await world.untilQuiet();
  } catch (error) {
    return `Afterwards: ${error instanceof Error ? error.message : error}`;
  }
  const bugs = world.bugs();
  return bugs.length === 0 ? "" : `The engine tells of a bug: ${bugs.join("\n")}`;
}

/** So many at once, and never two beginnings in one moment. */
class Places {
  #free: number;
  #begun: Promise<unknown> = Promise.resolve();
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async in<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free === 0) await new Promise<void>((go) => this.#waiting.push(go));
    else this.#free -= 1;
    const turn = this.#begun.then(() => sleep(STAGGER_MS));
    this.#begun = turn;
    await turn;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
