import { type Cell, cells, type FaultName } from "./faults.ts";
import { allMutants, type Mutant } from "./mutant-loader.ts";
import type { Oracle } from "./oracles.ts";
import { tryTasks } from "./pool.ts";

/** Whether the simulation sees that a bound or a guard is missing, and by what. */
export interface MutantResult {
  readonly mutant: string;
  readonly kind: Mutant["kind"];
  /** What spoke first; undefined: nobody, and that is a fault of the simulation or of the code. */
  readonly caughtBy: Oracle | "a crash" | undefined;
  readonly seed: number | undefined;
  /** Worlds that were lived through. */
  readonly worlds: number;
}

/** Seeds aimed at faults in which the mutant matters, and then seeds of all kinds. */
const AIMED = 40;
const OTHERS = 120;
/** Harm is looked for in so many worlds, if it is plain that a wait is too long. */
const BOUNDED = 30;

/**
 * Where a mutant shows soonest: faults, and the moments they are tried at. This only saves time; a
 * mutant without a row is tried at everything.
 */
const hints: Readonly<Record<string, readonly [FaultName[], RegExp, FaultName?]>> = {
  bringUpMs: [["runner-mute"], /launch/],
  giveUpAfterMs: [["runner-frozen-for-good"], /plan/],
  interruptGraceMs: [["run-frozen-for-good"], /apply\/apply/],
  healthCheckMaxMs: [["watches-broken"], /plan/],
  stageLimitMs: [["step-endless"], /plan\/(init|show|artifact|workspace)/],
  overrunGraceMs: [["step-endless"], /plan\/(init|show|artifact|workspace)/],
  unreachableAfterMs: [["runner-frozen-for-good", "run-cut-off"], /plan/],
  suspectAfterMs: [["runner-frozen-for-good", "run-cut-off"], /plan/],
  effectPauseMs: [["writes-fail", "writes-hang"], /collect/],
  lostRunPauseMs: [["runner-and-tofu-killed"], /plan/],
  lostRunPauseMaxMs: [["runners-die"], /plan\/(launch|init)/],
  slotPauseMs: [["watches-broken"], /plan/],
  passMs: [["writes-slow"], /./],
  gatherMs: [["reads-hang"], /./],
  effectMs: [["writes-hang"], /collect/],
  storeMs: [["writes-hang"], /./],
  callMs: [["calls-hang"], /./],
  helloMs: [["runner-frozen-for-good", "calls-hang"], /launch|artifact/],
  prepareMs: [["reads-hang"], /launch/],
  sendingMs: [["source-endless", "calls-hang"], /launch/],
  startMs: [["calls-hang"], /launch/],
  streamSilenceMs: [["calls-hang", "run-cut-off"], /./],
  listMs: [["watches-expired"], /./, "reads-hang"],
  watchSilenceMs: [["watches-silent"], /./],
  relistMs: [["events-lost"], /apply\/apply/, "tofu-killed"],
  sweepMs: [["machine-asleep", "clock-forward"], /rest/],
  isEpochCurrent: [["engine-outlived"], /plan|apply/],
  isPassOpen: [["engine-replaced"], /collect/, "writes-slow"],
  hasNotBegun: [["run-vanished"], /apply/],
  isAsIntended: [["engine-killed"], /launch/],
  isPlanShown: [["plan-swapped"], /apply\/launch/, "engine-killed"],
  isPlanCurrent: [["store-away", "source-fails"], /plan\/(show|collect)/],
  isOwnLock: [["foreign-lock"], /./],
  isResultKnown: [["tofu-killed", "runner-and-tofu-killed"], /apply\/apply/],
  isProvenDead: [["runner-killed"], /apply/],
  hasSlot: [["watches-broken"], /plan/],
  isNotInterrupted: [["runner-frozen-for-good"], /apply\/apply/],
  hasNoDependants: [["events-doubled"], /destroy/],
  backoffCapMs: [["store-away", "writes-fail"], /./],
};

export interface MutantOptions {
  /** Names; all if left out. */
  readonly only?: readonly string[];
  readonly onResult?: (result: MutantResult) => void;
}

/** Tries every mutant, or those named; each until an oracle speaks. */
export async function tryMutants(
  jobs: number,
  options: MutantOptions = {},
): Promise<MutantResult[]> {
  const { only = [], onResult } = options;
  const mutants = allMutants().filter(({ name }) => only.length === 0 || only.includes(name));
  const results: MutantResult[] = [];
  const rest = [...mutants];
  const work = async () => {
    for (let mutant = rest.shift(); mutant !== undefined; mutant = rest.shift()) {
      const result = await tryMutant(mutant);
      results.push(result);
      onResult?.(result);
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  const order = mutants.map(({ name }) => name);
  return results.sort((a, b) => order.indexOf(a.mutant) - order.indexOf(b.mutant));
}

async function tryMutant(mutant: Mutant): Promise<MutantResult> {
  const { name, kind } = mutant;
  const aimed = aimedAt(name);
  const tasks = [
    ...Array.from({ length: aimed.length > 0 ? AIMED : 0 }, (_, index) => {
      return { seed: 1_000_001 + index, aims: aimed[index % aimed.length] ?? [] };
    }),
    ...Array.from({ length: OTHERS }, (_, index) => ({ seed: 1 + index })),
  ];
  let worlds = 0;
  let caught: { by: Oracle; seed: number } | undefined;
  let bounded: { by: Oracle; seed: number } | undefined;
  try {
    await tryTasks(tasks, {
      jobs: 1,
      batch: 2,
      workerData: { mutant },
      onResult: ({ seed, violations }) => {
        worlds += 1;
        // That a wait is too long is plain to see; that harm comes of it is the better proof.
        const spoke = violations.find(({ oracle }) => oracle !== "bounded-wait");
        if (spoke !== undefined) caught ??= { by: spoke.oracle, seed };
        else if (violations.length > 0) bounded ??= { by: "bounded-wait", seed };
        return caught === undefined && (bounded === undefined || worlds < BOUNDED);
      },
    });
  } catch {
    return { mutant: name, kind, caughtBy: "a crash", seed: undefined, worlds };
  }
  const seen = caught ?? bounded;
  return { mutant: name, kind, caughtBy: seen?.by, seed: seen?.seed, worlds };
}

/** Cells to aim at, one after the other; a second fault strikes at the same moment. */
function aimedAt(name: string): Cell[][] {
  const hint = hints[name];
  if (hint === undefined) return [];
  const [faults, moments, other] = hint;
  const found = cells.filter((cell) => faults.includes(cell.fault) && moments.test(cell.moment));
  return found.map((cell) =>
    other === undefined ? [cell] : [{ fault: other, moment: cell.moment }, cell],
  );
}
