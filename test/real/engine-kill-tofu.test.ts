import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EngineWorld } from "../../src/testing/harness/engine-world.ts";
import { leaksOf } from "../../src/testing/harness/secrecy.ts";
import { readyText, type Subject } from "../../src/testing/harness/subject.ts";
import { tofuOf } from "../../src/testing/harness/victims.ts";
import type { TestResource } from "../../src/testing/harness/workspace.ts";

// SIGKILL of OpenTofu in the middle of an apply. What it had under way may exist, and no state says
// so: the apply is never sent again, what the state knows is kept, what it may lack is named, and a
// person has the word even where plans are approved by themselves.

const base: TestResource[] = [{ name: "base" }];
/** OpenTofu hands its state on when a resource ends, but not in the 20 s after the first has. */
const RECORDED_S = 21;
const quick: TestResource[] = [...base, { name: "quick" }, { name: "slow", gated: true }];
const recorded: TestResource[] = [
  ...base,
  { name: "quick" },
  { name: "long", seconds: RECORDED_S },
  { name: "slow", gated: true },
];

let world: EngineWorld;
beforeAll(() => {
  world = new EngineWorld();
});
afterAll(() => world.close());

/** The object's second apply, caught while its slow resource is being made. */
async function inSlow(subject: Subject, resources: readonly TestResource[]): Promise<string> {
  await subject.settled();
  const before = await world.state(subject.name);
  expect(before?.resources).toEqual([subject.workspace.address("base")]);
  world.change(subject, { resources });
  world.estate.commit();
  await subject.effect("slow");
  return subject.runId();
}

/** Told, held, and not begun again: what the cut-off apply may have left is named. */
async function heldWith(subject: Subject, runId: string, names: readonly string[]) {
  const { workspace, name } = subject;
  const named = names.map((each) => workspace.address(each));
  const { object } = await subject.when("it is held", ({ status }) => {
    return status?.held !== undefined && status.plan?.pending !== undefined && !status.run;
  });
  expect(object.status?.held, name).toMatchObject({ runId, resources: named });
  const text = readyText(object);
  expect(text, name).toMatch(/^False RunResultUnknown: /);
  expect(text, name).toContain(`worked on ${named.join(", ")}`);
  expect(text, name).toContain(`nigari.dev/accept=${object.status?.plan?.pending}`);
  const stalled = object.status?.conditions?.find(({ type }) => type === "Stalled");
  expect(stalled, name).toMatchObject({ status: "True", reason: "RunResultUnknown" });
  // The first apply and the one that was cut off: it was not sent again.
  expect(subject.calls("apply"), name).toBe(2);
  const done = Object.keys(workspace.actions());
  expect(workspace.actions(), name).toEqual(Object.fromEntries(done.map((each) => [each, 1])));
  return object;
}

/** A person looks, and lets it go on. */
async function approved(subject: Subject, resources: readonly TestResource[]): Promise<void> {
  const { name, workspace } = subject;
  workspace.passGate("slow");
  expect(await world.nigari("approve", name)).toMatchObject({ code: 0, error: "" });
  const { object } = await subject.settled();
  expect(object.status?.held).toBeUndefined();
  const addresses = resources.map((each) => workspace.address(each.name)).sort();
  const state = await world.state(name);
  expect(state, name).toMatchObject({ resources: addresses, tainted: [], locked: false });
  expect(subject.calls("apply"), name).toBe(3);
}

describe("SIGKILL of OpenTofu in apply", () => {
  test("is told, named, held for a person, and gone on with on their word", async () => {
    const subjects = ["alone", "orphan", "recorded"].map((name) =>
      world.add(`tofu-${name}`, { resources: base }),
    );
    const [alone, orphan, late] = subjects;
    if (!alone || !orphan || !late) throw new Error("Three objects were added");
    world.estate.commit();
    await world.start();

    const killedAlone = async () => {
      const runId = await inSlow(alone, quick);
      await (await tofuOf(alone.folder(runId), "apply")).kill();
      const object = await heldWith(alone, runId, ["quick", "slow"]);
      expect(object.status?.plan?.summary).toMatch(/^2 to add/);
      expect((await world.state(alone.name))?.resources).toEqual([alone.workspace.address("base")]);
      await approved(alone, quick);
    };
    const killedWithRunner = async () => {
      const runId = await inSlow(orphan, quick);
      await orphan.runner(runId).kill();
      await orphan.when("the loss is told", ({ status }) => status?.run?.verdict !== "alive");
      await (await tofuOf(orphan.folder(runId), "apply")).kill();
      // The command of the resource outlives both: only when it has ended is the run dead.
      await orphan.when("its last process is told", (object) =>
        /1 process lives|2 proc/.test(readyText(object)),
      );
      orphan.workspace.passGate("slow");
      await heldWith(orphan, runId, ["quick", "slow"]);
      await approved(orphan, quick);
    };
    const killedAfterStateWrite = async () => {
      const runId = await inSlow(late, recorded);
      await (await tofuOf(late.folder(runId), "apply")).kill();
      const object = await heldWith(late, runId, ["slow"]);
      expect(object.status?.plan?.summary).toMatch(/^1 to add/);
      const kept = ["base", "long", "quick"].map((each) => late.workspace.address(each));
      expect((await world.state(late.name))?.resources).toEqual(kept);
      await approved(late, recorded);
      // What the state knew was not made a second time.
      const once = { "create terraform_data.quick": 1, "create terraform_data.long": 1 };
      expect(late.workspace.actions()).toMatchObject(once);
    };
    await Promise.all([killedAlone(), killedWithRunner(), killedAfterStateWrite()]);
    await world.untilQuiet();
    expect(await leaksOf(world)).toEqual([]);
    expect(world.bugs()).toEqual([]);
  });
});
