import { expect, test } from "vitest";
import { OneObject, terraformOf } from "../testing/one-object.ts";
import { changedInputs } from "./input-words.ts";

type Sources = Record<string, string>;
const attempted = (inputs: Sources) => ({
  attempted: { revision: "r", generation: 1, inputsDigest: "d", inputs },
});
const cases: Record<string, { old: Sources | undefined; now: Sources; says: string }> = {
  "one changed": {
    old: { "Secret default/db": "1", "ConfigMap default/site": "1" },
    now: { "Secret default/db": "2", "ConfigMap default/site": "1" },
    says: "Secret db changed",
  },
  "several, one elsewhere": {
    old: { "Secret default/db": "1", "Secret ops/tofurc": "1" },
    now: { "Secret default/db": "2", "Secret ops/tofurc": "2" },
    says: "Secret db changed, Secret ops/tofurc changed",
  },
  "one that may lack came, another went": {
    old: { "Secret default/a": "", "ConfigMap default/b": "1" },
    now: { "Secret default/a": "1", "ConfigMap default/b": "" },
    says: "ConfigMap b is gone, Secret a exists now",
  },
  "an older version has not stored them": {
    old: undefined,
    now: { "Secret default/db": "2" },
    says: "its inputs have changed",
  },
  "something else of the inputs": { old: {}, now: {}, says: "its inputs have changed" },
};
test.each(Object.entries(cases))("%s", (_why, { old, now, says }) => {
  const fields = old === undefined ? {} : attempted(old);
  expect(changedInputs({ fields, terraform: terraformOf() }, { inputSources: now })).toBe(says);
});

function changeDb(object: OneObject): void {
  const sources = { "Secret default/db": "2" };
  object.observed.inputs = { state: "resolved", digest: "inputs-2", sources };
  object.settle();
}
function started(): OneObject {
  const object = new OneObject({});
  const sources = { "Secret default/db": "1" };
  object.observed.inputs = { state: "resolved", digest: "inputs-1", sources };
  object.settle();
  return object;
}

test("an object that was at rest says which Secret changed, in event and note", () => {
  const object = started();
  object.planned(0);
  changeDb(object);
  expect(object.status.run).toMatchObject({ reason: "InputsChanged", note: "Secret db changed" });
  expect(object.events).toContain("InputsChanged: Secret db changed, so a new plan is made");
  object.run({ stage: "plan", runner: "running", startedAt: "2026-01-01T00:00:00Z" });
  expect(object.status.run).toMatchObject({ stage: "plan", note: "Secret db changed" });
});

test("a plan that waits for a person goes stale in the same words", () => {
  const object = started();
  object.planned(1);
  changeDb(object);
  expect(object.events).toContainEqual(
    expect.stringMatching(/^PlanStale: Plan plan-\S+ went stale: Secret db changed$/),
  );
  expect(object.status.run).toMatchObject({ reason: "PlanStale" });
});
