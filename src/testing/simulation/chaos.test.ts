import { expect, test } from "vitest";
import type { Terraform } from "../../api/terraform.ts";
import { chaos, type Fault, grave, mendable } from "./chaos.ts";
import { terraformOf } from "./objects.ts";
import { isReady, World } from "./world.ts";

const NAMES = ["a", "b", "c"];
/** NIGARI_SEEDS=500 for a long night, NIGARI_SEED=42 to begin at the one that failed. */
const COUNT = Number(process.env.NIGARI_SEEDS ?? 6);
const FIRST = Number(process.env.NIGARI_SEED ?? 1);
const seeds = Array.from({ length: COUNT }, (_, index) => FIRST + index);
const LIMIT_MS = 60_000;

/** Three objects, one of which waits for another; each word of a commit is a resource. */
async function worldOf(seed: number): Promise<World> {
  const world: World = new World({
    seed,
    engine: { maxRuns: 2 },
    script: ({ artifactDigest }) => ({
      resources: world.contents(artifactDigest).split(" "),
      stageMs: { init: 2_000, plan: 3_000, apply: 20_000 },
    }),
  });
  await world.source("code", "one two");
  for (const name of NAMES) {
    const dependsOn = name === "c" ? [{ name: "a" }] : [];
    await world.apply(terraformOf({ approvePlan: "auto", interval: "1m", dependsOn }, name));
  }
  return world;
}

/** Lets things go wrong, and then waits until every object is at rest. */
async function live(seed: number, faults: readonly Fault[], waits: (object: Terraform) => boolean) {
  const world = await worldOf(seed);
  const story = (await chaos(world, { seed, faults, steps: 40 })).join("\n");
  const artifact = (await world.get("GitRepository", "code"))?.status?.artifact;
  try {
    await world.until(
      "all objects are at rest",
      async () => {
        const { items } = await world.store.list("Terraform", {}, world.call());
        return items.every(
          (each) =>
            waits(each) ||
            (isReady(each) && each.status?.lastAttemptedRevision === artifact?.revision),
        );
      },
      3_600_000,
    );
  } catch (error) {
    throw new Error(`${story}\n${String(error)}`);
  }
  expect(world.bugs, story).toEqual([]);
  return { world, story, resources: world.contents(artifact?.digest ?? "").split(" ") };
}

test.each(seeds)(
  "seed %i: what time can mend is mended, and all is done once",
  async (seed) => {
    const { world, story, resources } = await live(seed, mendable, () => false);
    const effects = world.effects();
    expect(new Set(Object.values(effects)), story).toEqual(new Set([1]));
    const wanted = NAMES.flatMap((name) =>
      resources.map((each) => `create default/${name} ${each}`),
    );
    expect(Object.keys(effects), story).toEqual(expect.arrayContaining(wanted));
    await world.edit("a", ({ spec }) => {
      spec.suspend = true;
    });
    await world.until("no more runs are kept than go on", async () => {
      const { items } = await world.store.list("Terraform", {}, world.call());
      const named = items.flatMap(({ status }) => status?.run?.id ?? []);
      return (await world.platform.list(world.call())).every((each) => named.includes(each));
    });
  },
  LIMIT_MS,
);

test.each(seeds)(
  "seed %i: what only a person can judge waits, and nothing is done twice",
  async (seed) => {
    const waits = (object: Terraform) => needsPerson(object) || isBlocked(object);
    const { world, story } = await live(seed, [...mendable, ...grave], waits);
    for (const [effect, count] of Object.entries(world.effects())) {
      expect(count, `${effect}\n${story}`).toBe(1);
    }
  },
  LIMIT_MS,
);

function needsPerson({ status }: Terraform): boolean {
  const stalled = status?.conditions?.find(({ type }) => type === "Stalled");
  return stalled?.status === "True" && status?.run === undefined;
}

/** It waits for one that waits for a person. */
function isBlocked({ status }: Terraform): boolean {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.reason === "DependencyNotReady";
}
