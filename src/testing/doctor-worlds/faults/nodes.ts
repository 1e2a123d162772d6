import { type Until, writeUntil } from "../passes.ts";
import { REVISION, SYSTEM, type World } from "../world.ts";
import type { Fault } from "./fault.ts";

/** Where a pass was when its runner died: what the status said, and since how long. */
interface Stop {
  readonly stage: Until;
  readonly message: string;
  /** The run had taken the state's lock. */
  readonly lock: "Plan" | "Apply" | undefined;
}

const stops: readonly Stop[] = [
  { stage: "setup", message: "Initializing", lock: undefined },
  { stage: "drift-plan", message: "Initializing", lock: "Plan" },
  { stage: "plan", message: "Terraform Planning", lock: "Plan" },
  { stage: "apply", message: "Applying", lock: "Apply" },
];

/** An object whose pass began so many seconds ago and whose runner is gone since. */
function parked(world: World, since: number, holder: "gone" | "unheard" = "gone"): string {
  const key = world.key();
  const stop = world.pick(stops);
  const planned = stop.stage === "drift-plan" ? REVISION : "main@sha1:0ld";
  world.object(key, ["Unknown", stop.message, world.ago(since)], {
    status: { lastPlannedRevision: planned, lastPlanAt: world.ago(since + 3_000) },
  });
  writeUntil(world, key, stop.stage, since - 1);
  world.runs(since + 4);
  world.expect("tofu/reconcile-parked", `Terraform/${key}`);
  if (stop.lock !== undefined) {
    const [, name = ""] = key.split("/");
    world.scene.lock(key, {
      id: `lock-of-${name}`,
      operation: stop.lock,
      created: world.ago(since - 1),
    });
    // A node that is not heard may run its holder yet; then nobody can say.
    if (holder === "gone") world.expect("tofu/state-lock-orphaned", `Terraform/${key}`);
  }
  dependents(world, key);
  return key;
}

/** Objects that wait for it, and clear by themselves. */
export function dependents(world: World, key: string): void {
  const count = world.pick([0, 0, 1, 2]);
  for (let index = 0; index < count; index += 1) {
    const [namespace, name] = key.split("/");
    const own = world.key(namespace);
    const message = `dependency '${key}' is not ready`;
    world.object(own, ["False", message, world.ago(300), "DependencyNotReady"], {
      spec: { dependsOn: [{ name }] },
    });
    for (let seconds = 200; seconds > 5; seconds -= 30) {
      world.line(seconds, own, ">> Started Generation: 1");
      world.line(seconds, own, "Dependencies do not meet ready condition, retrying in 30s");
    }
    world.expect("tofu/waits-for-dependency", `Terraform/${own}`);
  }
}

const struck = (world: World) => world.between(1, 6);

/** A node was shut down in order: its pods are Failed, it is back. */
const rebooted: Fault = {
  name: "a node rebooted in order, under runners that were called",
  apply(world) {
    const since = world.between(400, 6 * 3_600);
    const back = since - world.between(60, 150);
    const node = world.node({ since: world.ago(back) });
    const ended = since - world.between(20, 50);
    for (let index = struck(world); index > 0; index -= 1) {
      const key = parked(world, since + world.between(0, 10));
      world.failedRunner(key, node, world.ago(since + 15), world.ago(ended));
      const gone = { "failed-pods-gone": "gone" as const };
      world.expect("tofu/runner-pods-failed-left-behind", `Pod/${key}-tf-runner`, gone);
    }
    world.expect("node/rebooted", `Node/${node}`, { "failed-pods-gone": "open" });
  },
};

/** A node lost power: its containers were started anew in place, no pod is Failed. */
const powerLoss: Fault = {
  name: "a node lost power and came back, under runners that were called",
  apply(world) {
    const since = world.between(400, 6 * 3_600);
    const back = since - world.between(60, 200);
    const node = world.node({ since: world.ago(back) });
    for (let index = struck(world); index > 0; index -= 1) {
      const key = parked(world, since + world.between(0, 10));
      world.revivedRunner(key, node, world.ago(since + 15), world.ago(back - 5));
    }
    world.expect("node/rebooted", `Node/${node}`);
  },
};

/** A node is away now. */
const lost: Fault = {
  name: "a node is lost, under runners that were called",
  apply(world) {
    const since = world.between(400, 3 * 3_600);
    const node = world.node({ ready: false, since: world.ago(since - world.between(60, 200)) });
    for (let index = struck(world); index > 0; index -= 1) {
      const key = parked(world, since + world.between(0, 10), "unheard");
      world.runner(key, { node, created: world.ago(since + 15) });
    }
    world.expect("node/lost", `Node/${node}`);
  },
};

/** The pods went with their node, or somebody deleted them afterwards. */
const vanished: Fault = {
  name: "runners that were called are no more, nor are their pods",
  apply(world) {
    const since = world.between(200, 6 * 3_600);
    for (let index = struck(world); index > 0; index -= 1) parked(world, since);
  },
};

/** A node without runners is away: nobody is parked for that. */
const idleLost: Fault = {
  name: "a node is lost that ran nothing of ours",
  apply(world) {
    const node = world.node({ ready: false, since: world.ago(900) });
    world.scene.pod(`${SYSTEM}/idle-${node}`, { node });
    world.expect("node/lost", `Node/${node}`);
  },
};

/** 0.16.5 ends the set-up call after 30 minutes; the clean-up that follows waits in its place. */
const cleanUp: Fault = {
  name: "a set-up call ended at its bound, and the clean-up after it waits",
  apply(world) {
    const key = world.key();
    const since = world.between(2_000, 20_000);
    const ended = since - 1_800;
    world.object(key, ["Unknown", "Initializing", world.ago(since)], {
      status: { lastPlannedRevision: "main@sha1:0ld" },
    });
    writeUntil(world, key, "setup", since - 1);
    const error = "rpc error: code = DeadlineExceeded desc = context deadline exceeded";
    world.line(ended, key, "error in terraform setup", error);
    world.runs(since + 4);
    world.expect("tofu/reconcile-parked", `Terraform/${key}`);
  },
};

/** An object on its way out: its resources are being destroyed. */
const destroying: Fault = {
  name: "a destroy was under way when its runner went",
  apply(world) {
    const key = world.key();
    const since = world.between(200, 9_000);
    world.object(key, ["Unknown", "Applying", world.ago(since)], {
      spec: { destroyResourcesOnDeletion: true },
      metadata: {
        deletionTimestamp: world.ago(since + 20),
        finalizers: ["finalizers.tf.contrib.fluxcd.io"],
      },
    });
    writeUntil(world, key, "apply", since - 1);
    world.runs(since + 4);
    world.expect("tofu/reconcile-parked", `Terraform/${key}`);
  },
};

/** The wait ended with the process; the object waits for its turn since the start. */
const wasParked: Fault = {
  name: "the controller was restarted a moment ago, after a hang",
  restarts: true,
  realm: "control-plane",
  apply(world) {
    world.controllerAge = 90;
    for (let index = struck(world); index > 0; index -= 1) {
      const key = world.key();
      const since = world.between(400, 9_000);
      world.object(key, ["Unknown", "Initializing", world.ago(since)]);
    }
  },
};

export const nodeFaults: readonly Fault[] = [
  rebooted,
  powerLoss,
  lost,
  vanished,
  idleLost,
  cleanUp,
  destroying,
  wasParked,
];
