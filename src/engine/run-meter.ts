import { keyText, type ObjectKey } from "../api/kinds.ts";
import type { LivenessVerdict, RunStatus, Stage } from "../api/terraform.ts";
import type { RunFact } from "../domain/facts.ts";
import type { Clock } from "../ports/clock.ts";
import type { Meters } from "../ports/meters.ts";

interface Seen {
  readonly run: RunStatus;
  stage: Stage;
  stageAtMs: number;
  verdict: LivenessVerdict;
  /** When the run was found unreachable or dead; undefined: it is not. */
  lostAtMs: number | undefined;
  isOver: boolean;
}

/** Counts what becomes of runs: stages, verdicts, outcomes, and how long recovery takes. */
export class RunMeter {
  readonly #clock: Clock;
  readonly #meters: Meters;
  readonly #byKey = new Map<string, Seen>();
  /** Objects whose last run was lost, and since when. */
  readonly #recovering = new Map<string, number>();

  constructor(ports: { readonly clock: Clock; readonly meters: Meters }) {
    this.#clock = ports.clock;
    this.#meters = ports.meters;
  }

  began(key: ObjectKey, run: RunStatus): void {
    const stageAtMs = this.#clock.monotonic();
    const seen: Seen = {
      run,
      stage: run.stage,
      stageAtMs,
      verdict: "alive",
      lostAtMs: undefined,
      isOver: false,
    };
    this.#byKey.set(keyText(key), seen);
    this.#meters.add("nigari_runs_started_total", { operation: run.operation });
  }

  /** Something about the run has changed. */
  heard(key: ObjectKey, fact: RunFact): void {
    const seen = this.#byKey.get(keyText(key));
    if (seen === undefined || seen.run.id !== fact.id) return;
    const nowMs = this.#clock.monotonic();
    const { operation } = seen.run;
    if (fact.stage !== seen.stage) {
      this.#stageEnded(seen, nowMs);
      seen.stage = fact.stage;
      this.#recovered(key, operation, nowMs);
    }
    if (fact.verdict !== seen.verdict) {
      seen.verdict = fact.verdict;
      this.#meters.add("nigari_run_verdicts_total", { operation, verdict: fact.verdict });
      const isLost = fact.verdict === "unreachable" || fact.verdict === "dead";
      if (isLost && fact.outcome === undefined) seen.lostAtMs ??= nowMs;
      if (fact.verdict === "alive") seen.lostAtMs = undefined;
    }
    if (fact.outcome === undefined || seen.isOver) return;
    seen.isOver = true;
    this.#stageEnded(seen, nowMs);
    this.#meters.add("nigari_run_outcomes_total", { operation, outcome: fact.outcome.kind });
    this.#recovered(key, operation, nowMs);
  }

  /** The object has this run no longer. */
  ended(key: ObjectKey): void {
    const seen = this.#byKey.get(keyText(key));
    this.#byKey.delete(keyText(key));
    if (seen?.lostAtMs === undefined) return;
    if (!this.#recovering.has(keyText(key))) this.#recovering.set(keyText(key), seen.lostAtMs);
  }

  /** The object is gone. */
  forget(key: ObjectKey): void {
    this.#byKey.delete(keyText(key));
    this.#recovering.delete(keyText(key));
  }

  #stageEnded(seen: Seen, nowMs: number): void {
    const labels = { operation: seen.run.operation, stage: seen.stage };
    this.#meters.observe("nigari_stage_duration_seconds", labels, nowMs - seen.stageAtMs);
    seen.stageAtMs = nowMs;
  }

  /** A later run of an object that lost one is at work, or has ended: the object goes on. */
  #recovered(key: ObjectKey, operation: string, nowMs: number): void {
    const sinceMs = this.#recovering.get(keyText(key));
    if (sinceMs === undefined) return;
    this.#recovering.delete(keyText(key));
    this.#meters.observe("nigari_recovery_duration_seconds", { operation }, nowMs - sinceMs);
  }
}
