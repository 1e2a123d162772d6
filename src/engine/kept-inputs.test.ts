import { beforeEach, describe, expect, test } from "vitest";
import { memoryObjectStore } from "../adapters/memory/object-store.ts";
import type { Secret } from "../api/core.ts";
import type { Terraform } from "../api/terraform.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import { seededRandom, VirtualClock } from "../testing/fakes/clock.ts";
import { terraformOf } from "../testing/one-object.ts";
import { type Inputs, resolveInputs } from "./inputs.ts";
import { CannotKeep, forgetInputs, keepInputs, loadKeptInputs } from "./kept-inputs.ts";

const call = { signal: new AbortController().signal };
const digestKey = new Uint8Array(32);
const SECRET = "a-secret-of-the-world";
let store: ObjectStore;
let terraform: Terraform;
beforeEach(async () => {
  store = memoryObjectStore({ clock: new VirtualClock(), random: seededRandom(1) });
  const metadata = { name: "vars", namespace: "default" };
  const stringData = { token: SECRET, file: "text" };
  await store.create({ apiVersion: "v1", kind: "Secret", metadata, stringData }, call);
  const fileMappings = [
    { secretRef: { name: "vars", key: "file" }, location: "workspace" as const, path: "a/b" },
  ];
  const varsFrom = [{ kind: "Secret" as const, name: "vars" }];
  terraform = (await store.create(terraformOf({ varsFrom, fileMappings }), call)) as Terraform;
});

const ports = () => ({ store, options: { digestKey, crossNamespaceRefs: false } });
async function now(): Promise<Inputs> {
  const found = await resolveInputs(terraform, ports(), call);
  if (found.state !== "resolved") throw new Error(found.message);
  return found.inputs;
}
async function change(token: string): Promise<Inputs> {
  const ref = { kind: "Secret", namespace: "default", name: "vars" } as const;
  const secret = (await store.get(ref, call)) as Secret;
  const data = { ...secret.data, token: Buffer.from(token).toString("base64") };
  await store.update({ ...secret, data }, "main", call);
  return await now();
}
const keep = (inputs: Inputs | undefined, digest: string, as: "tried" | "good") =>
  keepInputs(terraform, { inputs, digest, as }, store, call);
const kept = () => loadKeptInputs(terraform, ports(), call);
const secrets = async () => (await store.list("Secret", {}, call)).items;

describe("inputs that were kept", () => {
  test("come back as they were, with the same digest, when their Secret is gone", async () => {
    const inputs = await now();
    await keep(inputs, inputs.digest, "good");
    await store.delete({ kind: "Secret", namespace: "default", name: "vars" }, {}, call);
    expect((await resolveInputs(terraform, ports(), call)).state).toBe("failed");
    expect(await kept()).toEqual({ ...inputs, sources: {} });
  });

  test("are those of the last good run, not of one that was only tried", async () => {
    const first = await now();
    await keep(first, first.digest, "tried");
    expect((await kept())?.digest).toBe(first.digest);
    await keep(first, first.digest, "good");
    const second = await change("other");
    await keep(second, second.digest, "tried");
    expect((await kept())?.digest).toBe(first.digest);
    await keep(second, second.digest, "good");
    expect((await kept())?.digest).toBe(second.digest);
  });

  test("become good although they have changed since the run began", async () => {
    const tried = await now();
    await keep(tried, tried.digest, "tried");
    const later = await change("other");
    await keep(later, tried.digest, "good");
    expect((await kept())?.digest).toBe(tried.digest);
    await keep(undefined, "of another run", "good");
    expect((await kept())?.digest).toBe(tried.digest);
  });

  test("follow the spec in what it says itself", async () => {
    const inputs = await now();
    await keep(inputs, inputs.digest, "good");
    terraform = { ...terraform, spec: { ...terraform.spec, path: "elsewhere" } };
    expect((await kept())?.digest).toBe((await now()).digest);
    expect((await now()).digest).not.toBe(inputs.digest);
  });

  test("lie in one Secret of the object, packed, and are written once", async () => {
    const inputs = await now();
    await keep(inputs, inputs.digest, "good");
    const before = (await store.list("Secret", {}, call)).resourceVersion;
    await keep(inputs, inputs.digest, "good");
    expect((await store.list("Secret", {}, call)).resourceVersion).toBe(before);
    const [own] = (await secrets()).filter(({ metadata }) => metadata.name !== "vars");
    expect(own?.metadata.ownerReferences).toMatchObject([{ uid: terraform.metadata.uid }]);
    expect(JSON.stringify(own?.metadata)).not.toContain(SECRET);
  });

  test("are nobody else's, and gone when they are forgotten", async () => {
    const inputs = await now();
    await keep(inputs, inputs.digest, "good");
    const { metadata } = terraform;
    const other = { ...terraform, metadata: { ...metadata, uid: `${metadata.uid}-other` } };
    expect(await loadKeptInputs(other, ports(), call)).toBeUndefined();
    await forgetInputs(other, store, call);
    expect(await kept()).toBeDefined();
    await keepInputs(other, { inputs, digest: inputs.digest, as: "good" }, store, call);
    expect(await kept(), "an object of the same name takes its place").toBeUndefined();
    await forgetInputs(other, store, call);
    await keep(inputs, inputs.digest, "good");
    await forgetInputs(terraform, store, call);
    await forgetInputs(terraform, store, call);
    expect(await kept()).toBeUndefined();
    expect(await secrets()).toHaveLength(1);
  });

  test("never take the place of a Secret of somebody's", async () => {
    const metadata = { namespace: "default", name: `tfinputs-${terraform.metadata.name}` };
    await store.create({ apiVersion: "v1", kind: "Secret", metadata }, call);
    const inputs = await now();
    await expect(keep(inputs, inputs.digest, "good")).rejects.toThrow("rename or delete it");
    expect(await kept()).toBeUndefined();
  });

  test("that take too much room are refused, and none that are broken are used", async () => {
    const inputs = await now();
    const random = seededRandom(2);
    const content = Buffer.from(random.hex(1_300_000), "hex");
    const files = [{ location: "workspace" as const, path: "a", content }];
    await expect(keep({ ...inputs, files }, inputs.digest, "good")).rejects.toThrow(CannotKeep);
    await keep(inputs, inputs.digest, "good");
    const own = (await secrets()).find(({ metadata }) => metadata.name !== "vars");
    if (own === undefined) throw new Error("Nothing was kept");
    await store.update({ ...own, data: { good: "bm8gZ3ppcA==" } }, "main", call);
    expect(await kept()).toBeUndefined();
  });
});
