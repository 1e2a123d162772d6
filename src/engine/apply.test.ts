import { beforeEach, describe, expect, test } from "vitest";
import { memoryObjectStore } from "../adapters/memory/object-store.ts";
import type { ConfigMap, Secret } from "../api/core.ts";
import type { AnyObject } from "../api/kinds.ts";
import { APPLIED_BY, LAST_APPLIED } from "../api/names.ts";
import type { Terraform } from "../api/terraform.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import { seededRandom, VirtualClock } from "../testing/fakes/clock.ts";
import { applyObject } from "./apply.ts";

const call = { signal: new AbortController().signal };
let store: ObjectStore;
beforeEach(() => {
  store = memoryObjectStore({ clock: new VirtualClock(), random: seededRandom(1) });
});

function terraform(spec: Partial<Terraform["spec"]> = {}, metadata = {}): Terraform {
  return {
    apiVersion: "infra.contrib.fluxcd.io/v1alpha2",
    kind: "Terraform",
    metadata: { name: "web", namespace: "default", ...metadata },
    spec: { interval: "5m", sourceRef: { kind: "GitRepository", name: "infra" }, ...spec },
  };
}
const apply = (object: AnyObject, owner?: string) => applyObject(store, object, owner, call);
const web = { kind: "Terraform", namespace: "default", name: "web" } as const;
async function stored(): Promise<Terraform> {
  const found = await store.get(web, call);
  if (found === undefined) throw new Error("It is not there");
  return found;
}
async function person(edit: (object: Terraform) => void): Promise<void> {
  const object = structuredClone(await stored());
  edit(object);
  await store.update(object, "main", call);
}

test("the first time creates, the second writes nothing", async () => {
  expect(await apply(terraform({ path: "./a" }), "me")).toBe("created");
  const first = await stored();
  expect(first.metadata.labels).toEqual({ [APPLIED_BY]: "me" });
  expect(await apply(terraform({ path: "./a" }), "me")).toBe("unchanged");
  expect((await stored()).metadata.resourceVersion).toBe(first.metadata.resourceVersion);
});

test("what the command line changed survives a manifest that changes elsewhere", async () => {
  await apply(terraform({ suspend: false, path: "./a" }));
  await person((object) => {
    object.spec.suspend = true;
    object.spec.approvePlan = "plan-main-1";
    object.metadata.annotations = { ...object.metadata.annotations, "a.test/at": "now" };
  });
  expect(await apply(terraform({ suspend: false, path: "./a" }))).toBe("unchanged");
  expect(await apply(terraform({ suspend: false, path: "./b" }))).toBe("configured");
  const { spec, metadata } = await stored();
  expect(spec).toMatchObject({ suspend: true, approvePlan: "plan-main-1", path: "./b" });
  expect(metadata.annotations).toMatchObject({ "a.test/at": "now" });
});

test("what the manifest drops goes, and an object of others keeps what it had", async () => {
  await store.create(terraform({ parallelism: 3 }, { labels: { mine: "x" } }), call);
  expect(await apply(terraform({ path: "./a" }, { labels: { team: "t" } }))).toBe("configured");
  expect((await stored()).spec).toMatchObject({ parallelism: 3, path: "./a" });
  expect(await apply(terraform({}))).toBe("configured");
  const { spec, metadata } = await stored();
  expect(spec).not.toHaveProperty("path");
  expect(spec.parallelism).toBe(3);
  expect(metadata.labels).toEqual({ mine: "x" });
});

test("status, finalizers and owners are no manifest's business", async () => {
  await apply(terraform({ path: "./a" }));
  await person((object) => {
    object.metadata.finalizers = ["a.test/x"];
  });
  const status = { lastAppliedRevision: "main@sha1:1" };
  await store.update({ ...(await stored()), status }, "status", call);
  const forged = { ...terraform({ path: "./b" }), status: { lastAppliedRevision: "forged" } };
  expect(await apply(forged)).toBe("configured");
  const after = await stored();
  expect(after.status).toEqual(status);
  expect(after.metadata.finalizers).toEqual(["a.test/x"]);
  expect(after.metadata.generation).toBe(2);
});

test("an object on its way out is left alone, and made anew once it is gone", async () => {
  await apply(terraform());
  await person((object) => {
    object.metadata.finalizers = ["a.test/x"];
  });
  await store.delete(web, {}, call);
  expect(await apply(terraform({ path: "./b" }))).toBe("deleting");
  await person((object) => {
    object.metadata.finalizers = [];
  });
  expect(await apply(terraform({ path: "./b" }))).toBe("created");
});

test("who writes at the same time loses nothing", async () => {
  await apply(terraform());
  const racing: ObjectStore = {
    ...bound(store),
    async get(ref, each) {
      const found = await store.get(ref, each);
      if (raced < 2) await person((object) => Object.assign(object.spec, { parallelism: ++raced }));
      return found;
    },
  };
  let raced = 0;
  expect(await applyObject(racing, terraform({ path: "./b" }), undefined, call)).toBe("configured");
  expect((await stored()).spec).toMatchObject({ path: "./b", parallelism: 2 });
});

test("a store that is always in conflict ends in an error, not in a loop", async () => {
  await apply(terraform());
  const racing: ObjectStore = {
    ...bound(store),
    async get(ref, each) {
      const found = await store.get(ref, each);
      await person((object) => Object.assign(object.spec, { parallelism: ++raced }));
      return found;
    },
  };
  let raced = 0;
  const applying = applyObject(racing, terraform({ path: "./b" }), undefined, call);
  await expect(applying).rejects.toMatchObject({ code: "Conflict" });
});

function bound(of: ObjectStore): ObjectStore {
  return {
    get: (ref, each) => of.get(ref, each),
    list: (kind, where, each) => of.list(kind, where, each),
    create: (object, each) => of.create(object, each),
    update: (object, part, each) => of.update(object, part, each),
    delete: (ref, preconditions, each) => of.delete(ref, preconditions, each),
    watch: (kind, from, each) => of.watch(kind, from, each),
  };
}

describe("Secrets and ConfigMaps", () => {
  const secret = (more: Partial<Secret>): Secret => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "vars", namespace: "default" },
    ...more,
  });
  const get = () => store.get({ kind: "Secret", namespace: "default", name: "vars" }, call);

  test("no value stands in the annotation; plain text applied again writes nothing", async () => {
    const manifest = secret({ stringData: { password: "hunter2", user: "me" } });
    expect(await apply(manifest)).toBe("created");
    expect(await apply(manifest)).toBe("unchanged");
    const note = (await get())?.metadata.annotations?.[LAST_APPLIED] ?? "";
    expect(note).toContain("password");
    expect(note).not.toContain("hunter2");
    expect(note).not.toContain(Buffer.from("hunter2").toString("base64"));
  });

  test("the manifest's value wins, a dropped key goes, a stranger's key stays", async () => {
    await apply(secret({ stringData: { a: "1", b: "1" } }));
    const live = await get();
    await store.update(
      secret({ ...live, data: { ...live?.data, a: "eA==", c: "eA==" } }),
      "main",
      call,
    );
    expect(await apply(secret({ stringData: { a: "1" } }))).toBe("configured");
    expect((await get())?.data).toEqual({ a: "MQ==", c: "eA==" });
  });

  test("a ConfigMap may be larger than annotations are", async () => {
    const map: ConfigMap = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "big", namespace: "default" },
      data: { a: "x".repeat(900_000) },
    };
    expect(await apply(map)).toBe("created");
    expect(await apply(map)).toBe("unchanged");
  });
});

test("a manifest too large to be remembered still applies, and wins everywhere", async () => {
  const values = { text: "x".repeat(300_000) };
  expect(await apply(terraform({ values, suspend: false }))).toBe("created");
  expect(await apply(terraform({ values, suspend: false }))).toBe("unchanged");
  await person((object) => Object.assign(object.spec, { suspend: true }));
  expect(await apply(terraform({ values, suspend: false }))).toBe("configured");
});
