import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { EngineWorld, type WorldOptions } from "../../src/testing/harness/engine-world.ts";
import { leaksOf, openToOthers } from "../../src/testing/harness/secrecy.ts";
import { readyText, type Subject } from "../../src/testing/harness/subject.ts";
import { livingOf, until } from "../../src/testing/harness/victims.ts";

// Days of an engine: it is away, started twice, stopped by a person, given bad manifests. The
// engines of these tests run side by side, for most of the time they wait.

const AWAY_MS = 60_000;
const PATIENCE_MS = 60_000;
const resources = [{ name: "first" }, { name: "slow", gated: true }, { name: "last" }];
const once = Object.fromEntries(
  ["first", "slow", "last"].map((name) => [`create terraform_data.${name}`, 1]),
);
const whole = { tainted: [], locked: false, aside: 0 };

async function within(options: WorldOptions, work: (world: EngineWorld) => Promise<void>) {
  const world = new EngineWorld(options);
  try {
    await work(world);
    await world.untilQuiet();
    expect(openToOthers(world)).toEqual([]);
    expect(await leaksOf(world)).toEqual([]);
    expect(world.bugs()).toEqual([]);
  } finally {
    await world.close();
  }
}

/** The object is in the middle of its apply. */
async function inSlow(world: EngineWorld, subject: Subject): Promise<string> {
  world.estate.commit();
  if (!world.runs) await world.start();
  await subject.effect("slow");
  await subject.when("its apply is told", ({ status }) => status?.run?.stage === "apply");
  return subject.runId();
}

function doorOf(world: EngineWorld): unknown {
  return JSON.parse(readFileSync(join(world.dataDir, "state-door.json"), "utf8"));
}

describe.concurrent("an engine", () => {
  test("that is away over the end of two applies finds both whole", async () => {
    await within({}, async (world) => {
      const kept = world.add("kept", { resources });
      const orphan = world.add("orphan", { resources });
      const runIds = [await inSlow(world, kept), await inSlow(world, orphan)];
      const door = doorOf(world);
      await world.kill();
      await orphan.runner(runIds[1]).kill();
      for (const { workspace } of [kept, orphan]) workspace.passGate("slow");
      await until("both have done their work", () => {
        return [kept, orphan].every(({ workspace }) => workspace.hasEffect("last"));
      });
      await sleep(AWAY_MS);
      // Both wait at the door of their state.
      for (const folder of [kept.folder(runIds[0]), orphan.folder(runIds[1])]) {
        expect(existsSync(join(folder.steps, "apply.exit"))).toBe(false);
        expect(await livingOf(folder)).not.toEqual([]);
      }
      await world.start();
      expect(doorOf(world)).toEqual(door);
      const ended = await kept.when("its end is told", ({ status }) => {
        return status?.lastRun?.id === runIds[0];
      });
      expect(ended.object.status?.lastRun).toMatchObject({ outcome: "succeeded" });
      const found = await orphan.when("its end is told", ({ status }) => {
        return status?.lastRun?.id === runIds[1];
      });
      expect(found.object.status?.lastRun).toMatchObject({
        outcome: "succeeded",
        message: expect.stringMatching(/runner was lost .*, but tofu finished the apply/),
      });
      for (const subject of [kept, orphan]) {
        await subject.settled();
        expect(subject.workspace.actions()).toEqual(once);
        expect(await world.state(subject.name)).toMatchObject(whole);
        expect(subject.calls("apply")).toBe(1);
      }
    });
  });

  test("tells a second one who holds the data directory", async () => {
    await within({}, async (world) => {
      const subject = world.add("held", { resources: [{ name: "one" }] });
      world.estate.commit();
      await world.start();
      const second = await world.nigari("up", world.estate.manifests);
      expect(second.code).toBe(1);
      expect(second.error).toContain(`Another engine holds the data directory ${world.dataDir}`);
      expect(second.error).toContain(`pid ${world.pid} on `);
      await subject.settled();
    });
  });

  test("whose lock file was lost is obeyed by what remembers the epochs before it", async () => {
    await within({}, async (world) => {
      const subject = world.add("again", { resources: [{ name: "one" }] });
      world.estate.commit();
      await world.start();
      await subject.settled();
      const { epoch } = await world.info();
      await world.kill();
      for (const file of ["lock.db", "engine.json"]) rmSync(join(world.dataDir, file));
      const next = world.add("next", { resources: [{ name: "one" }] });
      world.estate.commit();
      await world.start();
      expect((await world.info()).epoch).toBe(epoch + 1);
      await next.settled();
    });
  });

  test("says at Ctrl-C what goes on and how to come back, and does", async () => {
    await within({}, async (world) => {
      const subject = world.add("left", { resources });
      const rested = world.add("rested", { resources: [{ name: "one" }] });
      const runId = await inSlow(world, subject);
      await rested.settled();
      const door = doorOf(world);
      expect(await world.stop()).toBe(0);
      expect(world.said()).toContain(`default/left: apply, run ${runId}`);
      const back = `nigari up ${world.estate.manifests} --data-dir ${world.dataDir}`;
      expect(world.said()).toContain(`Come back with: ${back}\n`);
      expect(subject.runner(runId).lives()).toBe(true);
      subject.workspace.passGate("slow");
      await world.start();
      expect(doorOf(world)).toEqual(door);
      await subject.settled();
      expect(subject.workspace.actions()).toEqual(once);
      expect(await world.state("left")).toMatchObject(whole);
      // What was at rest is not touched by a restart.
      await rested.settled();
      expect(rested.calls("plan") + rested.calls("apply")).toBe(2);
    });
  });

  test("waits at Ctrl-C with --wait, starts nothing more, and ends at a second one", async () => {
    await within({ flags: ["--wait"] }, async (world) => {
      const subject = world.add("awaited", { resources });
      const runId = await inSlow(world, subject);
      world.interrupt();
      await until("it waits", () => world.said().includes("Waiting for the runs under way"));
      world.interrupt();
      expect(await world.ended()).toBe(130);
      expect(subject.runner(runId).lives()).toBe(true);
      await world.start();
      await subject.when("it is found again", ({ status }) => status?.run?.id === runId);
      const late = world.add("late", { resources: [{ name: "one" }] });
      world.interrupt();
      await until("it waits again", () => world.said().split("Waiting for the runs").length === 3);
      world.estate.commit();
      await sleep(3_000);
      expect(await world.answers()).toBe(true);
      subject.workspace.passGate("slow");
      expect(await world.ended()).toBe(0);
      expect(world.traces.folders()).toEqual([]);
      expect(subject.workspace.actions()).toEqual(once);
      expect(late.calls("init")).toBe(0);
      await world.start();
      await Promise.all([subject.settled(), late.settled()]);
      expect(subject.workspace.actions()).toEqual(once);
    });
  });

  test("keeps good objects going beside bad manifests, and deletes nothing by itself", async () => {
    await within({}, async (world) => {
      const good = world.add("good", { resources: [{ name: "one" }] });
      world.estate.putText("broken", "kind: Terraform\n  metadata: [\n");
      world.estate.put("wrong", {
        apiVersion: "infra.contrib.fluxcd.io/v1alpha2",
        kind: "Terraform",
        metadata: { name: "wrong" },
        spec: { interval: "often", sourceRef: { kind: "GitRepository", name: "plain" } },
      });
      world.estate.commit();
      await world.start();
      await good.settled();
      expect(world.said()).toMatch(/broken\.yaml:\d+/);
      expect(world.said()).toMatch(/wrong\.yaml:\d+.*spec\.interval/s);
      // The good one's next manifest is only half written: it stays as it is.
      world.estate.putText("good", '{ "kind": "Terraform", "metadata": { "name": "go');
      await until("that is told", () => /good\.yaml:\d+/.test(world.said()));
      expect(readyText(good.object)).toMatch(/^True /);
      for (const name of ["good", "broken", "wrong"]) world.estate.remove(name);
      const told = /Manifests have vanished; nothing is deleted without --prune .*good/;
      await until("the loss is told", () => told.test(world.said()));
      await sleep(3_000);
      expect(readyText(good.object)).toMatch(/^True /);
      expect(good.workspace.actions()).toEqual({ "create terraform_data.one": 1 });
    });
  });

  test("deletes what has vanished with --prune, and its resources if that is asked", async () => {
    await within({ flags: ["--prune"] }, async (world) => {
      const one = [{ name: "one" }];
      const spec = { destroyResourcesOnDeletion: true };
      const destroyed = world.add("destroyed", { resources: one, spec });
      const dropped = world.add("dropped", { resources: one });
      const kept = world.add("kept", { resources: one });
      world.estate.commit();
      await world.start();
      await Promise.all([destroyed, dropped, kept].map((each) => each.settled()));
      for (const name of ["destroyed", "dropped"]) world.estate.remove(name);
      await Promise.all([destroyed.gone(PATIENCE_MS), dropped.gone(PATIENCE_MS)]);
      const created = { "create terraform_data.one": 1 };
      const both = { ...created, "destroy terraform_data.one": 1 };
      expect(destroyed.workspace.actions()).toEqual(both);
      expect(dropped.workspace.actions()).toEqual(created);
      expect((await world.state("destroyed"))?.resources).toEqual([]);
      expect((await world.state("dropped"))?.resources).toEqual(["terraform_data.one"]);
      await kept.settled();
    });
  });
});
