import { seededRandom } from "../fakes/clock.ts";
import type { Dump } from "./dump.ts";
import { controlPlaneFaults } from "./faults/control-plane.ts";
import { controllerFaults } from "./faults/controller.ts";
import type { Fault } from "./faults/fault.ts";
import { networkFaults } from "./faults/network.ts";
import { nodeFaults } from "./faults/nodes.ts";
import { runnerFaults } from "./faults/runners.ts";
import { runFaults } from "./faults/runs.ts";
import { waitFaults } from "./faults/waits.ts";
import { healthy } from "./passes.ts";
import { type Truth, World } from "./world.ts";

/** A cluster that was made up from a seed, and what is true of it. */
export interface MadeWorld {
  readonly seed: number;
  readonly dump: Dump;
  readonly truths: readonly Truth[];
  readonly unscored: World["unscored"];
  /** What was put into it. */
  readonly faults: readonly string[];
}

/** Everything that can be so. */
export const faults: readonly Fault[] = [
  ...nodeFaults,
  ...runFaults,
  ...waitFaults,
  ...runnerFaults,
  ...controlPlaneFaults,
  ...controllerFaults,
  ...networkFaults,
];

/** Objects of all kinds that a cluster has at least and at most. */
const SIZES = [10, 30, 100, 300, 1_000, 5_000] as const;
/** Sizes that are picked often are small: they take less time and hold the same faults. */
const WEIGHTS = [4, 6, 5, 3, 1, 1] as const;

/** Makes the world of a seed; the same one each time. */
export function makeWorld(seed: number, size?: number): MadeWorld {
  const random = seededRandom(seed);
  const world = new World(random);
  const objects = size ?? sizeOf(world);
  const chosen = choose(world, seed);
  world.base();
  for (const fault of chosen) fault.apply(world);
  fill(world, objects);
  const dump = world.finish();
  const { truths, unscored } = world;
  return { seed, dump, truths, unscored, faults: chosen.map((each) => each.name) };
}

function sizeOf(world: World): number {
  const bag = SIZES.flatMap((size, index) => Array<number>(WEIGHTS[index] ?? 1).fill(size));
  return world.pick(bag);
}

/** Every fifth world is well; others hold one to five things, of each realm at most one. */
function choose(world: World, seed: number): Fault[] {
  if (seed % 5 === 0) return [];
  const chosen: Fault[] = [];
  for (let left = world.between(1, 5); left > 0; left -= 1) {
    const fault = world.pick(faults);
    if (chosen.includes(fault)) continue;
    const clash = chosen.some(
      (each) => (each.realm !== undefined && each.realm === fault.realm) || contradict(each, fault),
    );
    if (!clash) chosen.push(fault);
  }
  return chosen;
}

/** A controller that began anew has no pass that is older than itself. */
function contradict(one: Fault, two: Fault): boolean {
  const hasPast = (each: Fault) =>
    each.restarts !== true &&
    (each.hasPast === true || nodeFaults.includes(each) || runFaults.includes(each));
  return (one.restarts === true && hasPast(two)) || (two.restarts === true && hasPast(one));
}

/** Objects that are well, and other people's pods, until the cluster is large enough. */
function fill(world: World, objects: number): void {
  const wanted = Math.max(1, Math.floor(objects / 6));
  for (let count = 0; count < wanted; count += 1) healthy(world);
  for (let count = wanted; count < objects; count += 1) {
    const key = world.key("web");
    if (count % 3 === 0) world.scene.object("Service", key);
    else world.scene.pod(key, { node: "node-1", created: world.ago(80_000) });
  }
}
