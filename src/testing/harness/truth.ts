import { REASON } from "../../api/names.ts";
import type { Terraform } from "../../api/terraform.ts";
import { readyText } from "./subject.ts";

/** From a SIGKILL, or from the engine answering again, until a status tells what has happened. */
export const TRUTH_MS = 1_000;

/** Whether what is stored of the object tells that this run has lost its runner. */
export function tellsLoss(object: Terraform, runId: string): boolean {
  const { run, lastRun } = object.status ?? {};
  const ready = readyText(object);
  const lost = /runner (was killed|was lost|is gone)/i;
  if (lastRun?.id === runId) return lost.test(lastRun.message);
  if (run?.id !== runId || run.verdict === "alive" || run.verdict === "suspect") return false;
  return ready.startsWith(`Unknown ${REASON.runnerLost}: `) && lost.test(ready);
}

/** How long the truth took, each time; the largest is what counts. */
export class Truths {
  readonly #samples: { readonly what: string; readonly ms: number }[] = [];

  add(what: string, ms: number): void {
    this.#samples.push({ what, ms: Math.max(0, ms) });
  }
  get count(): number {
    return this.#samples.length;
  }
  /** The worst, and how many there were. */
  get text(): string {
    const worst = this.#samples.toSorted((a, b) => b.ms - a.ms);
    const [first] = worst;
    const median = worst[Math.floor(worst.length / 2)];
    return first === undefined || median === undefined
      ? "nothing was measured"
      : `${worst.length} times the truth: the slowest after ${Math.round(first.ms)} ms ` +
          `(${first.what}), half within ${Math.round(median.ms)} ms`;
  }
  /** What was told too late. */
  get late(): string[] {
    const late = this.#samples.filter(({ ms }) => ms > TRUTH_MS);
    return late.map(({ what, ms }) => `${what}: ${Math.round(ms)} ms`);
  }
}
