import { keyOf, keyText, type ObjectKey } from "../api/kinds.ts";
import type { RunStatus, Terraform } from "../api/terraform.ts";
import type { RunFact } from "../domain/facts.ts";
import { hasSlot } from "../domain/guards.ts";
import type { EngineLoad } from "../ports/engine.ts";
import type { Meters } from "../ports/meters.ts";
import type { LiveRun, LiveRuns } from "../ports/runs.ts";
import { messageOf } from "./bounded.ts";
import type { RunUnderWatch } from "./health.ts";
import { RunMeter } from "./run-meter.ts";
import { type RunBackground, Supervisor, type SupervisorPorts } from "./supervisor.ts";

/** How often silence is looked for besides, which has no event: a rhythm, not a bound. */
const TICK_MS = 500;

/**
 * One supervisor for every run that a status names, and the count of runs that go on. Passes ask
 * for facts; whoever notices a change asks for a pass.
 */
export class Supervisors implements LiveRuns {
  readonly #ports: SupervisorPorts;
  readonly #maxRuns: number;
  readonly #byKey = new Map<string, Supervisor>();
  /** Whom a bug ended: nobody follows their runs. */
  readonly #left = new WeakSet<Supervisor>();
  readonly #meter: RunMeter;
  /** Runs that a pass is about to store: they count from the moment they are claimed. */
  readonly #claims = new Set<string>();
  /** Keys that found no slot, in the order they came. */
  readonly #waiting = new Set<string>();

  constructor(ports: SupervisorPorts & { readonly meters: Meters }, maxRuns: number) {
    const changed = (key: ObjectKey) => {
      const fact = this.fact(key);
      if (fact !== undefined) this.#meter.heard(key, fact);
      ports.changed(key);
    };
    this.#ports = { ...ports, changed };
    this.#meter = new RunMeter(ports);
    this.#maxRuns = maxRuns;
  }

  /** Follows the run that the status names, and no other run of the object. */
  follow(terraform: Terraform): void {
    const key = keyOf(terraform);
    const run = terraform.status?.run;
    const current = this.#byKey.get(keyText(key));
    if (current?.run.id === run?.id) return;
    this.#leave(key);
    const about = { planned: plannedChanges(terraform), uid: terraform.metadata.uid };
    if (run !== undefined) this.#begin(key, run, about);
  }

  /** The object is gone, or names no run. */
  leave(key: ObjectKey): void {
    this.#leave(key);
    this.#meter.forget(key);
    this.#waiting.delete(keyText(key));
  }

  fact(key: ObjectKey): RunFact | undefined {
    return this.#byKey.get(keyText(key))?.fact();
  }

  describe(key: ObjectKey): LiveRun | undefined {
    return this.#byKey.get(keyText(key))?.live();
  }

  /** What is known of every run. */
  facts(): RunFact[] {
    return [...this.#byKey.values()].map((each) => each.fact());
  }

  /** What the engine's health is judged by. */
  underWatch(): RunUnderWatch[] {
    return [...this.#byKey.values()].map((each) => {
      const { id: runId, stage, stageMs, outcome } = each.fact();
      const isLeft = this.#left.has(each);
      return {
        ...each.key,
        runId,
        stage,
        stageMs: stageMs ?? 0,
        isOver: outcome !== undefined,
        isLeft,
      };
    });
  }

  /** Objects that have a run. */
  count(): number {
    return this.#byKey.size;
  }

  load(): EngineLoad {
    const runs = [...this.#byKey.values()].map(({ key, run }) => ({ ...key, runId: run.id }));
    return { runs, slots: this.#slots() };
  }

  /** Whether one more run may start. One that finds no slot is asked again when there is one. */
  slotFree(key: ObjectKey): boolean {
    this.#waiting.delete(keyText(key));
    if (hasSlot(this.#slots())) return true;
    this.#waiting.add(keyText(key));
    return false;
  }

  /** Takes a slot for a run that is about to be stored; false if another was faster. */
  claim(runId: string): boolean {
    if (!hasSlot(this.#slots())) return false;
    this.#claims.add(runId);
    return true;
  }

  /** The pass that claimed is over: the run has a supervisor now, or never came to be. */
  settle(runId: string): void {
    this.#claims.delete(runId);
  }

  /** Keys that may be asked again, as many as there are slots. */
  wake(): string[] {
    const woken = [...this.#waiting].slice(0, Math.max(0, this.#freeSlots()));
    for (const key of woken) this.#waiting.delete(key);
    return woken;
  }

  /** Runs about which the platform has news are looked at at once. */
  async news(runId: string): Promise<void> {
    for (const supervisor of this.#byKey.values()) {
      if (supervisor.run.id === runId) await supervisor.news();
    }
  }

  /** Lets silence be noticed, until the signal fires. */
  async tick(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      for (const supervisor of this.#byKey.values()) supervisor.tell();
      await this.#ports.clock.sleep(TICK_MS, signal);
    }
  }

  /** Leaves all runs to themselves; they go on. */
  async detach(): Promise<void> {
    const all = [...this.#byKey.values()];
    this.#byKey.clear();
    await Promise.all(all.map((supervisor) => supervisor.detach()));
  }

  #slots(): { taken: number; all: number } {
    const all = this.#maxRuns;
    return { taken: all - this.#freeSlots(), all };
  }

  #freeSlots(): number {
    const held = [...this.#byKey.values()].filter((each) => each.holdsSlot());
    const claimed = [...this.#claims].filter((id) => held.every((each) => each.run.id !== id));
    return this.#maxRuns - held.length - claimed.length;
  }

  #begin(key: ObjectKey, run: RunStatus, about: RunBackground): void {
    const supervisor = new Supervisor(key, run, about, this.#ports);
    this.#byKey.set(keyText(key), supervisor);
    this.#meter.began(key, run);
    supervisor.follow().catch((error: unknown) => {
      this.#left.add(supervisor);
      this.#ports.log.error("A supervisor ended by a bug", {
        object: keyText(key),
        run: run.id,
        error: messageOf(error),
      });
    });
  }

  #leave(key: ObjectKey): void {
    const supervisor = this.#byKey.get(keyText(key));
    this.#byKey.delete(keyText(key));
    if (supervisor !== undefined) this.#meter.ended(key);
    supervisor?.detach().catch(() => {});
  }
}

/** How many resources the pending plan changes, as its summary says. */
function plannedChanges(terraform: Terraform): number {
  const summary = terraform.status?.plan?.summary ?? "";
  const counts = [...summary.matchAll(/(\d+) to (?:add|change|destroy)/g)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}
