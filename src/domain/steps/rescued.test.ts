import { expect, test } from "vitest";
import type { TerraformSpec } from "../../api/terraform.ts";
import { OneObject } from "../../testing/one-object.ts";

const kept = { id: "v7", runId: "run-1", serial: 4, at: "2026-01-01T00:00:00Z" };

const ways: Record<string, { spec: Partial<TerraformSpec>; says: string }> = {
  "a state that Nigari keeps is accepted here": {
    spec: {},
    says: 'Accept it with "nigari state push default/app --accept v7"',
  },
  "a state of the user's backend is taken out, for here it would be of no use": {
    spec: { backendConfig: { customConfiguration: 'backend "local" {}' } },
    says: 'Take it out with "nigari state show default/app --version v7"',
  },
};
test.each(Object.entries(ways))("%s", (_, { spec, says }) => {
  const object = new OneObject(spec);
  object.observed.state = { lock: undefined, rescued: [kept] };
  object.settle();
  const ready = object.status.conditions?.find(({ type }) => type === "Ready");
  expect(ready).toMatchObject({ status: "False", reason: "StateRescued" });
  expect(ready?.message).toContain(says);
  expect(ready?.message).toContain('or drop it with "nigari state push default/app --drop v7"');
  expect(object.status.run).toBeUndefined();
});
