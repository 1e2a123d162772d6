import { describe, expect, test } from "vitest";
import { MemoryShelf } from "../adapters/memory/shelf.ts";
import type { ConfigMap, Secret } from "../api/core.ts";
import type { AnyObject } from "../api/kinds.ts";
import type { Terraform } from "../api/terraform.ts";
import { seededRandom, VirtualClock } from "../testing/fakes/clock.ts";
import { objectStore } from "./store.ts";

function open() {
  const clock = new VirtualClock("2026-03-04T05:06:07.900Z");
  return { clock, store: objectStore(new MemoryShelf(), { clock, random: seededRandom(1) }) };
}
const call = () => ({ signal: new AbortController().signal });
const terraform = (): Terraform => ({
  apiVersion: "infra.contrib.fluxcd.io/v1alpha2",
  kind: "Terraform",
  metadata: { name: "app", namespace: "default" },
  spec: { interval: "5m", sourceRef: { kind: "GitRepository", name: "source" } },
});
const secret = (): Secret => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "vars", namespace: "default" },
});
const configMap = (): ConfigMap => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "vars", namespace: "default" },
});
const meta = (object: AnyObject, more: object) => ({
  ...object,
  metadata: { ...object.metadata, ...more },
});
const owner = { apiVersion: "v1", kind: "ConfigMap", name: "x", uid: "u" };

describe("what is refused, in words that name object, field and mend", () => {
  const refusals: Record<string, { object: object; message: string }> = {
    "a name with capitals": {
      object: meta(terraform(), { name: "App" }),
      message:
        'Terraform/default/App: metadata.name: "App" is no valid name; use lower-case letters, ' +
        'digits, "-" and ".", beginning and ending with a letter or digit',
    },
    "a namespace with a dot": {
      object: meta(terraform(), { namespace: "a.b" }),
      message:
        'Terraform/a.b/app: metadata.namespace: "a.b" is no valid namespace; ' +
        'use at most 63 lower-case letters, digits and "-"',
    },
    "a label key with two slashes": {
      object: meta(terraform(), { labels: { "a/b/c": "x" } }),
      message:
        'Terraform/default/app: metadata.labels["a/b/c"]: is no valid key; ' +
        'use "name" or "domain/name" of letters, digits, "-", "_", "."',
    },
    "a label value with a space": {
      object: meta(terraform(), { labels: { team: "a b" } }),
      message:
        'Terraform/default/app: metadata.labels.team: "a b" is no valid value; ' +
        'use at most 63 letters, digits, "-", "_", "."',
    },
    "an annotation that is a number": {
      object: meta(terraform(), { annotations: { count: 5 } }),
      message:
        "Terraform/default/app: metadata.annotations.count: must be a string; put it in quotes",
    },
    "annotations without end": {
      object: meta(terraform(), { annotations: { a: "x".repeat(262_144) } }),
      message:
        "Terraform/default/app: metadata.annotations: are longer than 262144 bytes together; " +
        "keep the bulk elsewhere",
    },
    "a finalizer that is no name": {
      object: meta(terraform(), { finalizers: ["a b"] }),
      message:
        'Terraform/default/app: metadata.finalizers[0]: "a b" is no valid finalizer; ' +
        'use "name" or "domain/name" of letters, digits, "-", "_", "."',
    },
    "an owner without a uid": {
      object: meta(terraform(), { ownerReferences: [{ ...owner, uid: "" }] }),
      message: "Terraform/default/app: metadata.ownerReferences[0].uid: must not be empty",
    },
    "two controllers": {
      object: meta(terraform(), {
        ownerReferences: [
          { ...owner, controller: true },
          { ...owner, uid: "v", controller: true },
        ],
      }),
      message:
        "Terraform/default/app: metadata.ownerReferences: only one owner may be the controller",
    },
    "another version of the kind": {
      object: { ...terraform(), apiVersion: "infra.contrib.fluxcd.io/v1" },
      message:
        "Terraform/default/app: apiVersion: must be infra.contrib.fluxcd.io/v1alpha2 " +
        "for a Terraform",
    },
    "a version before there is one": {
      object: meta(terraform(), { resourceVersion: "1" }),
      message:
        "Terraform/default/app: metadata.resourceVersion: must not be set on an object to be " +
        "created; remove it",
    },
    "an object larger than etcd takes": {
      object: { ...terraform(), spec: { ...terraform().spec, path: "x".repeat(1_572_864) } },
      message: expect.stringMatching(
        /^Terraform\/default\/app: has 1573\d{3} bytes; at most 1572864 are possible$/,
      ),
    },
    "a Secret's value that is not base64, which is not shown": {
      object: { ...secret(), data: { password: "hunter2!" } },
      message: "Secret/default/vars: data.password: is not base64; put plain text under stringData",
    },
    "a Secret's value that is a number": {
      object: { ...secret(), stringData: { port: 5 } },
      message: "Secret/default/vars: data.port: must be a string; put it in quotes",
    },
    "a Secret that is too large": {
      object: { ...secret(), stringData: { a: "x".repeat(1_048_577) } },
      message:
        "Secret/default/vars: data: has 1048577 bytes of values; at most 1048576 are possible",
    },
    "a key with a slash": {
      object: { ...configMap(), data: { "a/b": "x" } },
      message:
        'ConfigMap/default/vars: data["a/b"]: is no valid key; ' +
        'use letters, digits, "-", "_", "."',
    },
    "a key in data and binaryData": {
      object: { ...configMap(), data: { a: "x" }, binaryData: { a: "eA==" } },
      message: "ConfigMap/default/vars: binaryData.a: stands in data too; remove one",
    },
    "binaryData that is not base64": {
      object: { ...configMap(), binaryData: { a: "x" } },
      message: "ConfigMap/default/vars: binaryData.a: is not base64",
    },
    "several at once, all told": {
      object: meta(terraform(), { name: "", finalizers: ["/"] }),
      message: expect.stringMatching(/^Terraform\/default\/: metadata\.name: .*; metadata\.fin/),
    },
  };
  test.each(Object.entries(refusals))("%s", async (_, { object, message }) => {
    const { store } = open();
    await expect(store.create(object as AnyObject, call())).rejects.toMatchObject({
      code: "Invalid",
      message,
    });
  });

  test("a stale change tells both versions", async () => {
    const { store } = open();
    const made = await store.create(terraform(), call());
    await store.update(meta(made, { labels: { a: "b" } }) as Terraform, "main", call());
    await expect(store.update(made, "main", call())).rejects.toThrow(
      "Terraform/default/app: changed since it was read (version 1 is now 2); " +
        "read it again and repeat the change",
    );
  });

  test("a change of what was deleted and made anew", async () => {
    const { store } = open();
    const made = await store.create(terraform(), call());
    const ref = { kind: "Terraform", namespace: "default", name: "app" } as const;
    await store.delete(ref, {}, call());
    await store.create(terraform(), call());
    await expect(store.update(made, "main", call())).rejects.toThrow(
      "Terraform/default/app: was deleted and made anew meanwhile; read it again",
    );
  });

  test("a finalizer added while the object is being deleted", async () => {
    const { store } = open();
    const made = await store.create(meta(terraform(), { finalizers: ["a"] }) as Terraform, call());
    const ref = { kind: "Terraform", namespace: "default", name: "app" } as const;
    await store.delete(ref, {}, call());
    const marked = (await store.get(ref, call())) ?? made;
    const more = meta(marked, { finalizers: ["a", "b"] }) as Terraform;
    await expect(store.update(more, "main", call())).rejects.toThrow(
      "Terraform/default/app: metadata.finalizers: b cannot be added while the object is being " +
        "deleted",
    );
  });

  test("a status where there is none, an immutable Secret, another type", async () => {
    const { store } = open();
    const made = await store.create({ ...secret(), immutable: true }, call());
    await expect(store.update(made, "status", call())).rejects.toThrow(
      "Secret/default/vars: status: a Secret has none; change the object",
    );
    const change = { ...made, type: "x.test/y", data: { a: "eA==" } };
    await expect(store.update(change, "main", call())).rejects.toThrow(
      "Secret/default/vars: type: cannot be changed; delete the Secret and make it anew; " +
        "data: cannot be changed, since the Secret is immutable; make it anew",
    );
  });
});

test("times are whole seconds of the clock, never in the future", async () => {
  const { clock, store } = open();
  const made = await store.create(meta(terraform(), { finalizers: ["a"] }) as Terraform, call());
  expect(made.metadata.creationTimestamp).toBe("2026-03-04T05:06:07Z");
  await clock.advance(1_200);
  const ref = { kind: "Terraform", namespace: "default", name: "app" } as const;
  await store.delete(ref, {}, call());
  expect((await store.get(ref, call()))?.metadata).toMatchObject({
    deletionTimestamp: "2026-03-04T05:06:09Z",
    deletionGracePeriodSeconds: 0,
    generation: 2,
  });
});

test("fields that nobody here knows are kept as they are", async () => {
  const { store } = open();
  const object = {
    ...terraform(),
    spec: { ...terraform().spec, future: [1, { a: null }] },
    extra: "x",
  };
  const made = await store.create(object, call());
  expect(made).toMatchObject({ spec: { future: [1, { a: null }] }, extra: "x" });
  const next = await store.update({ ...made, extra: "y" } as Terraform, "main", call());
  expect(next).toMatchObject({ spec: { future: [1, { a: null }] }, extra: "y" });
});

test("an object without a namespace lies in default", async () => {
  const { store } = open();
  const made = await store.create({ ...configMap(), metadata: { name: "vars" } }, call());
  expect(made.metadata.namespace).toBe("default");
  const ref = { kind: "ConfigMap", namespace: "default", name: "vars" } as const;
  expect(await store.get(ref, call())).toEqual(made);
});

test("an owner of a kind that is not kept here counts as living", async () => {
  const { store } = open();
  const ownerReferences = [{ apiVersion: "v1", kind: "Pod", name: "x", uid: "u" }];
  await store.create(meta(configMap(), { ownerReferences }) as ConfigMap, call());
  expect((await store.list("ConfigMap", {}, call())).items).toHaveLength(1);
});

test("an owner in another namespace owns nothing here", async () => {
  const { store } = open();
  const other = await store.create(meta(terraform(), { namespace: "other" }) as Terraform, call());
  const { apiVersion, kind, metadata } = other;
  const ownerReferences = [{ apiVersion, kind, name: metadata.name, uid: metadata.uid ?? "" }];
  await store.create(meta(configMap(), { ownerReferences }) as ConfigMap, call());
  expect((await store.list("ConfigMap", {}, call())).items).toEqual([]);
});

test("two objects that own each other do not loop, and go together", async () => {
  const { store } = open();
  const first = await store.create(meta(configMap(), { name: "first" }) as ConfigMap, call());
  const by = (one: ConfigMap) => [{ ...owner, name: one.metadata.name, uid: one.metadata.uid }];
  const second = await store.create(
    meta(configMap(), { name: "second", ownerReferences: by(first) }) as ConfigMap,
    call(),
  );
  await store.update(meta(first, { ownerReferences: by(second) }) as ConfigMap, "main", call());
  const ref = { kind: "ConfigMap", namespace: "default", name: "second" } as const;
  await store.delete(ref, {}, call());
  expect((await store.list("ConfigMap", {}, call())).items).toEqual([]);
});

test("a key named like a part of JavaScript is a key like any other", async () => {
  const { store } = open();
  const stringData = JSON.parse('{"__proto__": "x", "constructor": "y"}') as Record<string, string>;
  const made = await store.create({ ...secret(), stringData }, call());
  expect(Object.entries(made.data ?? {})).toEqual([
    ["__proto__", "eA=="],
    ["constructor", "eQ=="],
  ]);
});

test("line breaks in base64 are taken out", async () => {
  const { store } = open();
  const made = await store.create({ ...secret(), data: { a: "aGVs\nbG8=\n" } }, call());
  expect(made.data).toEqual({ a: "aGVsbG8=" });
});
