import { describe, expect, test } from "vitest";
import type { Secret } from "../api/core.ts";
import type { Terraform, TerraformSpec } from "../api/terraform.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import { secretOf, storeWith, terraformOf } from "../testing/simulation/objects.ts";
import { deleteOutputs, outputsFact, writeOutputs } from "./outputs.ts";

const call = { signal: new AbortController().signal };
const json = Buffer.from(
  JSON.stringify({
    host: { sensitive: false, type: "string", value: "db.local" },
    ports: { sensitive: false, type: ["list", "number"], value: [1, 2] },
    key: { sensitive: true, type: "string", value: "s3cret" },
  }),
);
type Wanted = NonNullable<TerraformSpec["writeOutputsToSecret"]>;
/** A store with one object and more, and that object wanting its outputs written. */
async function open(...more: readonly Secret[]) {
  const store = await storeWith(terraformOf(), ...more);
  const stored = await store.get({ kind: "Terraform", namespace: "default", name: "app" }, call);
  if (stored === undefined) throw new Error("no object");
  const wanting = (wanted: Partial<Wanted> = {}): Terraform => {
    const writeOutputsToSecret = { name: "out", ...wanted };
    return { ...stored, spec: { ...stored.spec, writeOutputsToSecret } };
  };
  return { store, stored, wanting };
}

function plainData(secret: Secret | undefined): Record<string, string> {
  const entries = Object.entries(secret?.data ?? {});
  return Object.fromEntries(entries.map(([k, v]) => [k, Buffer.from(v, "base64").toString()]));
}
const read = (store: ObjectStore, name = "out") =>
  store.get({ kind: "Secret", namespace: "default", name }, call);

describe("the outputs Secret", () => {
  test("holds strings as they are and the rest as JSON with its type", async () => {
    const { store, wanting } = await open();
    await writeOutputs(wanting(), json, store, call);
    const secret = await read(store);
    expect(plainData(secret)).toEqual({
      host: "db.local",
      ports: "[1,2]",
      ports__type: '["list","number"]',
      key: "s3cret",
    });
    expect(secret).toMatchObject({
      type: "Opaque",
      metadata: { ownerReferences: [{ uid: wanting().metadata.uid, controller: true }] },
    });
  });

  test("takes the outputs asked for under their new names and leaves the spec alone", async () => {
    const { store, wanting } = await open();
    const terraform = wanting({ outputs: ["key:TOKEN", "host"] });
    await writeOutputs(terraform, json, store, call);
    expect(plainData(await read(store))).toEqual({ TOKEN: "s3cret", host: "db.local" });
    expect(terraform.spec.writeOutputsToSecret?.outputs).toEqual(["key:TOKEN", "host"]);
  });

  test("is replaced wholly, labels too, and emptied when outputs vanish", async () => {
    const { store, wanting } = await open();
    const before = wanting({ labels: { old: "1", stays: "1" }, annotations: { note: "x" } });
    await writeOutputs(before, json, store, call);
    await writeOutputs(wanting({ labels: { stays: "2" } }), Buffer.from("{}"), store, call);
    const secret = await read(store);
    expect(plainData(secret)).toEqual({});
    expect(secret?.metadata.labels).toMatchObject({ stays: "2" });
    expect(secret?.metadata.labels).not.toHaveProperty("old");
    expect(secret?.metadata.annotations).toEqual({});
  });

  test("is not written when nothing changed", async () => {
    const { store, wanting } = await open();
    await writeOutputs(wanting(), json, store, call);
    const before = (await read(store))?.metadata.resourceVersion;
    await writeOutputs(wanting(), json, store, call);
    expect((await read(store))?.metadata.resourceVersion).toBe(before);
  });

  test("is not left behind under a former name", async () => {
    const { store, wanting } = await open();
    await writeOutputs(wanting(), json, store, call);
    await writeOutputs(wanting({ name: "other" }), json, store, call);
    expect(await read(store)).toBeUndefined();
    expect(plainData(await read(store, "other"))).toMatchObject({ host: "db.local" });
  });

  test("keeps long numbers to the digit", async () => {
    const { store, wanting } = await open();
    const long = '{"n":{"type":"number","value":12345678901234567890.123456789}}';
    await writeOutputs(wanting(), Buffer.from(long), store, call);
    expect(plainData(await read(store))).toEqual({
      n: "12345678901234567890.123456789",
      n__type: '"number"',
    });
  });

  test("of somebody else is never touched, by writing or by deleting", async () => {
    const foreign = secretOf("out", { mine: "1" });
    const { store, wanting } = await open(foreign);
    await expect(writeOutputs(wanting(), json, store, call)).rejects.toThrow(
      "spec.writeOutputsToSecret.name: Secret/default/out belongs to somebody else " +
        "(whoever made it by hand); choose another name or remove that Secret",
    );
    await deleteOutputs(wanting(), store, call);
    expect(plainData(await read(store))).toEqual({ mine: "1" });
    expect(await outputsFact(wanting(), store, call)).toEqual({
      state: "foreign",
      owner: "whoever made it by hand",
    });
  });

  test("names an output that does not exist", async () => {
    const { store, wanting } = await open();
    const terraform = wanting({ outputs: ["nope:x"] });
    await expect(writeOutputs(terraform, json, store, call)).rejects.toThrow(
      "spec.writeOutputsToSecret.outputs: output not found: nope;",
    );
  });

  test("says nothing of the content when it is no JSON", async () => {
    const { store, wanting } = await open();
    const written = writeOutputs(wanting(), Buffer.from("s3cret"), store, call);
    const error: unknown = await written.catch((thrown: unknown) => thrown);
    expect(String(error)).toContain("OutputsTrouble: The outputs that the run left are no JSON");
  });
});

test("what is there is told as a fact", async () => {
  const { store, stored, wanting } = await open();
  expect(await outputsFact(stored, store, call)).toEqual({ state: "not-wanted" });
  expect(await outputsFact(wanting(), store, call)).toEqual({ state: "absent" });
  await writeOutputs(wanting(), json, store, call);
  expect(await outputsFact(wanting(), store, call)).toEqual({
    state: "present",
    keys: ["host", "key", "ports", "ports__type"],
  });
  await deleteOutputs(wanting(), store, call);
  expect(await outputsFact(wanting(), store, call)).toEqual({ state: "absent" });
});
