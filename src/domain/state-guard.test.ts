import { afterEach, describe, expect, test } from "vitest";
import type { TerraformSpec } from "../api/terraform.ts";
import { OneObject, REVISION_1 } from "../testing/one-object.ts";
import type { PlannedOn, StateHeadFact } from "./facts.ts";
import { stateGuards } from "./state-guard.ts";

const found = { serial: 7, lineage: "L", resources: 3 };
const byRun = { state: "present", runId: "run-1", ...found } as const;
const byPerson = { ...byRun, runId: undefined };
const custom = (text: string): Partial<TerraformSpec> => ({
  backendConfig: { customConfiguration: text },
});

/** An object whose state behind the door is known: serial 7 of lineage L with three resources. */
function behindDoor(spec: Partial<TerraformSpec> = {}): OneObject {
  const object = new OneObject({ approvePlan: "auto", ...spec });
  look(object, { state: "absent", former: undefined });
  object.settle();
  object.planned(1);
  look(object, byRun);
  object.applied();
  object.effects.length = 0;
  expect(object.status.state).toMatchObject({ present: true, ...found });
  return object;
}
function look(object: OneObject, head: StateHeadFact | undefined, place = "door"): void {
  object.observed.state = { ...object.observed.state, head, place };
}

/** An object whose state only runs can look at; known from its last plan. */
function inOwnBackend(spec: Partial<TerraformSpec> = {}): OneObject {
  const object = new OneObject({ approvePlan: "auto", ...custom("a"), ...spec });
  look(object, undefined, "custom-a");
  object.settle();
  object.planned(1, { state: { state: "absent" } });
  object.applied();
  object.whenDue();
  object.planned(0, { state: { state: "present", ...found } });
  object.effects.length = 0;
  expect(object.status.state).toMatchObject({ present: true, ...found });
  return object;
}

interface Change {
  readonly guard: string;
  /** Where it lies now, if that is elsewhere. */
  readonly place?: string;
  readonly head: StateHeadFact;
  readonly planned: PlannedOn;
  readonly says: string;
}

const none = { state: "absent" } as const;
const changes: Record<string, Change> = {
  "it vanished": {
    guard: "vanished",
    head: { state: "absent", former: found },
    planned: none,
    says: "has vanished. Known was serial 7 of lineage L, 3 managed resources; there is none",
  },
  "another one is in its place": {
    guard: "otherLineage",
    head: { ...byPerson, lineage: "M" },
    planned: { state: "present", ...found, lineage: "M" },
    says: "its lineage changed. Known was serial 7 of lineage L",
  },
  "an older one is in its place": {
    guard: "wentBack",
    head: { ...byPerson, serial: 4 },
    planned: { state: "present", ...found, serial: 4 },
    says: "its serial went back",
  },
  "everything in it is gone": {
    guard: "emptied",
    head: { ...byPerson, serial: 9, resources: 0 },
    planned: { state: "present", ...found, serial: 9, resources: 0 },
    says: "has lost every resource that was in it",
  },
  "the spec names a backend that has none": {
    guard: "moved",
    place: "custom-b",
    head: { state: "absent", former: undefined },
    planned: none,
    says: "is not in the backend that the spec names now",
  },
};
const each = Object.entries(changes);

test("every guard has its case", () => {
  expect(each.map(([, { guard }]) => guard).sort()).toEqual(Object.keys(stateGuards).sort());
});

describe("a state in a Secret, where nobody notes who writes", () => {
  const inSecret = { ...byPerson, writerHidden: true };

  test("what an apply of its own emptied is fine", () => {
    const object = behindDoor();
    look(object, inSecret);
    object.edit({ destroy: true });
    object.planned(3);
    look(object, { ...inSecret, serial: 8, resources: 0 });
    object.applied();
    object.whenDue();
    expect(object.ready).not.toContain("StateChanged");
    expect(object.status.state).toMatchObject({ serial: 8, resources: 0 });
  });

  test("what was emptied while no apply went on is not", () => {
    const object = behindDoor();
    look(object, { ...inSecret, serial: 8, resources: 0 });
    object.whenDue();
    expect(object.ready).toMatch(/^False StateChanged.*has lost every resource/);
    expect(object.status.run).toBeUndefined();
  });

  test("a damaged one is not taken for another: it goes on once it is as it was", () => {
    const object = behindDoor();
    const none = { serial: 0, lineage: "", resources: undefined };
    look(object, { ...inSecret, ...none, damage: "Secret x holds no state" });
    object.whenDue();
    expect(object.ready).toMatch(/^False StateChanged.*is damaged: Secret x holds no state/);
    expect(object.status.stateInQuestion).toBeUndefined();
    look(object, inSecret);
    object.whenDue();
    expect(object.status.run).toMatchObject({ operation: "plan" });
  });
});

describe("a state behind the door", () => {
  test.each(each)("%s: nothing is started, and the way out is named", (_, change) => {
    const object = behindDoor();
    look(object, change.head, change.place);
    object.whenDue();
    expect(object.status.run).toBeUndefined();
    expect(object.ready).toContain("False StateChanged: State of default/app (workspace default)");
    expect(object.ready).toContain(change.says);
    expect(object.ready).toContain('accept it with "nigari state accept default/app"');
    expect(object.condition("Stalled")).toMatchObject({ status: "True", reason: "StateChanged" });
    expect(object.events).toHaveLength(1);
    expect(object.decisions.at(-1)?.requeueAfterMs).toBe(15_000);
    const { status } = object;
    object.whenDue();
    expect(object.events, "told once").toHaveLength(1);
    expect(object.status, "written once").toEqual(status);
  });

  test("it is damaged: nothing is started, and it goes on once that is mended", () => {
    const object = behindDoor();
    look(object, { ...byRun, damage: "State file x is gone; restore it from a backup" });
    object.whenDue();
    expect(object.status.run).toBeUndefined();
    expect(object.ready).toMatch(
      /^False StateChanged: State of default\/app \(workspace default\) is damaged: State file x/,
    );
    expect(object.condition("Stalled")).toMatchObject({ status: "True", reason: "StateChanged" });
    look(object, byRun);
    object.whenDue();
    expect(object.status.run).toMatchObject({ operation: "plan" });
  });

  test.each(each)("%s: an approved plan is not applied on it", (_, change) => {
    const object = behindDoor();
    object.edit({ approvePlan: "" });
    object.planned(1);
    look(object, change.head, change.place);
    object.edit({ approvePlan: object.status.plan?.pending ?? "" });
    expect(object.status.run).toBeUndefined();
    expect(object.ready).toMatch(/^False StateChanged/);
  });

  test.each(each)("%s: it goes on by itself once the state is back", (_, change) => {
    const object = behindDoor();
    look(object, change.head, change.place);
    object.whenDue();
    look(object, { ...byPerson, serial: 10 });
    object.whenDue();
    expect(object.status.run).toMatchObject({ operation: "plan" });
    expect(object.status.state).toMatchObject({ serial: 10, lineage: "L" });
    expect(object.status.stateInQuestion).toBeUndefined();
  });

  test.each(each)("%s: it goes on once a person accepts this very state", (_, change) => {
    const object = behindDoor();
    look(object, change.head, change.place);
    object.whenDue();
    const word = object.status.stateInQuestion ?? "";
    expect(object.ready).toContain(`nigari.dev/accept-state: ${word})`);
    object.annotate({ "nigari.dev/accept-state": "none" });
    expect(object.status.run).toBeUndefined();
    object.annotate({ "nigari.dev/accept-state": word });
    expect(object.status.run).toMatchObject({ operation: "plan" });
    object.planned(0);
    expect(object.ready).toMatch(/^True/);
    expect(object.status.state?.present).toBe(change.head.state === "present");
    expect(object.status.stateInQuestion).toBeUndefined();
  });

  test("an acceptance is good once: the next loss is another one", () => {
    const object = behindDoor();
    look(object, { state: "absent", former: found });
    object.whenDue();
    object.annotate({ "nigari.dev/accept-state": object.status.stateInQuestion ?? "" });
    object.planned(1);
    look(object, { ...byRun, lineage: "N", serial: 1 });
    object.applied();
    look(object, { state: "absent", former: { ...found, lineage: "N", serial: 1 } });
    object.whenDue();
    expect(object.ready).toMatch(/^False StateChanged/);
  });

  test("what a run of its own emptied is fine", () => {
    const object = behindDoor();
    look(object, { ...byRun, serial: 8, resources: 0 });
    object.whenDue();
    expect(object.status.run).toMatchObject({ operation: "plan" });
    expect(object.status.state).toMatchObject({ serial: 8, resources: 0 });
  });

  test("one that was never known but once was there has vanished too", () => {
    const object = new OneObject();
    look(object, { state: "absent", former: found });
    object.settle();
    expect(object.ready).toMatch(/^False StateChanged.*has vanished/);
    expect(object.status.run).toBeUndefined();
  });

  test("one that another controller applied before, and that is not there, has vanished", () => {
    const adopted = new OneObject();
    adopted.observed.terraform.status = {
      ...adopted.observed.terraform.status,
      lastAppliedRevision: REVISION_1,
    };
    look(adopted, { state: "absent", former: undefined });
    adopted.settle();
    expect(adopted.ready).toMatch(
      /^False StateChanged.*has vanished. Known was one that was applied before; there is none/,
    );
    expect(adopted.status.run).toBeUndefined();
    look(adopted, { ...byPerson });
    adopted.whenDue();
    expect(adopted.status.run).toMatchObject({ operation: "plan" });
    expect(adopted.status.state).toMatchObject(found);
  });

  test("another workspace is another state, as the spec says", () => {
    const object = behindDoor();
    look(object, { state: "absent", former: undefined });
    object.edit({ workspace: "dev" });
    expect(object.status.run).toMatchObject({ operation: "plan" });
  });

  test("while a run writes, its state is the run's own business", () => {
    const object = behindDoor();
    object.whenDue();
    look(object, { ...byRun, serial: 99 });
    object.run({ stage: "plan" });
    expect(object.status.state).toMatchObject({ serial: 7 });
    object.planned(0);
    expect(object.status.state).toMatchObject({ serial: 99 });
  });

  test("nothing is destroyed with it either, and it is not let go as if nothing was there", () => {
    const object = behindDoor({ destroyResourcesOnDeletion: true });
    look(object, { state: "absent", former: found });
    object.delete();
    expect(object.gone).toBe(false);
    expect(object.ready).toMatch(/^False StateChanged/);
    object.annotate({ "nigari.dev/accept-state": object.status.stateInQuestion ?? "" });
    object.planned(0, { nothingToDestroy: true, state: none });
    expect(object.gone).toBe(true);
  });
});

describe("a state in a backend of the user's", () => {
  test.each(each)("%s: what was planned on it is not used", (_, change) => {
    const object = inOwnBackend();
    look(object, undefined, change.place ?? "custom-a");
    object.whenDue();
    object.planned(1, { state: change.planned });
    expect(object.asked).not.toContain("save-plan");
    expect(object.status.plan?.pending).toBeUndefined();
    expect(object.status.run).toBeUndefined();
    expect(object.ready).toMatch(/^False StateChanged/);
    expect(object.ready).toContain(change.says);
    expect(object.condition("Stalled")).toBeDefined();
    expect(object.decisions.at(-1)?.requeueAfterMs).toBe(600_000);
    object.whenDue();
    expect(object.status.run, "it is looked at again").toMatchObject({ operation: "plan" });
    object.planned(0, { state: { state: "present", ...found, serial: 8 } });
    expect(object.ready).toMatch(/^True/);
    expect(object.status.state).toMatchObject({ serial: 8 });
  });

  test.each(each)("%s: accepted, it is looked at at once and goes on", (_, change) => {
    const object = inOwnBackend();
    look(object, undefined, change.place ?? "custom-a");
    object.whenDue();
    object.planned(1, { state: change.planned });
    object.annotate({ "nigari.dev/accept-state": object.status.stateInQuestion ?? "" });
    expect(object.status.run).toMatchObject({ operation: "plan" });
    object.planned(1, { state: change.planned });
    expect(object.status.run).toMatchObject({ operation: "apply" });
    expect(object.status.stateInQuestion).toBeUndefined();
  });

  test("a destroy that finds nothing on a state that vanished lets nothing go", () => {
    const object = inOwnBackend({ destroyResourcesOnDeletion: true });
    object.delete();
    object.planned(0, { nothingToDestroy: true, state: none });
    expect(object.gone).toBe(false);
    expect(object.ready).toMatch(/^False StateChanged/);
    object.whenDue();
    object.planned(1, { state: { state: "present", ...found } });
    object.applied();
    expect(object.gone).toBe(true);
  });

  test("after the first apply it is known that there is one, if not which", () => {
    const object = new OneObject({ approvePlan: "auto", ...custom("a") });
    look(object, undefined, "custom-a");
    object.settle();
    object.planned(1, { state: none });
    expect(object.status.state).toBeUndefined();
    object.applied();
    expect(object.status.state).toMatchObject({ present: true, serial: 0 });
    object.whenDue();
    object.planned(1, { state: none });
    expect(object.ready).toMatch(/^False StateChanged.*has vanished/);
  });

  test("what is in it is not known after an apply, and is known after a destroy", () => {
    const object = inOwnBackend();
    object.source("main@sha1:ffff");
    object.planned(1, { state: { state: "present", ...found } });
    object.applied();
    expect(object.status.state?.resources).toBeUndefined();
    object.edit({ destroy: true });
    object.planned(1, { state: { state: "present", ...found, serial: 8 } });
    object.applied();
    expect(object.status.state).toMatchObject({ serial: 8, resources: 0 });
  });

  test("a plan that does not tell its state is taken as it is", () => {
    const object = inOwnBackend();
    object.whenDue();
    object.planned(0);
    expect(object.ready).toMatch(/^True/);
    expect(object.status.state).toMatchObject(found);
  });
});

describe("without a guard harm is done", () => {
  const guards = stateGuards as Record<string, (typeof stateGuards)[string] | undefined>;
  const whole = { ...stateGuards };
  afterEach(() => {
    for (const [name, guard] of Object.entries(whole)) guards[name] = guard;
  });
  test.each(each)("%s", (_, { guard, head, place, planned }) => {
    guards[guard] = { says: "", strikes: () => false };
    const object = behindDoor();
    look(object, head, place);
    object.whenDue();
    expect(object.status.run).toMatchObject({ operation: "plan" });
    const own = inOwnBackend();
    look(own, undefined, place ?? "custom-a");
    own.whenDue();
    own.planned(1, { state: planned });
    expect(own.status.run).toMatchObject({ operation: "apply" });
  });
});
