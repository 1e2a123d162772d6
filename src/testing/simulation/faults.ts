import type { CallFate, EventFate, FaultyCall } from "../../adapters/memory/faults.ts";
import type { AnyObject } from "../../api/kinds.ts";
import type { WatchEvent } from "../../ports/object-store.ts";
import type { FakeRun } from "../fakes/fake-run.ts";
import type { FakeFate, FakeMethod } from "../fakes/runner-platform.ts";
import type { Engines } from "./engines.ts";
import { hasRun, hasWorker, type Moment, moments } from "./moments.ts";
import type { World } from "./world.ts";

/** What strikes a world: the table of faults. The cells of a campaign are fault × moment. */

/** One strike: on which world, at which object. */
export interface Target {
  readonly world: World;
  readonly engines: Engines;
  readonly knobs: Knobs;
  /** Name of the object. */
  readonly name: string;
  /** Its run, if it has one. */
  readonly run: FakeRun | undefined;
  /** In [0, 1), for this strike alone. */
  chance(): number;
}

/** Faults that last add a knob, and take it away again; several may be turned at once. */
export class Knobs {
  readonly store = new Set<(call: FaultyCall) => CallFate | undefined>();
  readonly events = new Set<(event: WatchEvent<AnyObject>) => EventFate>();
  readonly platform = new Set<(method: FakeMethod, runId: string) => FakeFate | undefined>();
  /** "fail" or "hang", one for each fault that is on. */
  readonly artifacts = new Set<"fail" | "hang">();
}

export interface Fault {
  readonly why: string;
  /** What must be there for it to strike. */
  readonly needs?: "run" | "tofu" | "launch";
  /** Nothing but the clock on the wall is wrong: no run may be called silent or lost for it. */
  readonly onlyTime?: true;
  /** Watches tell less than the truth: what the engine knows is right again once it lists again. */
  readonly blinds?: true;
  /** How long it lasts at most, in milliseconds. The end of all faults ends it too. */
  readonly lastsMs?: number;
  /** What it leaves behind is mended within so many ms after the end of all faults. */
  readonly mendedMs?: number;
  /** Strikes; answers how it ends, if it does not by itself. */
  strike(target: Target): (() => void) | undefined;
}

const MINUTE = 60_000;
const EVERY_METHOD: readonly FakeMethod[] = [
  "launch",
  "inspect",
  "signal",
  "collect",
  "readFile",
  "readLog",
  "remove",
  "list",
  "hello",
  "putFile",
  "start",
  "watch",
  "release",
];

function turn<T>(set: Set<T>, knob: T): () => void {
  set.add(knob);
  return () => set.delete(knob);
}

/** A fault whose run is there; one that needs none is written out. */
function onRun(act: (run: FakeRun, target: Target) => (() => void) | undefined) {
  return (target: Target): (() => void) | undefined => {
    const { run } = target;
    return run === undefined ? undefined : act(run, target);
  };
}

/** Some methods of the platform go wrong, each call with the chance given. */
function platformTrouble(fate: FakeFate, share: number) {
  return ({ knobs, chance }: Target) => {
    const chosen = EVERY_METHOD.filter(() => chance() < 0.6);
    return turn(knobs.platform, (method) =>
      chosen.includes(method) && chance() < share ? fate : undefined,
    );
  };
}

function eventTrouble(fate: EventFate, share: number) {
  return ({ knobs, chance }: Target) =>
    turn(knobs.events, () => (chance() < share ? fate : "deliver"));
}

function storeTrouble(fate: CallFate, verbs: readonly FaultyCall["verb"][], share: number) {
  return ({ knobs, chance }: Target) =>
    turn(knobs.store, ({ verb }) => (verbs.includes(verb) && chance() < share ? fate : undefined));
}

const WRITES = ["create", "update", "delete"] as const;
const READS = ["get", "list"] as const;

/** The same fault, for as long as a person leaves it so: the engine must mend it alone. */
const faultTable = {
  "engine-killed": {
    why: "SIGKILL of the engine at any moment; another starts within half a minute",
    lastsMs: 30_000,
    strike: ({ engines }) => {
      engines.kill();
      return () => engines.start();
    },
  },
  "engine-stopped": {
    why: "the engine's process stands still and goes on, as under SIGSTOP or on a full machine",
    lastsMs: 90_000,
    strike: ({ engines }) => {
      engines.pause();
      return () => engines.resume();
    },
  },
  "engine-replaced": {
    why: "another engine leads while the first stands still, and the first wakes up later",
    lastsMs: 60_000,
    strike: ({ engines }) => {
      engines.replace();
      return () => engines.wakeFormer();
    },
  },
  "engine-outlived": {
    why: "another engine leads, and the first goes on for some seconds, for it does not know",
    lastsMs: 10_000,
    strike: ({ engines, world, chance }) => {
      world.lostNoticeMs = Math.floor(chance() * 6_000);
      engines.outlive();
      return () => {
        world.lostNoticeMs = 0;
      };
    },
  },
  "engine-and-runner-killed": {
    why: "everything but tofu is killed at once",
    needs: "run",
    lastsMs: 30_000,
    strike: onRun((run, { engines }) => {
      engines.kill();
      run.endRunner("killed by signal 9");
      return () => engines.start();
    }),
  },
  "machine-rebooted": {
    why: "every process of engine and runs is gone, what is on disk stays",
    lastsMs: 30_000,
    mendedMs: 3 * MINUTE,
    strike: ({ engines, world }) => {
      engines.kill();
      world.platform.reboot();
      return () => engines.start();
    },
  },
  "runner-killed": {
    why: "SIGKILL of the runner; tofu lives on",
    needs: "run",
    strike: onRun((run) => {
      run.endRunner("killed by signal 9");
      return undefined;
    }),
  },
  "tofu-killed": {
    why: "SIGKILL of tofu; the runner sees it",
    needs: "tofu",
    strike: onRun((run) => {
      run.killWorker();
      return undefined;
    }),
  },
  "runner-and-tofu-killed": {
    why: "every process of the run is killed",
    needs: "run",
    strike: onRun((run) => {
      run.killWorker();
      run.endRunner("killed by signal 9");
      return undefined;
    }),
  },
  "runner-frozen": {
    why: "SIGSTOP of the runner, then SIGCONT; tofu goes on meanwhile",
    needs: "run",
    lastsMs: 2 * MINUTE,
    mendedMs: 12 * MINUTE,
    strike: onRun((run, { world }) => {
      world.platform.freeze(run.launch.runId);
      return () => {
        run.frozen = false;
        run.bell.ring();
      };
    }),
  },
  "runner-frozen-for-good": {
    why: "SIGSTOP of the runner, and nobody lets it go on",
    needs: "run",
    mendedMs: 15 * MINUTE,
    strike: onRun((run) => {
      run.frozen = true;
      return undefined;
    }),
  },
  "run-frozen-for-good": {
    why: "SIGSTOP of runner and tofu, and nobody lets them go on",
    needs: "tofu",
    mendedMs: 15 * MINUTE,
    strike: onRun((run) => {
      run.frozen = true;
      run.stopWorker();
      return undefined;
    }),
  },
  "run-cut-off": {
    why: "the machine of the run does not answer for a while; the run goes on",
    needs: "run",
    lastsMs: 2 * MINUTE,
    mendedMs: 12 * MINUTE,
    strike: onRun((run) => {
      run.cutOff = true;
      run.bell.ring();
      return () => {
        run.cutOff = false;
        run.bell.ring();
      };
    }),
  },
  "run-vanished": {
    why: "the run is gone with all its traces, and nobody says so",
    needs: "run",
    strike: onRun((run, { world }) => {
      if (world.platform.find(run.launch.runId) !== undefined) {
        world.platform.vanish(run.launch.runId);
      }
      return undefined;
    }),
  },
  "runner-mute": {
    why: "the runner that is launched never answers",
    needs: "launch",
    mendedMs: 5 * MINUTE,
    strike: ({ world, run }) => {
      const { launchMs } = world.platform;
      if (run !== undefined) run.mute = true;
      else world.platform.launchMs = Number.POSITIVE_INFINITY;
      return () => {
        world.platform.launchMs = launchMs;
      };
    },
    lastsMs: 20_000,
  },
  "tofu-stopped": {
    why: "tofu stands still while its runner is well, and goes on",
    needs: "tofu",
    lastsMs: 2 * MINUTE,
    strike: onRun((run) => {
      run.stopWorker();
      return () => run.resumeWorker();
    }),
  },
  "step-endless": {
    why: "tofu waits for something that never comes, until it is ended",
    needs: "tofu",
    mendedMs: 35 * MINUTE,
    strike: onRun((run, { chance }) => {
      run.stopWorker();
      run.ignoresLimits = chance() < 0.5;
      const applies = run.worker?.stage === "apply";
      // An apply has no time limit, by intention: here it goes on.
      return applies ? () => run.resumeWorker() : undefined;
    }),
  },
  "step-fails": {
    why: "the step under way fails, as by trouble outside",
    needs: "tofu",
    strike: onRun((run) => {
      run.failWorker();
      return undefined;
    }),
  },
  "calls-fail": {
    why: "calls to platform and runner break off",
    lastsMs: 20_000,
    strike: platformTrouble("fail", 0.7),
  },
  "answers-lost": {
    why: "calls to platform and runner are done, and not answered",
    lastsMs: 20_000,
    strike: platformTrouble("lose-answer", 0.5),
  },
  "calls-hang": {
    why: "calls to platform and runner are never answered",
    lastsMs: 40_000,
    strike: platformTrouble("hang", 0.7),
  },
  "store-away": {
    why: "the object store does not answer, and its watches break",
    lastsMs: 40_000,
    strike: ({ world }) => {
      world.faults.unavailable = true;
      world.faults.breakWatches("Unavailable");
      return () => {
        world.faults.unavailable = false;
      };
    },
  },
  "reads-hang": {
    why: "reads of the object store are never answered",
    lastsMs: 50_000,
    strike: storeTrouble({ hang: true }, READS, 0.6),
  },
  "writes-hang": {
    why: "writes to the object store are never answered",
    lastsMs: 50_000,
    strike: storeTrouble({ hang: true }, WRITES, 0.6),
  },
  "writes-fail": {
    why: "writes to the object store are refused",
    lastsMs: 30_000,
    strike: storeTrouble({ fail: "Unavailable" }, WRITES, 0.7),
  },
  "write-answers-lost": {
    why: "writes to the object store are done, and not answered",
    lastsMs: 20_000,
    strike: storeTrouble({ loseAnswer: true }, WRITES, 0.5),
  },
  conflicts: {
    why: "somebody else writes first",
    lastsMs: 10_000,
    strike: storeTrouble({ fail: "Conflict" }, ["update", "delete"], 0.6),
  },
  "events-lost": {
    why: "watches skip changes",
    blinds: true,
    lastsMs: 40_000,
    mendedMs: 12 * MINUTE,
    strike: eventTrouble("lose", 0.7),
  },
  "events-doubled": {
    why: "watches tell changes twice",
    lastsMs: 40_000,
    strike: eventTrouble("twice", 0.7),
  },
  "events-reordered": {
    why: "watches tell changes in another order",
    blinds: true,
    lastsMs: 40_000,
    mendedMs: 12 * MINUTE,
    strike: eventTrouble("late", 0.5),
  },
  "events-stale": {
    why: "watches tell changes late",
    lastsMs: 40_000,
    strike: ({ world, chance }) => {
      world.faults.eventDelayMs = Math.floor(chance() * 10_000);
      return () => {
        world.faults.eventDelayMs = 0;
      };
    },
  },
  "watches-broken": {
    why: "every watch ends",
    strike: ({ world }) => {
      world.faults.breakWatches("Unavailable");
      return undefined;
    },
  },
  "watches-expired": {
    why: "every watch ends, and its place is forgotten",
    strike: ({ world }) => {
      world.faults.breakWatches("Expired");
      return undefined;
    },
  },
  "writes-slow": {
    why: "writes to the object store take almost as long as they may",
    lastsMs: 90_000,
    strike: ({ world, chance }) => {
      world.faults.writeDelayMs = Math.floor(7_000 + chance() * 2_500);
      return () => {
        world.faults.writeDelayMs = 0;
      };
    },
  },
  "runners-die": {
    why: "every runner dies as soon as it has begun, again and again",
    lastsMs: 15 * MINUTE,
    mendedMs: 6 * MINUTE,
    strike: ({ world }) => {
      const { onStage } = world.platform.world;
      world.platform.world.onStage = (run, stage) => {
        onStage?.(run, stage);
        if (stage !== "artifact") return;
        run.killWorker();
        run.endRunner("killed by signal 9");
      };
      return () => {
        if (onStage !== undefined) world.platform.world.onStage = onStage;
      };
    },
  },
  "watches-silent": {
    why: "watches go on, and say nothing any more, as over a half-open connection",
    mendedMs: 3 * MINUTE,
    strike: ({ world }) => {
      world.faults.silenceWatches();
      return undefined;
    },
  },
  "foreign-lock": {
    why: "somebody else holds the lock of the state for a while",
    lastsMs: 60_000,
    strike: ({ world, name }) => {
      const state = `default/${name}/default`;
      const id = `foreign-${name}`;
      if (world.door.locks.has(state)) return undefined;
      const held = { operation: "OperationTypeApply", who: "somebody@laptop", created: "2026" };
      world.door.locks.set(state, { id, ...held, runId: undefined });
      return () => {
        if (world.door.locks.get(state)?.id === id) world.door.locks.delete(state);
      };
    },
  },
  "plan-swapped": {
    why: "somebody puts another file in the place of the saved plan",
    strike: ({ world, name }) => {
      world.swapPlan(name);
      return undefined;
    },
  },
  "source-fails": {
    why: "artifacts cannot be fetched",
    lastsMs: 40_000,
    strike: ({ knobs }) => turn(knobs.artifacts, "fail"),
  },
  "source-endless": {
    why: "artifacts are promised and never come",
    lastsMs: 60_000,
    strike: ({ knobs }) => turn(knobs.artifacts, "hang"),
  },
  "clock-forward": {
    why: "the clock on the wall is set an hour on",
    onlyTime: true,
    strike: ({ world }) => {
      world.clock.jump(60 * MINUTE);
      return undefined;
    },
  },
  "clock-back": {
    why: "the clock on the wall is set an hour back",
    onlyTime: true,
    mendedMs: 12 * MINUTE,
    strike: ({ world }) => {
      world.clock.jump(-60 * MINUTE);
      return undefined;
    },
  },
  "machine-asleep": {
    why: "the laptop sleeps for eight hours; the clock that never jumps sleeps with it",
    onlyTime: true,
    strike: ({ world }) => {
      world.clock.jump(8 * 60 * MINUTE);
      return undefined;
    },
  },
  "engine-late": {
    why: "the engine's own loop was held up, and it says so",
    lastsMs: 20_000,
    strike: ({ world }) => {
      world.clock.setLag(9_000);
      return () => world.clock.setLag(0);
    },
  },
} satisfies Readonly<Record<string, Fault>>;

export type FaultName = keyof typeof faultTable;
export const faults: Readonly<Record<FaultName, Fault>> = faultTable;
export const faultNames = Object.keys(faultTable) as FaultName[];

export interface Cell {
  readonly fault: FaultName;
  readonly moment: Moment;
}

/** Every fault at every moment at which it can strike. */
export const cells: readonly Cell[] = faultNames.flatMap((fault) =>
  moments.filter((moment) => canStrike(fault, moment)).map((moment) => ({ fault, moment })),
);

function canStrike(fault: FaultName, moment: Moment): boolean {
  const { needs } = faults[fault];
  if (needs === "run") return hasRun(moment);
  if (needs === "tofu") return hasWorker(moment);
  return needs === undefined || moment.endsWith("/launch");
}
