import type { Decision, LostApplyPolicy, Observed } from "../domain/facts.ts";
import type { Announcer } from "../ports/announcer.ts";
import type { ArtifactKeeper, ArtifactStore, GitSource } from "../ports/artifacts.ts";
import type { Clock, Random } from "../ports/clock.ts";
import type { Leadership, Rival } from "../ports/leadership.ts";
import type { Log } from "../ports/log.ts";
import type { Meters } from "../ports/meters.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import type { RunnerPlatform } from "../ports/runner.ts";
import type { RunLogs } from "../ports/runs.ts";
import type { StateDoor } from "../ports/state.ts";

/** Everything the engine asks of the world. */
export interface EnginePorts {
  readonly store: ObjectStore;
  readonly platform: RunnerPlatform;
  readonly artifacts: ArtifactStore;
  /** Undefined where somebody else makes the artifacts (in a cluster: source-controller). */
  readonly git: GitSource | undefined;
  /** What `git` keeps its archives in; old ones are cleared out. */
  readonly keeper?: ArtifactKeeper;
  /** Undefined where states lie elsewhere. */
  readonly door: StateDoor | undefined;
  readonly logs: RunLogs;
  readonly leadership: Leadership;
  /** Undefined where there can be no other controller. */
  readonly rival?: Rival;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Where it is counted what the engine does; nowhere if left out. */
  readonly meters?: Meters;
  /** Who is told of events besides the store; nobody if left out. */
  readonly announcer?: Announcer;
  /** What to do about an object; pure. */
  readonly decide: (observed: Observed, nowMs: number) => Decision;
}

export interface EngineOptions {
  /** Runs that may go on at once. */
  readonly maxRuns: number;
  /** Passes that may go on at once; they are short. */
  readonly passWorkers: number;
  readonly lostApply: LostApplyPolicy;
  /** Environment of every runner, built from main's allow-list. */
  readonly runnerEnv: Readonly<Record<string, string>>;
  /** Sources and dependencies may lie in other namespaces. */
  readonly crossNamespaceRefs: boolean;
  /** Whether an object with these labels is this engine's to work on. */
  readonly isOurs: (labels: Readonly<Record<string, string>> | undefined) => boolean;
  /** Runners are pods. */
  readonly runnersArePods: boolean;
  /** The store forgets events by itself, as a cluster does: none is counted or removed. */
  readonly eventsExpire: boolean;
  /**
   * Secret of this engine: with it alone can a digest of inputs be tried out against guessed
   * values. Another key makes every object plan anew, and does no other harm.
   */
  readonly digestKey: Uint8Array;
}

export const engineDefaults: Omit<EngineOptions, "digestKey"> = {
  maxRuns: 4,
  passWorkers: 8,
  lostApply: "interrupt",
  runnerEnv: {},
  crossNamespaceRefs: false,
  isOurs: () => true,
  runnersArePods: false,
  eventsExpire: false,
};
