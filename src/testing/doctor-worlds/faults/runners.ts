import { writeFailedPass, writeUntil } from "../passes.ts";
import type { World } from "../world.ts";
import type { Fault } from "./fault.ts";

/** The controller believes in a Secret that is not there: all runners of a namespace end. */
const tlsOutOfStep: Fault = {
  name: "the TLS Secret of a namespace is gone",
  apply(world) {
    const [namespace = ""] = world.key().split("/");
    const secret = `terraform-runner.tls-${world.between(1_700_000_000, 1_790_000_000)}`;
    for (let index = world.between(1, 4); index > 0; index -= 1) {
      const key = world.key(namespace);
      const seconds = world.between(300, 1_500);
      initializing(world, key, seconds);
      world.runner(key, {
        ...{ node: world.pick(["node-1", "node-2"]), created: world.ago(seconds + 5) },
        ...crashing(world, world.between(4, 9), "Error", 1),
        args: ["--tls-secret-name", secret],
      });
      world.scene.text(
        [
          `${world.ago(40).replace("Z", ".000Z")} Starting the runner...`,
          `{"level":"error","ts":"${world.ago(39)}","logger":"runner","msg":"unable to start",` +
            `"error":"secrets \\"${secret}\\" not found"}`,
        ],
        { namespace, name: `${key.split("/")[1]}-tf-runner`, container: "tf-runner" },
      );
      world.expect("tofu/runner-tls-secret-out-of-step", `Terraform/${key}`);
      world.expect("tofu/runner-restarting", `Terraform/${key}`);
    }
    world.scene.object("Secret", `${namespace}/terraform-runner.tls-1`);
  },
};

/** Memory runs out again and again. */
const outOfMemory: Fault = {
  name: "a runner has too little memory",
  apply(world) {
    const key = world.key();
    const seconds = world.between(200, 500);
    initializing(world, key, seconds);
    world.runner(key, {
      ...{ node: "node-1", created: world.ago(seconds + 5) },
      ...crashing(world, world.between(3, 6), "OOMKilled", 137),
      args: ["--tls-secret-name", "terraform-runner.tls-1"],
    });
    world.scene.object("Secret", `${key.split("/")[0]}/terraform-runner.tls-1`);
    world.expect("tofu/runner-restarting", `Terraform/${key}`);
  },
};

function crashing(world: World, restarts: number, reason: string, exitCode: number) {
  const terminated = { exitCode, reason, startedAt: world.ago(45), finishedAt: world.ago(38) };
  return {
    restarts,
    state: { waiting: { reason: "CrashLoopBackOff", message: "back-off restarting container" } },
    lastState: { terminated },
  };
}

/** A pass that waits: for a runner's address, or beyond that for its answer. */
function initializing(
  world: World,
  key: string,
  seconds: number,
  stage: "lookup" | "fetch" = "fetch",
): void {
  const message = stage === "lookup" ? "Reconciliation in progress" : "Initializing";
  world.object(key, ["Unknown", message, world.ago(seconds)]);
  writeUntil(world, key, stage, seconds - 1);
  world.runs(seconds + 4);
}

const noImage: Fault = {
  name: "a runner's image does not exist",
  apply(world) {
    const key = world.key();
    const seconds = world.between(300, 3_000);
    initializing(world, key, seconds);
    world.runner(key, {
      ...{ node: "node-1", created: world.ago(seconds + 5), phase: "Pending" },
      state: {
        waiting: { reason: "ImagePullBackOff", message: 'Back-off pulling image "x/runner:v9"' },
      },
    });
    world.expect("tofu/runner-never-ready", `Terraform/${key}`);
  },
};

const nowhereToRun: Fault = {
  name: "a runner fits on no node",
  apply(world) {
    const key = world.key();
    // The controller gives up after five minutes and begins anew; so it is never older.
    const seconds = world.between(150, 290);
    initializing(world, key, seconds, "lookup");
    world.runner(key, {
      ...{ node: "", created: world.ago(seconds + 5), phase: "Pending" },
      unschedulable: "0/2 nodes are available: 2 Insufficient memory.",
    });
    world.expect("tofu/runner-never-ready", `Terraform/${key}`);
  },
};

/** The API refuses the pod: only the log, or what the status took from it, says why. */
const notAllowed: Fault = {
  name: "a runner may not be created",
  apply(world) {
    const key = world.key();
    const [namespace = "", name = ""] = key.split("/");
    const why = world.pick([
      `pods "${name}-tf-runner" is forbidden: exceeded quota: runners, requested: pods=1`,
      `pods "${name}-tf-runner" is forbidden: error looking up service account ` +
        `${namespace}/tf-runner: serviceaccount "tf-runner" not found`,
    ]);
    const error = `failed to create runner pod: ${why}`;
    // The status does not say why; it only says that work goes on.
    const since = world.ago(world.between(100, 9_000));
    world.object(key, ["Unknown", "Reconciliation in progress", since]);
    const line = "unable to lookup or create runner";
    for (const seconds of [45, 30, 15]) {
      writeFailedPass(world, key, { stage: "lookup", line, error }, seconds);
    }
    const unsaid = { "objects-and-metrics": "either" as const };
    world.expect("tofu/runner-never-ready", `Terraform/${key}`, unsaid);
  },
};

export const runnerFaults: readonly Fault[] = [
  tlsOutOfStep,
  outOfMemory,
  noImage,
  nowhereToRun,
  notAllowed,
];
