import { mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { EngineWorld } from "../../src/testing/harness/engine-world.ts";
import { leaksOf, openToOthers } from "../../src/testing/harness/secrecy.ts";
import { readyText } from "../../src/testing/harness/subject.ts";

// States and deletions on real tofu: what was kept for a destroy, a state that goes away.

async function within(work: (world: EngineWorld) => Promise<void>): Promise<void> {
  const world = new EngineWorld();
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

describe.concurrent("an engine", () => {
  test("destroys with what it kept, although source and inputs are gone", async () => {
    await within(async (world) => {
      const spec = { destroyResourcesOnDeletion: true };
      const app = world.add("app", { resources: [{ name: "first" }], spec });
      world.estate.commit();
      await world.start();
      await app.settled();
      const { store } = world.client;
      for (const file of ["secret", "repository-plain"]) world.estate.remove(file);
      const namespace = "default";
      await store.delete({ kind: "Secret", namespace, name: "vars" }, {}, world.call());
      await store.delete({ kind: "GitRepository", namespace, name: "plain" }, {}, world.call());
      await world.remove(app);
      await app.gone();
      expect(app.workspace.hasEffect("first", "destroy")).toBe(true);
      expect((await store.list("Secret", {}, world.call())).items).toEqual([]);
    });
  });

  test("never works on a state that vanished from a backend of the user's", async () => {
    await within(async (world) => {
      const file = join(world.scratch, "own", "app.tfstate");
      mkdirSync(join(world.scratch, "own"));
      const customConfiguration = `backend "local" { path = ${JSON.stringify(file)} }`;
      const spec = { backendConfig: { customConfiguration }, destroyResourcesOnDeletion: true };
      const app = world.add("app", { resources: [{ name: "first" }], spec });
      world.estate.commit();
      await world.start();
      await app.settled();
      expect(app.object?.status?.state).toMatchObject({ present: true });
      expect(await world.nigari("reconcile", "app", "--wait")).toMatchObject({ code: 0 });
      const { state } = app.object?.status ?? {};
      expect(state).toMatchObject({ resources: 1, lineage: expect.stringMatching(/^[\w-]{36}$/) });

      renameSync(file, `${file}.away`);
      expect(await world.nigari("reconcile", "app", "--wait")).toMatchObject({ code: 1 });
      expect(app.ready).toMatch(/^False StateChanged: State of default\/app .* has vanished/);
      expect(app.workspace.actions()).toEqual({ "create terraform_data.first": 1 });
      renameSync(`${file}.away`, file);
      expect(await world.nigari("reconcile", "app", "--wait")).toMatchObject({ code: 0 });
      expect(app.ready).toMatch(/^True NoDrift/);
      expect(app.object?.status?.state).toEqual(state);

      renameSync(file, `${file}.away`);
      await world.remove(app);
      await app.when("its destroy found no state", (object) => {
        return readyText(object).startsWith("False StateChanged");
      });
      expect(await world.nigari("delete", "app", "--orphan")).toMatchObject({ code: 0 });
      await app.gone();
      expect(app.workspace.hasEffect("first", "destroy")).toBe(false);
    });
  });

  test("goes on from a version that a person rolled back to", async () => {
    await within(async (world) => {
      const app = world.add("app", { resources: [{ name: "first" }] });
      world.estate.commit();
      await world.start();
      await app.settled();
      const before = await world.state("app");
      world.change(app, { resources: [{ name: "first" }, { name: "second" }] });
      world.estate.commit();
      await app.effect("second");
      await app.when("the second one is settled", ({ status }) => {
        return status?.run === undefined && (status?.state?.resources ?? 0) === 2;
      });
      const history = await world.nigari("state", "history", "app", "-o", "json");
      const versions: { id: string; serial: number }[] = JSON.parse(history.out);
      const old = versions.find(({ serial }) => serial === before?.serial);
      const said = await world.nigari("state", "rollback", "app", old?.id ?? "");
      expect(said).toMatchObject({ code: 0, error: "" });
      expect(await world.state("app")).toMatchObject({ resources: ["terraform_data.first"] });
      expect(await world.nigari("reconcile", "app", "--wait")).toMatchObject({ code: 0 });
      // It is not in that state, so it is made once more.
      expect(app.workspace.actions()).toEqual({
        "create terraform_data.first": 1,
        "create terraform_data.second": 2,
      });
      const after = await world.state("app");
      expect(after?.resources).toEqual(["terraform_data.first", "terraform_data.second"]);
      expect(after?.aside).toBe(0);
    });
  });
});
