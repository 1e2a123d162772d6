import { describe, expect, test } from "vitest";
import { bridgeOf, nodePlan, nodePlans, planOf, quickDeath, ranges, SLOTS } from "./plan.ts";

function plan(slot: number) {
  return planOf({ settings: quickDeath, slot, folder: `/tmp/${slot}`, bin: "/bin", cni: "/cni" });
}

describe("the plan of a cluster", () => {
  test("shares nothing with that of another slot", () => {
    const plans = Array.from({ length: SLOTS }, (_, slot) => plan(slot));
    const all = plans.flatMap((each) => [
      ...[each.id, each.host, each.loopback, bridgeOf(each)],
      ...Object.values(ranges(each)),
      ...nodePlans(each).flatMap(({ address, pods, netns }) => [address, pods, netns]),
    ]);
    expect(new Set(all).size).toBe(all.length);
  });

  test("names devices as the kernel can hold them", () => {
    const names = [bridgeOf(plan(SLOTS - 1)), ...nodePlans(plan(SLOTS - 1)).map((n) => n.cable)];
    // IFNAMSIZ, with the zero at its end.
    for (const name of names) expect(name.length).toBeLessThan(16);
  });

  test("knows its nodes only", () => {
    expect(nodePlan(plan(3), "b").address).toBe("10.89.3.12");
    expect(() => nodePlan(plan(3), "c")).toThrow('no node "c"');
  });
});
