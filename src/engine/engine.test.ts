import { describe, expect, test } from "vitest";
import { terraformOf } from "../testing/simulation/objects.ts";
import { World } from "../testing/simulation/world.ts";

describe("one object", () => {
  test("in auto mode goes from a commit to applied, once", async () => {
    const world = new World();
    await world.source();
    await world.apply(terraformOf({ approvePlan: "auto" }));
    await world.start();
    const terraform = await world.untilReady();
    expect(world.effects()).toEqual({ "create default/app terraform_data.one": 1 });
    expect(terraform.status?.lastAppliedRevision).toContain("main@sha1:");
    expect(world.bugs).toEqual([]);
  });
});
