import { describe, expect, test } from "vitest";
import { OneObject } from "../../src/testing/one-object.ts";

// Upstream's cases that are one decision and nothing else, told anew under their numbers.

function applied(spec: ConstructorParameters<typeof OneObject>[0] = {}): OneObject {
  const object = new OneObject({ approvePlan: "auto", ...spec });
  object.settle();
  object.planned(1);
  object.applied();
  return object;
}

describe("000180 whether a plan is a look for drift", () => {
  const rows: Record<string, { object: () => OneObject; drift: boolean }> = {
    "a new object: no": { object: () => new OneObject(), drift: false },
    "applied, nothing has changed: yes": { object: () => applied(), drift: true },
    "planned without changes, applied never: yes": {
      object: () => {
        const object = new OneObject();
        object.settle();
        object.planned(0);
        return object;
      },
      drift: true,
    },
    "everything is to be destroyed: no": {
      object: () => {
        const object = applied();
        object.edit({ destroy: true });
        return object;
      },
      drift: false,
    },
    "the spec has changed: no": {
      object: () => {
        const object = applied();
        object.edit({ path: "./other" });
        return object;
      },
      drift: false,
    },
    "the last apply failed: no, where upstream looks for drift for ever": {
      object: () => {
        const object = new OneObject({ approvePlan: "auto" });
        object.settle();
        object.planned(1);
        object.run({ stage: "apply" });
        object.fails({ stage: "apply" });
        return object;
      },
      drift: false,
    },
    "by hand, with a plan that waits: no look is made": {
      object: () => {
        const object = new OneObject();
        object.settle();
        return object;
      },
      drift: false,
    },
    "000200 nobody wants to know: no": {
      object: () => applied({ disableDriftDetection: true }),
      drift: false,
    },
    "only to be watched: always": {
      object: () => new OneObject({ approvePlan: "disable" }),
      drift: true,
    },
  };
  test.each(Object.entries(rows))("%s", (_name, { object: make, drift }) => {
    const object = make();
    object.settle();
    if (object.status.run === undefined) object.whenDue();
    object.planned(1);
    expect(object.status.lastDriftDetectedAt !== undefined).toBe(drift);
  });
});
