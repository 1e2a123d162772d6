import { write, writeFailedPass, writeUntil } from "../passes.ts";
import { REVISION, type World } from "../world.ts";
import type { Fault } from "./fault.ts";
import { dependents } from "./nodes.ts";

/** An apply at work: its runner lives, its lock is its own. */
export function liveApply(world: World, seconds: number): string {
  const key = world.key();
  world.object(key, ["Unknown", "Applying", world.ago(seconds)], {
    status: { lastPlannedRevision: REVISION, lastPlanAt: world.ago(seconds) },
  });
  writeUntil(world, key, "apply", seconds - 1);
  world.runs(seconds + 4);
  world.runner(key, { node: "node-1", created: world.ago(seconds + 8) });
  world.scene.lock(key, { id: `live-${key}`, created: world.ago(seconds - 1) });
  world.expect("tofu/state-lock-held", `Terraform/${key}`);
  return key;
}

/** A lock that somebody else holds, and the pass that failed for it. */
function refused(
  world: World,
  lock: { readonly who: string | undefined; readonly age: number },
): string {
  const key = world.key();
  const [, name = ""] = key.split("/");
  const who = lock.who ?? `runner@${name}-tf-runner`;
  const created = world.ago(lock.age);
  const id = `id-${name}`;
  const info = [
    "error acquiring the state lock: Lock Info:",
    `  ID:        ${id}`,
    "  Path:      ",
    "  Operation: OperationTypeApply",
    `  Who:       ${who}`,
    "  Version:   1.12.6",
    `  Created:   ${created.replace("T", " ").replace("Z", " +0000 UTC")}`,
    "  Info:      ",
  ].join("\n");
  const error = `error running Plan: rpc error: code = Internal desc = ${info}`;
  world.object(key, ["False", error, world.ago(20), "DriftDetectionFailed"], {
    status: { reconciliationFailures: world.between(1, 40) },
  });
  world.scene.lock(key, { id, created, who });
  writeFailedPass(world, key, { stage: "drift-plan", line: "detected non drift error", error }, 20);
  return key;
}

const longApply: Fault = {
  name: "an apply takes long and is well",
  apply(world) {
    const key = liveApply(world, world.between(200, 5 * 3_600));
    world.expect("tofu/apply-long", `Terraform/${key}`);
    dependents(world, key);
  },
};

const youngApply: Fault = {
  name: "an apply has just begun",
  apply: (world) => void liveApply(world, world.between(70, 170)),
};

const orphanedLock: Fault = {
  name: "an apply was cut off and left its lock",
  apply(world) {
    const key = refused(world, { who: undefined, age: world.between(120, 9_000) });
    world.expect("tofu/state-lock-orphaned", `Terraform/${key}`);
  },
};

const foreignLock: Fault = {
  name: "somebody outside holds the lock",
  apply(world) {
    const who = world.pick(["ci@runner-7f3a", "dana@laptop", "root@jenkins-agent-4"]);
    const key = refused(world, { who, age: world.between(60, 9_000) });
    world.expect("tofu/state-lock-held", `Terraform/${key}`);
  },
};

/** Silent for long, and yet its container has run since before the call. */
const slowPlan: Fault = {
  name: "a plan takes long and is well",
  apply(world) {
    const key = world.key();
    const seconds = world.between(200, 3_000);
    world.object(key, ["Unknown", "Terraform Planning", world.ago(seconds)]);
    writeUntil(world, key, "plan", seconds - 1);
    world.runs(seconds + 4);
    world.runner(key, { node: "node-1", created: world.ago(seconds + 8) });
  },
};

/** A container that ended by itself is started again at the same address: the call goes on. */
const sameSandbox: Fault = {
  name: "a runner was restarted in its sandbox",
  apply(world) {
    const key = world.key();
    const seconds = world.between(200, 3_000);
    const ended = { exitCode: 137, reason: "OOMKilled", finishedAt: world.ago(seconds - 30) };
    world.object(key, ["Unknown", "Terraform Planning", world.ago(seconds)]);
    writeUntil(world, key, "plan", seconds - 1);
    world.runs(seconds + 4);
    world.runner(key, {
      ...{ node: "node-1", created: world.ago(seconds + 8), started: world.ago(seconds - 31) },
      ...{ restarts: 1, sandbox: world.ago(seconds + 7) },
      lastState: { terminated: { ...ended, startedAt: world.ago(seconds + 6) } },
    });
  },
};

/** The first run of a runner whose image is slow to come. */
const slowStart: Fault = {
  name: "a runner started late, for the first time",
  apply(world) {
    const key = world.key();
    const seconds = world.between(100, 280);
    world.object(key, ["Unknown", "Initializing", world.ago(seconds)]);
    writeUntil(world, key, "fetch", seconds - 1);
    write(world, key, ["write backend config: ok", "generated template"], seconds - 70);
    world.runs(seconds + 4);
    world.runner(key, {
      ...{ node: "node-1", created: world.ago(seconds + 8), started: world.ago(seconds - 60) },
    });
  },
};

/** What every dump of a busy cluster holds: passes that began a few seconds ago. */
const youngPasses: Fault = {
  name: "passes have just begun",
  apply(world) {
    for (let index = world.between(1, 5); index > 0; index -= 1) {
      const key = world.key();
      const seconds = world.between(4, 50);
      const stage = world.pick(["lookup", "fetch", "setup", "drift-plan", "plan"] as const);
      const message = {
        ...{ lookup: "Reconciliation in progress", plan: "Terraform Planning" },
        ...{ fetch: "Initializing", setup: "Initializing", "drift-plan": "Initializing" },
      }[stage];
      world.object(key, ["Unknown", message, world.ago(seconds)]);
      writeUntil(world, key, stage, seconds - 2);
      world.runs(seconds + 2);
      // The pod may have come after the other objects were read, or may be as old as the call.
      const created = world.ago(seconds - world.pick([0, 0, 1]));
      if (world.chance(0.7)) world.runner(key, { node: "node-1", created, started: created });
    }
  },
};

export const runFaults: readonly Fault[] = [
  youngPasses,
  longApply,
  youngApply,
  orphanedLock,
  foreignLock,
  slowPlan,
  sameSandbox,
  slowStart,
];
