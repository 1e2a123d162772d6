import { describe, expect, test } from "vitest";
import type { Secret } from "../api/core.ts";
import type { TerraformSpec } from "../api/terraform.ts";
import { TinyStore } from "../testing/fakes/tiny-store.ts";
import { secretOf, terraformOf } from "../testing/simulation/objects.ts";
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
const wanting = (wanted: Partial<Wanted> = {}) =>
  terraformOf({ writeOutputsToSecret: { name: "out", ...wanted } });

function plainData(secret: Secret | undefined): Record<string, string> {
  const entries = Object.entries(secret?.data ?? {});
  return Object.fromEntries(entries.map(([k, v]) => [k, Buffer.from(v, "base64").toString()]));
}
const read = (store: TinyStore, name = "out") =>
  store.get({ kind: "Secret", namespace: "default", name });

describe("the outputs Secret", () => {
  test("holds strings as they are and the rest as JSON with its type", async () => {
    const store = new TinyStore();
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
      metadata: { ownerReferences: [{ uid: "uid-app", controller: true }] },
    });
  });

  test("takes the outputs asked for under their new names and leaves the spec alone", async () => {
    const store = new TinyStore();
    const terraform = wanting({ outputs: ["key:TOKEN", "host"] });
    await writeOutputs(terraform, json, store, call);
    expect(plainData(await read(store))).toEqual({ TOKEN: "s3cret", host: "db.local" });
    expect(terraform.spec.writeOutputsToSecret?.outputs).toEqual(["key:TOKEN", "host"]);
  });

  test("is replaced wholly, labels too, and emptied when outputs vanish", async () => {
    const store = new TinyStore();
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
    const store = new TinyStore();
    await writeOutputs(wanting(), json, store, call);
    const before = (await read(store))?.metadata.resourceVersion;
    await writeOutputs(wanting(), json, store, call);
    expect((await read(store))?.metadata.resourceVersion).toBe(before);
  });

  test("is not left behind under a former name", async () => {
    const store = new TinyStore();
    await writeOutputs(wanting(), json, store, call);
    await writeOutputs(wanting({ name: "other" }), json, store, call);
    expect(await read(store)).toBeUndefined();
    expect(plainData(await read(store, "other"))).toMatchObject({ host: "db.local" });
  });

  test("keeps long numbers to the digit", async () => {
    const store = new TinyStore();
    const long = '{"n":{"type":"number","value":12345678901234567890.123456789}}';
    await writeOutputs(wanting(), Buffer.from(long), store, call);
    expect(plainData(await read(store))).toEqual({
      n: "12345678901234567890.123456789",
      n__type: '"number"',
    });
  });

  test("of somebody else is never touched, by writing or by deleting", async () => {
    const foreign = secretOf("out", { mine: "1" });
    const store = new TinyStore([foreign]);
    await expect(writeOutputs(wanting(), json, store, call)).rejects.toThrow(
      "spec.writeOutputsToSecret.name: Secret/default/out belongs to somebody else " +
        "(no owner; made by hand); choose another name or remove that Secret",
    );
    await deleteOutputs(wanting(), store, call);
    expect(plainData(await read(store))).toEqual({ mine: "1" });
    expect(await outputsFact(wanting(), store, call)).toEqual({
      state: "foreign",
      owner: "no owner; made by hand",
    });
  });

  test("names an output that does not exist", async () => {
    const terraform = wanting({ outputs: ["nope:x"] });
    await expect(writeOutputs(terraform, json, new TinyStore(), call)).rejects.toThrow(
      "spec.writeOutputsToSecret.outputs: output not found: nope;",
    );
  });

  test("says nothing of the content when it is no JSON", async () => {
    const error: unknown = await writeOutputs(
      wanting(),
      Buffer.from("s3cret"),
      new TinyStore(),
      call,
    ).catch((thrown: unknown) => thrown);
    expect(String(error)).toBe("OutputsTrouble: The outputs that the run left are no JSON object");
  });
});

test("what is there is told as a fact", async () => {
  const store = new TinyStore();
  expect(await outputsFact(terraformOf(), store, call)).toEqual({ state: "not-wanted" });
  expect(await outputsFact(wanting(), store, call)).toEqual({ state: "absent" });
  await writeOutputs(wanting(), json, store, call);
  expect(await outputsFact(wanting(), store, call)).toEqual({
    state: "present",
    keys: ["host", "key", "ports", "ports__type"],
  });
  await deleteOutputs(wanting(), store, call);
  expect(await outputsFact(wanting(), store, call)).toEqual({ state: "absent" });
});
