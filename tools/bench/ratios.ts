import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type BenchEngine, isSettled } from "./engine.ts";

/**
 * Bare OpenTofu against Nigari, in turns, so that a machine's mood strikes both alike.
 *
 * Bare is what a person's script does: in the folder of the module, with a state file beside it,
 * `init`, `plan -out`, `apply` of that plan; later `init` and `plan -detailed-exitcode` in the same
 * folder, with what the first init left there. Nigari is timed from the write of the object (or of
 * the request to look) until its status says that it is done: with the archive, two runners, the
 * plan kept, the state's versions and what else a script does not do.
 */
export interface Pair {
  readonly bare: { readonly applyMs: number; readonly noChangeMs: number; readonly planMs: number };
  readonly nigari: { readonly applyMs: number; readonly noChangeMs: number };
}

export async function pairs(
  engine: BenchEngine,
  {
    module,
    text,
    rounds,
    scratch,
  }: {
    readonly module: string;
    readonly text: string;
    readonly rounds: number;
    readonly scratch: string;
  },
): Promise<Pair[]> {
  const found: Pair[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const folder = join(scratch, `bare-${module}-${round}`);
    const name = `${module}-${round}`;
    // Who comes first changes from round to round.
    if (round % 2 === 0) {
      const bare = runBare(engine, folder, text);
      found.push({ bare, nigari: await runNigari(engine, name, module) });
    } else {
      const nigari = await runNigari(engine, name, module);
      found.push({ bare: runBare(engine, folder, text), nigari });
    }
  }
  return found;
}

function runBare(engine: BenchEngine, folder: string, text: string): Pair["bare"] {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "main.tf"), text);
  const tofu = (...args: string[]) => timed(() => run(engine, folder, args));
  const initMs = tofu("init", "-input=false", "-no-color");
  const planMs = tofu("plan", "-input=false", "-no-color", "-out=tfplan");
  const applyMs = tofu("apply", "-input=false", "-no-color", "tfplan");
  const againMs =
    tofu("init", "-input=false", "-no-color") +
    tofu("plan", "-input=false", "-no-color", "-detailed-exitcode");
  rmSync(folder, { recursive: true });
  return { applyMs: initMs + planMs + applyMs, noChangeMs: againMs, planMs };
}

function run(engine: BenchEngine, cwd: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(engine.tofu, args, { cwd, env: engine.env });
  if (status !== 0) throw new Error(`tofu ${args.join(" ")}: ${stderr}`);
}

function timed(work: () => void): number {
  const begun = performance.now();
  work();
  return performance.now() - begun;
}

async function runNigari(engine: BenchEngine, name: string, path: string): Promise<Pair["nigari"]> {
  const created = performance.now();
  const watching = engine.until(name, (object) => isSettled(object));
  await engine.create(name, { path });
  await watching;
  const applyMs = performance.now() - created;
  const asked = performance.now();
  const at = await engine.request(name);
  await engine.until(name, (object) => isSettled(object, at));
  const noChangeMs = performance.now() - asked;
  await engine.remove(name);
  return { applyMs, noChangeMs };
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Between the two nearest, for a median; the higher one otherwise. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = share * (sorted.length - 1);
  const [low = Number.NaN, high = low] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return share === 0.5 ? (low + high) / 2 : high;
}
