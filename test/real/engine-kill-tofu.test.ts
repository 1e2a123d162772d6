import { afterAll, beforeAll, expect, test } from "vitest";
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

/** What is killed, and what the last state written before knows. */
interface Cut {
  readonly name: string;
  readonly resources: readonly TestResource[];
  /** The runner too, before OpenTofu. */
  readonly orphan: boolean;
  /** In the state, besides "base". */
  readonly recorded: readonly string[];
  readonly unrecorded: readonly string[];
}

const early = { resources: quick, recorded: [], unrecorded: ["quick", "slow"] };
const late = { resources: recorded, recorded: ["long", "quick"], unrecorded: ["slow"] };
const cuts: readonly Cut[] = [
  { name: "early", ...early, orphan: false },
  { name: "early-orphan", ...early, orphan: true },
  { name: "late", ...late, orphan: false },
  { name: "late-orphan", ...late, orphan: true },
];

async function cutOff(subject: Subject, cut: Cut): Promise<void> {
  const runId = await inSlow(subject, cut.resources);
  if (cut.orphan) {
    await subject.runner(runId).kill();
    await subject.when("the loss is told", ({ status }) => status?.run?.verdict !== "alive");
  }
  await (await tofuOf(subject.folder(runId), "apply")).kill();
  if (cut.orphan) {
    // The resource's own command outlives both: only when it has ended is the run dead.
    await subject.when("it is told", (object) =>
      /\(\d process(es)? lives?\)/.test(readyText(object)),
    );
    subject.workspace.passGate("slow");
  }
  const object = await heldWith(subject, runId, cut.unrecorded);
  expect(object.status?.plan?.summary, cut.name).toContain(`${cut.unrecorded.length} to add`);
  const kept = ["base", ...cut.recorded].map((each) => subject.workspace.address(each));
  expect((await world.state(subject.name))?.resources, cut.name).toEqual(kept.sort());
  await approved(subject, cut.resources);
  // What the state knew was not made a second time.
  const { workspace } = subject;
  const once = cut.recorded.map((each) => [`create ${workspace.address(each)}`, 1]);
  expect(workspace.actions(), cut.name).toMatchObject(Object.fromEntries(once));
}

test("SIGKILL of OpenTofu in apply is told, held for a person, and gone on with", async () => {
  const all = cuts.map((cut) => ({ cut, subject: world.add(cut.name, { resources: base }) }));
  world.estate.commit();
  await world.start();
  await Promise.all(all.map(({ subject, cut }) => cutOff(subject, cut)));
  await world.untilQuiet();
  expect(await leaksOf(world)).toEqual([]);
  expect(world.bugs()).toEqual([]);
});
