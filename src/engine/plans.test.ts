import { randomBytes } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { storeWith, terraformOf } from "../testing/simulation/objects.ts";
import { sha256Hex } from "./canonical.ts";
import { deletePlan, loadPlan, savePlan } from "./plans.ts";

const call = { signal: new AbortController().signal };
/** A store with one object, and that object as it is stored. */
async function open() {
  const store = await storeWith(terraformOf());
  const terraform = await store.get({ kind: "Terraform", namespace: "default", name: "app" }, call);
  if (terraform === undefined) throw new Error("no object");
  return { store, terraform };
}
const id = "plan-main-0123456789";
const plan = (binary: Uint8Array) => ({ id, binary, json: undefined, text: undefined });

test("a small plan is one Secret as tofu-controller writes it", async () => {
  const { store, terraform } = await open();
  const binary = Buffer.from("the plan");
  await savePlan(terraform, plan(binary), store, call);
  const { items } = await store.list("Secret", {}, call);
  expect(items).toHaveLength(1);
  const [secret] = items;
  expect(secret?.metadata).toMatchObject({
    name: "tfplan-default-app",
    labels: {
      "infra.contrib.fluxcd.io/plan-name": "app",
      "infra.contrib.fluxcd.io/plan-workspace": "default",
    },
    annotations: {
      savedPlan: id,
      encoding: "gzip",
      "infra.contrib.fluxcd.io/plan-full-name": "app",
      "infra.contrib.fluxcd.io/plan-full-workspace": "default",
      "infra.contrib.fluxcd.io/plan-hash": sha256Hex(binary),
    },
    ownerReferences: [
      {
        apiVersion: "infra.contrib.fluxcd.io/v1alpha2",
        kind: "Terraform",
        name: "app",
        uid: terraform.metadata.uid,
      },
    ],
  });
  expect(secret?.metadata.annotations).not.toHaveProperty("infra.contrib.fluxcd.io/plan-chunk");
  expect(gunzipSync(Buffer.from(secret?.data?.tfplan ?? "", "base64")).toString()).toBe("the plan");
});

test("a plan that does not shrink below 1 MiB is cut and put together again", async () => {
  const { store, terraform } = await open();
  const binary = randomBytes(2_500_000);
  await savePlan(terraform, plan(binary), store, call);
  const { items } = await store.list("Secret", {}, call);
  expect(items.map((each) => each.metadata.name).sort()).toEqual([
    "tfplan-default-app-0",
    "tfplan-default-app-1",
    "tfplan-default-app-2",
  ]);
  for (const { metadata, data } of items) {
    const bytes = Buffer.from(data?.tfplan ?? "", "base64");
    expect(bytes.length).toBeLessThanOrEqual(1_048_576);
    expect(metadata.annotations?.["infra.contrib.fluxcd.io/plan-hash"]).toBe(sha256Hex(bytes));
  }
  const loaded = await loadPlan(terraform, store, call);
  expect(loaded).toMatchObject({ state: "loaded", id, digest: sha256Hex(binary) });
});

test("the readable forms lie beside it: JSON in a Secret, text in ConfigMaps", async () => {
  const { store, terraform } = await open();
  const text = "ü".repeat(700_000);
  const files = {
    binary: Buffer.from("b"),
    json: Buffer.from("{}"),
    text: Buffer.from(text),
    textForAll: true,
  };
  await savePlan(terraform, { id, ...files }, store, call);
  const json = await store.get(
    {
      kind: "Secret",
      namespace: "default",
      name: "tfplan-default-app.json",
    },
    call,
  );
  expect(json?.metadata.annotations?.["infra.contrib.fluxcd.io/plan-full-name"]).toBe("app.json");
  const maps = (await store.list("ConfigMap", {}, call)).items;
  expect(maps.map((each) => each.metadata.name)).toEqual([
    "tfplan-default-app-0",
    "tfplan-default-app-1",
  ]);
  expect(maps.map((each) => each.data?.tfplan).join("")).toBe(text);
  expect(maps[0]?.metadata.annotations).not.toHaveProperty("encoding");
});

test("saving replaces, and deleting leaves nothing of any form", async () => {
  const { store, terraform } = await open();
  const large = {
    binary: randomBytes(1_500_000),
    json: Buffer.from("{}"),
    text: Buffer.from("t"),
    textForAll: true,
  };
  await savePlan(terraform, { id: "plan-old", ...large }, store, call);
  await savePlan(terraform, plan(Buffer.from("new")), store, call);
  expect((await store.list("Secret", {}, call)).items).toHaveLength(1);
  expect((await store.list("ConfigMap", {}, call)).items).toHaveLength(0);
  await deletePlan(terraform, store, call);
  expect((await store.list("Secret", {}, call)).items).toHaveLength(0);
  expect(await loadPlan(terraform, store, call)).toEqual({ state: "absent" });
});

test("a piece that is missing or changed makes the plan damaged, not another plan", async () => {
  const { store, terraform } = await open();
  await savePlan(terraform, plan(randomBytes(2_500_000)), store, call);
  const ref = { kind: "Secret" as const, namespace: "default", name: "tfplan-default-app-1" };
  const piece = await store.get(ref, call);
  await store.delete(ref, {}, call);
  expect(await loadPlan(terraform, store, call)).toMatchObject({ state: "damaged", id });
  if (piece === undefined) throw new Error("no piece");
  const other = { tfplan: Buffer.from("other").toString("base64") };
  const { resourceVersion: _version, uid: _uid, ...metadata } = piece.metadata;
  await store.create({ ...piece, metadata, data: other }, call);
  expect(await loadPlan(terraform, store, call)).toMatchObject({ state: "damaged", id });
});

test("two objects whose plans have the same name both keep their plan", async () => {
  const store = await storeWith();
  const one = await store.create(terraformOf({ workspace: "a-b" }, "c"), call);
  const two = await store.create(terraformOf({ workspace: "a" }, "b-c"), call);
  await savePlan(one, plan(Buffer.from("one")), store, call);
  await savePlan(two, plan(Buffer.from("two")), store, call);
  const digests = [await loadPlan(one, store, call), await loadPlan(two, store, call)];
  expect(digests).toMatchObject([
    { state: "loaded", digest: sha256Hex("one") },
    { state: "loaded", digest: sha256Hex("two") },
  ]);
});

test("a plan is kept whatever the workspace and the object are called", async () => {
  const { store, terraform } = await open();
  for (const workspace of ["Prod_EU", "a b", "w".repeat(300)]) {
    const metadata = { ...terraform.metadata, name: "n".repeat(253) };
    const one = { ...terraform, metadata, spec: { ...terraform.spec, workspace } };
    await savePlan(one, plan(Buffer.from(workspace)), store, call);
    expect(await loadPlan(one, store, call)).toMatchObject({ digest: sha256Hex(workspace) });
    await deletePlan(one, store, call);
    expect(await loadPlan(one, store, call)).toEqual({ state: "absent" });
  }
});
