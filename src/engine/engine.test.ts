import { describe, expect, test } from "vitest";
import { REQUESTED_AT } from "../api/names.ts";
import type { Terraform } from "../api/terraform.ts";
import { secretOf, terraformOf } from "../testing/simulation/objects.ts";
import { isReady, World } from "../testing/simulation/world.ts";

const ONE = { "create default/app terraform_data.one": 1 };

function ready(terraform: Terraform) {
  return terraform.status?.conditions?.find(({ type }) => type === "Ready");
}
function launches(world: World): number {
  return world.platform.calls.filter((call) => call.startsWith("start ")).length;
}

describe("one object", () => {
  test("in auto mode goes from a commit to applied, once, and leaves nothing running", async () => {
    const world = new World();
    await world.source();
    await world.apply(terraformOf({ approvePlan: "auto" }));
    await world.start();
    const terraform = await world.untilReady();
    expect(world.effects()).toEqual(ONE);
    expect(terraform.status?.lastAppliedRevision).toContain("main@sha1:");
    await world.clock.advance(5_000);
    expect(await world.platform.list(world.call())).toEqual([]);
    expect(world.bugs).toEqual([]);
  });

  test("waits for a person by hand, and applies the very plan that was shown", async () => {
    const world = new World();
    await world.source();
    await world.apply(terraformOf());
    await world.start();
    await world.until("a plan waits", async () => {
      const { status } = await world.terraform();
      return status?.plan?.pending !== undefined && status.run === undefined;
    });
    const { status } = await world.terraform();
    const pending = status?.plan?.pending ?? "";
    expect(ready(await world.terraform())?.message).toContain(pending);
    await world.clock.advance(60_000);
    expect(world.effects()).toEqual({});
    await world.edit("app", (terraform) => {
      terraform.spec.approvePlan = pending;
    });
    const done = await world.untilReady();
    expect(world.effects()).toEqual(ONE);
    expect(done.status?.plan?.lastApplied).toBe(pending);
    expect(launches(world)).toBe(2);
  });

  test("hands variables from a Secret to the run, and masks them there", async () => {
    const orders: { variables: string; sensitive: readonly string[] }[] = [];
    const world = new World({
      script: (order) => {
        orders.push(order);
        return {};
      },
    });
    await world.source();
    await world.apply(secretOf("db", { password: "hunter2-hunter2" }));
    const varsFrom = [{ kind: "Secret" as const, name: "db" }];
    await world.apply(terraformOf({ approvePlan: "auto", varsFrom }));
    await world.start();
    await world.untilReady();
    expect(orders.map(({ variables }) => variables)).toContain('{"password":"hunter2-hunter2"}');
    expect(orders[0]?.sensitive).toContain("hunter2-hunter2");
    expect(world.lines.join("\n")).not.toContain("hunter2");
    expect(JSON.stringify(await world.terraform())).not.toContain("hunter2");
  });

  test("plans anew at once when Secrets change, once for all that change together", async () => {
    const world = new World();
    await world.source();
    const names = ["db", "mail"];
    for (const name of names) await world.apply(secretOf(name, { [name]: "before-before" }));
    const varsFrom = names.map((name) => ({ kind: "Secret" as const, name }));
    await world.apply(terraformOf({ approvePlan: "auto", varsFrom, interval: "10h" }));
    await world.start();
    await world.untilReady();
    const before = launches(world);
    for (const name of names) await world.apply(secretOf(name, { [name]: "after-after" }));
    await world.until("it plans anew", () => launches(world) > before, 5_000);
    await world.untilReady();
    expect(launches(world)).toBe(before + 1);
    const events = (await world.store.list("Event", {}, world.call())).items;
    expect(events.map(({ message }) => message)).toContain(
      "Secret db changed, Secret mail changed, so a new plan is made",
    );
  });

  test("says which Secret lacks, and goes on once somebody makes it", async () => {
    const world = new World();
    await world.source();
    const varsFrom = [{ kind: "Secret" as const, name: "db" }];
    await world.apply(terraformOf({ approvePlan: "auto", varsFrom, retryInterval: "10h" }));
    await world.start();
    await world.until("it says so", async () =>
      (ready(await world.terraform())?.message ?? "").includes("Secret default/db does not exist"),
    );
    await world.apply(secretOf("db", { password: "hunter2-hunter2" }));
    await world.untilReady("app", 20_000);
    expect(world.effects()).toEqual(ONE);
  });

  test("obeys a new commit and a request for a look", async () => {
    const world = new World({
      script: (order) => ({
        resources: order.artifactDigest.startsWith("3bfc") ? ["one"] : ["one", "two"],
      }),
    });
    await world.source("code", "v1");
    await world.apply(terraformOf({ approvePlan: "auto", interval: "10h" }));
    await world.start();
    await world.untilReady();
    await world.source("code", "v2");
    await world.until("the new revision is applied", () => world.platform.world.effects.length > 1);
    await world.untilReady();
    const before = launches(world);
    await world.edit("app", ({ metadata }) => {
      metadata.annotations = { [REQUESTED_AT]: "now" };
    });
    await world.until("the request is handled", async () => {
      const { status } = await world.terraform();
      return status?.lastHandledReconcileAt === "now";
    });
    expect(launches(world)).toBeGreaterThan(before);
  });

  const during: Record<string, (world: World) => Promise<void>> = {
    "a commit": (world) => world.source("code", "v2"),
    "a change of the spec": (world) =>
      world.edit("app", ({ spec }) => {
        spec.vars = [{ name: "size", value: 2 }];
      }),
    "a request": (world) =>
      world.edit("app", ({ metadata }) => {
        metadata.annotations = { [REQUESTED_AT]: "now" };
      }),
  };
  test.each(Object.entries(during))("answers %s during an apply right after it", async (_, act) => {
    const world = new World({ script: () => ({ stageMs: { apply: 20_000 } }) });
    await world.source("code", "v1");
    await world.apply(terraformOf({ approvePlan: "auto", interval: "10h" }));
    await world.start();
    const runId = await world.untilStage("apply");
    await act(world);
    await world.until("the apply has ended", async () => {
      return (await world.terraform()).status?.lastRun?.id === runId;
    });
    const beganMs = world.clock.monotonic();
    await world.until("a plan is under way", async () => {
      return (await world.terraform()).status?.run?.operation === "plan";
    });
    expect(world.clock.monotonic() - beganMs).toBeLessThanOrEqual(1_000);
  });

  test("that is deleted destroys what it made and goes", async () => {
    const world = new World();
    await world.source();
    await world.apply(terraformOf({ approvePlan: "auto", destroyResourcesOnDeletion: true }));
    await world.start();
    await world.untilReady();
    await world.remove("Terraform", "app");
    await world.until(
      "it has gone",
      async () => (await world.get("Terraform", "app")) === undefined,
    );
    expect(world.effects()).toEqual({ ...ONE, "delete default/app terraform_data.one": 1 });
    await world.clock.advance(5_000);
    expect(await world.platform.list(world.call())).toEqual([]);
    expect((await world.store.list("Secret", {}, world.call())).items).toEqual([]);
  });
});

describe("one object whose source has gone", () => {
  test("is destroyed with what it was last made from", async () => {
    const world = new World();
    await world.source();
    await world.apply(terraformOf({ approvePlan: "auto", destroyResourcesOnDeletion: true }));
    await world.start();
    await world.untilReady();
    await world.remove("GitRepository", "code");
    await world.remove("Terraform", "app");
    await world.until(
      "it has gone",
      async () => (await world.get("Terraform", "app")) === undefined,
    );
    expect(world.effects()).toEqual({ ...ONE, "delete default/app terraform_data.one": 1 });
  });
});

describe("objects beside each other", () => {
  test("a chain of dependencies is applied in its order, each as soon as it may", async () => {
    const world = new World();
    await world.source();
    const spec = (on?: string) => ({
      approvePlan: "auto",
      retryInterval: "10h",
      ...(on === undefined ? {} : { dependsOn: [{ name: on }] }),
    });
    await world.apply(terraformOf(spec("b"), "c"));
    await world.apply(terraformOf(spec("a"), "b"));
    await world.apply(terraformOf(spec(), "a"));
    await world.start();
    await world.untilReady("c", 30_000);
    expect(world.platform.world.effects.map(({ object }) => object)).toEqual([
      "default/a",
      "default/b",
      "default/c",
    ]);
  });

  test("no more runs than slots, and all come to their turn", async () => {
    const world = new World({ engine: { maxRuns: 3 } });
    await world.source();
    const names = Array.from({ length: 20 }, (_, index) => `app-${index}`);
    for (const name of names) await world.apply(terraformOf({ approvePlan: "auto" }, name));
    await world.start();
    let most = 0;
    await world.until("all are ready", async () => {
      const { items } = await world.store.list("Terraform", {}, world.call());
      most = Math.max(most, items.filter(({ status }) => status?.run !== undefined).length);
      return items.every(isReady);
    });
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(3);
    expect(Object.values(world.effects())).toEqual(names.map(() => 1));
    expect(world.bugs).toEqual([]);
  });

  test("frozen runners do not keep others from theirs", async () => {
    const world = new World({
      engine: { maxRuns: 2 },
      script: () => ({ stageMs: { init: 5_000 } }),
    });
    await world.source();
    const frozen = ["f-0", "f-1"];
    for (const name of frozen) await world.apply(terraformOf({ approvePlan: "auto" }, name));
    await world.start();
    for (const name of frozen) world.platform.freeze(await world.untilStage("init", name));
    const healthy = ["h-0", "h-1", "h-2", "h-3"];
    for (const name of healthy) await world.apply(terraformOf({ approvePlan: "auto" }, name));
    for (const name of healthy) await world.untilReady(name);
    for (const name of frozen) await world.untilReady(name);
    expect(Object.values(world.effects())).toEqual([...frozen, ...healthy].map(() => 1));
  });
});

describe("a world that fails", () => {
  test("a store that is away for a while costs time and nothing else", async () => {
    const world = new World({ script: () => ({ stageMs: { apply: 20_000 } }) });
    await world.source();
    await world.apply(terraformOf({ approvePlan: "auto" }));
    await world.start();
    await world.untilStage("apply");
    world.faults.unavailable = true;
    world.faults.breakWatches("Unavailable");
    await world.clock.advance(60_000);
    world.faults.unavailable = false;
    await world.untilReady();
    expect(world.effects()).toEqual(ONE);
    expect(world.bugs).toEqual([]);
  });

  test("watches that come too late list anew and miss nothing", async () => {
    const world = new World();
    await world.source();
    await world.apply(terraformOf({ approvePlan: "auto", interval: "10h" }));
    await world.start();
    await world.untilReady();
    world.faults.onEvent = () => "lose";
    await world.apply(terraformOf({ approvePlan: "auto" }, "second"));
    await world.clock.advance(5_000);
    world.faults.onEvent = () => "deliver";
    world.faults.breakWatches("Expired");
    await world.untilReady("second");
  });

  test("calls that hang are left, and the object is looked at again", async () => {
    const world = new World();
    await world.source();
    await world.apply(terraformOf({ approvePlan: "auto" }));
    let hanging = 3;
    world.faults.onCall = ({ verb, kind }) => {
      if (verb !== "get" || kind !== "Terraform" || hanging === 0) return undefined;
      hanging -= 1;
      return { hang: true };
    };
    await world.start();
    await world.clock.advance(1_000);
    await world.untilReady("app", 300_000);
    expect(hanging).toBe(0);
    expect(world.effects()).toEqual(ONE);
  });

  test("a bug in one object's pass is logged with its key, and others go on", async () => {
    const world = new World();
    await world.source();
    await world.apply(terraformOf({ approvePlan: "auto" }, "odd"));
    await world.apply(terraformOf({ approvePlan: "auto" }, "sound"));
    world.beforeDecision = (observed) => {
      if (observed.terraform.metadata.name === "odd") throw new Error("no such case");
    };
    await world.start();
    await world.untilReady("sound");
    await world.clock.advance(30_000);
    const bugs = world.bugs.filter((line) => line.includes("no such case"));
    expect(bugs.length).toBeGreaterThan(1);
    expect(bugs.length).toBeLessThan(40);
    expect(bugs[0]).toContain("default/odd");
  });
});

describe("an engine that ends", () => {
  test("in order leaves its run to itself, and the next one collects it", async () => {
    const world = new World({ script: () => ({ stageMs: { apply: 20_000 } }) });
    await world.source();
    await world.apply(terraformOf({ approvePlan: "auto" }));
    const first = await world.start();
    await world.untilStage("apply");
    const stopped = first.engine.stop();
    await world.clock.advance(1_000);
    await stopped;
    expect(await first.engine.ended).toBe("stopped");
    await world.clock.advance(60_000);
    expect((await world.terraform()).status?.run?.stage).toBe("apply");
    await world.start();
    await world.untilReady();
    expect(world.effects()).toEqual(ONE);
    expect(launches(world)).toBe(2);
  });

  test("in order leaves nothing of the runs it has collected", async () => {
    const world = new World();
    await world.source();
    await world.apply(terraformOf());
    const { engine } = await world.start();
    let stopped: Promise<void> | undefined;
    world.beforeDecision = ({ run }) => {
      if (run?.outcome !== undefined) stopped ??= engine.stop();
    };
    await world.until("its plan is collected", () => stopped !== undefined);
    await world.clock.advance(5_000);
    await stopped;
    expect((await world.terraform()).status?.lastRun?.outcome).toBe("succeeded");
    expect(await world.platform.list(world.call())).toEqual([]);
  });

  test("draining starts nothing new and waits for what runs", async () => {
    const world = new World({ script: () => ({ stageMs: { plan: 10_000 } }) });
    await world.source();
    await world.apply(terraformOf());
    const { engine } = await world.start();
    await world.untilStage("plan");
    let drained = false;
    const draining = engine.drain(new AbortController().signal).then(() => {
      drained = true;
    });
    await world.apply(terraformOf({}, "late"));
    await world.clock.advance(5_000);
    expect(drained).toBe(false);
    await world.clock.advance(15_000);
    expect(drained).toBe(true);
    await draining;
    expect((await world.terraform("late")).status?.run).toBeUndefined();
    expect((await world.terraform()).status?.plan?.pending).toBeDefined();
  });

  test("before it leads never begins", async () => {
    const world = new World();
    await world.source();
    await world.apply(terraformOf({ approvePlan: "auto" }));
    const starting = world.start();
    const { engine } = await starting;
    await engine.stop();
    await world.clock.advance(10_000);
    expect((await world.terraform()).status?.run?.startedAt).toBeUndefined();
  });

  test("by losing the lead writes nothing more", async () => {
    const world = new World({ script: () => ({ stageMs: { plan: 10_000 } }) });
    await world.source();
    await world.apply(terraformOf());
    const { engine } = await world.start();
    await world.untilStage("plan");
    world.leadership.lose();
    expect(await engine.ended).toBe("leadership lost");
    const before = await world.terraform();
    await world.clock.advance(60_000);
    expect(await world.terraform()).toEqual(before);
  });
});
