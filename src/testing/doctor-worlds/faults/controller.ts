import { REVISION, SYSTEM, type World } from "../world.ts";
import type { Fault } from "./fault.ts";
import { liveApply } from "./runs.ts";

/** A source has moved on, and the object was not looked at since. */
function unseen(world: World, seconds: number): string {
  const key = world.key();
  const source = `moved-${key.split("/")[1]}`;
  world.scene.source(`${SYSTEM}/${source}`, "main@sha1:new", world.ago(seconds));
  world.object(key, ["True", `No drift: ${REVISION}`, world.ago(seconds + 200), "NoDrift"], {
    spec: { sourceRef: { kind: "GitRepository", name: source, namespace: SYSTEM } },
    status: { lastPlanAt: world.ago(seconds + 900) },
  });
  world.line(seconds + 200, key, "Reconciliation completed. Generation: 1");
  world.line(seconds + 200, key, "requeue after interval");
  world.expect("tofu/source-moved-on-unseen", `Terraform/${key}`);
  return key;
}

const movedOn: Fault = {
  name: "a source moved on and nobody looked",
  hasPast: true,
  apply: (world) => void unseen(world, world.between(500, 20_000)),
};

/** Every worker is at work, and more is due. */
const exhausted: Fault = {
  name: "every worker is held",
  realm: "controller",
  hasPast: true,
  apply(world) {
    const count = world.between(2, 6);
    for (let index = 0; index < count; index += 1) {
      const key = liveApply(world, world.between(1_200, 5_000));
      world.expect("tofu/apply-long", `Terraform/${key}`);
    }
    const starved = world.between(1, 6);
    for (let index = 0; index < starved; index += 1) unseen(world, world.between(500, 1_100));
    world.exhaust(starved);
  },
};

/** The old process was told to stop, leads on, and takes nothing new. */
const shuttingDown: Fault = {
  name: "the controller that leads was told to stop",
  realm: "controller",
  hasPast: true,
  apply(world) {
    const told = world.between(30, 200);
    world.shutDown(told);
  },
};

export const controllerFaults: readonly Fault[] = [movedOn, exhausted, shuttingDown];
