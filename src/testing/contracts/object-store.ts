import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KindName, ObjectOf, ObjectRef } from "../../api/kinds.ts";
import { keyOf, keyText } from "../../api/kinds.ts";
import type { Terraform } from "../../api/terraform.ts";
import {
  isStoreError,
  type ObjectStore,
  StoreError,
  type StoreErrorCode,
  type WatchEvent,
} from "../../ports/object-store.ts";

/** A store to be judged, by its port alone. */
export interface ObjectStoreSubject {
  readonly store: ObjectStore;
  /** Makes a namespace where that is an act of its own. */
  readonly makeNamespace?: (name: string) => Promise<void>;
  close(): Promise<void>;
}

/** How long what happens by itself (collection, a watch) may take. */
const PATIENCE_MS = 15_000;

/**
 * What the engine leans on in any ObjectStore. Runs unchanged on every implementation, a real API
 * server among them: so each test lives in a namespace of its own, and what Kubernetes does in the
 * background is waited for.
 */
export function objectStoreContract(open: () => Promise<ObjectStoreSubject>): void {
  const subject: Subject = { open };
  beforeAll(async () => {
    subject.opened = await open();
  });
  afterAll(() => subject.opened?.close());

  describe("creating and reading", () => creating(subject));
  describe("changing", () => changing(subject));
  describe("deleting", () => deleting(subject));
  describe("owners", () => owning(subject));
  describe("Secrets and ConfigMaps", () => holdingData(subject));
  describe("watching", () => watching(subject));
  describe("calls", () => calling(subject));
}

interface Subject {
  readonly open: () => Promise<ObjectStoreSubject>;
  opened?: ObjectStoreSubject;
}

/** The store and a namespace that nobody else uses. */
async function arena(subject: Subject): Promise<{ store: ObjectStore; namespace: string }> {
  const { opened } = subject;
  if (opened === undefined) throw new Error("The subject was not opened");
  const namespace = `contract-${randomBytes(6).toString("hex")}`;
  await opened.makeNamespace?.(namespace);
  return { store: opened.store, namespace };
}

function creating(subject: Subject): void {
  test("an object gets uid, version, generation 1 and a time in whole seconds", async () => {
    const { store, namespace } = await arena(subject);
    const made = await store.create(terraform(namespace, "app"), call());
    expect(made.metadata.uid).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(made.metadata.resourceVersion).toMatch(/./);
    expect(made.metadata.generation).toBe(1);
    expect(made.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(await store.get(refTo(made), call())).toEqual(made);
  });

  test("what was never there reads as undefined", async () => {
    const { store, namespace } = await arena(subject);
    expect(await store.get({ kind: "Terraform", namespace, name: "none" }, call())).toBe(undefined);
    expect((await store.list("Terraform", { namespace }, call())).items).toEqual([]);
  });

  test("a second object of the same name is refused, one of another kind is not", async () => {
    const { store, namespace } = await arena(subject);
    await store.create(terraform(namespace, "app"), call());
    await refused("AlreadyExists", store.create(terraform(namespace, "app"), call()));
    await store.create(configMap(namespace, "app"), call());
  });

  test("values of any JSON type come back as they were", async () => {
    const { store, namespace } = await arena(subject);
    const vars = [
      { name: "text", value: 'ä"\\\n' },
      { name: "tree", value: { a: [1, 2.5, true, "", {}] } },
    ];
    const made = await store.create(terraform(namespace, "app", { vars }), call());
    expect((await store.get(refTo(made), call()))?.spec.vars).toEqual(vars);
  });

  test("a manifest cannot bring a status of its own", async () => {
    const { store, namespace } = await arena(subject);
    const object = terraform(namespace, "app");
    object.status = { lastAppliedRevision: "main@sha1:beef" };
    const made = await store.create(object, call());
    expect(made.status).toEqual({ observedGeneration: -1 });
  });

  const bad: Record<string, (object: Terraform) => void> = {
    "a name with capitals": ({ metadata }) => Object.assign(metadata, { name: "App" }),
    "an empty name": ({ metadata }) => Object.assign(metadata, { name: "" }),
    "a name with a slash": ({ metadata }) => Object.assign(metadata, { name: "a/b" }),
    "a name of 254 characters": ({ metadata }) =>
      Object.assign(metadata, { name: "a".repeat(254) }),
    "a label value with a space": ({ metadata }) =>
      Object.assign(metadata, { labels: { team: "a b" } }),
    "a label key with two slashes": ({ metadata }) =>
      Object.assign(metadata, { labels: { "a/b/c": "x" } }),
    "a resourceVersion before there is one": ({ metadata }) =>
      Object.assign(metadata, { resourceVersion: "7" }),
  };
  test.each(Object.entries(bad))("%s is refused", async (_, spoil) => {
    const { store, namespace } = await arena(subject);
    const object = terraform(namespace, "app");
    spoil(object);
    await refused("Invalid", store.create(object, call()));
  });

  test("a list holds to kind, namespace and labels, and tells its version", async () => {
    const { store, namespace } = await arena(subject);
    const other = (await arena(subject)).namespace;
    const labelled = (labels: Record<string, string>, object: ObjectOf<"ConfigMap">) => {
      object.metadata.labels = labels;
      return object;
    };
    await store.create(labelled({ team: "a", tier: "x" }, configMap(namespace, "one")), call());
    await store.create(labelled({ team: "b" }, configMap(namespace, "two")), call());
    await store.create(labelled({ team: "a" }, configMap(other, "three")), call());
    await store.create(terraform(namespace, "four"), call());

    const listed = async (where: { namespace?: string; labels?: Record<string, string> }) =>
      (await store.list("ConfigMap", where, call())).items
        .filter((each) => [namespace, other].includes(each.metadata.namespace ?? ""))
        // A cluster puts this one into every namespace.
        .filter((each) => each.metadata.name !== "kube-root-ca.crt")
        .map((each) => each.metadata.name)
        .sort();
    expect(await listed({ namespace })).toEqual(["one", "two"]);
    expect(await listed({})).toEqual(["one", "three", "two"]);
    expect(await listed({ labels: { team: "a" } })).toEqual(["one", "three"]);
    expect(await listed({ namespace, labels: { team: "a", tier: "x" } })).toEqual(["one"]);
    expect(await listed({ namespace, labels: { team: "c" } })).toEqual([]);
    expect((await store.list("ConfigMap", { namespace }, call())).resourceVersion).toMatch(/./);
  });

  test("objects are copies: changing one in hand changes nothing kept", async () => {
    const { store, namespace } = await arena(subject);
    const mine = terraform(namespace, "app", { path: "./before" });
    const made = await store.create(mine, call());
    mine.spec.path = "./after";
    made.spec.path = "./after";
    const read = await store.get(refTo(made), call());
    expect(read?.spec.path).toBe("./before");
    if (read !== undefined) read.spec.path = "./after";
    const [listed] = (await store.list("Terraform", { namespace }, call())).items;
    expect(listed?.spec.path).toBe("./before");
    if (listed !== undefined) listed.spec.path = "./after";
    expect((await store.get(refTo(made), call()))?.spec.path).toBe("./before");
  });

  test("every kind that is written by the engine can be", async () => {
    const { store, namespace } = await arena(subject);
    const involved = await store.create(terraform(namespace, "app"), call());
    const made = [
      await store.create(gitRepository(namespace, "source"), call()),
      await store.create(lease(namespace, "leader"), call()),
      await store.create(event(involved, "app.1"), call()),
      await store.create(secret(namespace, "outputs"), call()),
    ];
    for (const each of made) {
      expect(await store.get(refTo(each), call())).toEqual(each);
    }
  });
}

function changing(subject: Subject): void {
  test("only who has read the last version may change it", async () => {
    const { store, namespace } = await arena(subject);
    const first = await store.create(terraform(namespace, "app"), call());
    const second = await store.update(withPath(first, "./a"), "main", call());
    expect(second.metadata.resourceVersion).not.toBe(first.metadata.resourceVersion);
    await refused("Conflict", store.update(withPath(first, "./b"), "main", call()));
    await refused("Conflict", store.update(withRevision(first, "x"), "status", call()));
    expect((await store.get(refTo(first), call()))?.spec.path).toBe("./a");
  });

  test("a change that tells no version is refused", async () => {
    const { store, namespace } = await arena(subject);
    const made = await store.create(terraform(namespace, "app"), call());
    delete made.metadata.resourceVersion;
    await refused("Conflict", store.update(withPath(made, "./a"), "main", call()));
    await refused("Conflict", store.update(withRevision(made, "x"), "status", call()));
  });

  test("what does not exist cannot be changed", async () => {
    const { store, namespace } = await arena(subject);
    const made = await store.create(terraform(namespace, "app"), call());
    await store.delete(refTo(made), {}, call());
    await refused("NotFound", store.update(withPath(made, "./a"), "main", call()));
    await refused("NotFound", store.update(withRevision(made, "x"), "status", call()));
  });

  test("a change prepared on an object deleted and made anew is refused", async () => {
    const { store, namespace } = await arena(subject);
    const first = await store.create(terraform(namespace, "app"), call());
    await store.delete(refTo(first), {}, call());
    const second = await store.create(terraform(namespace, "app"), call());
    expect(second.metadata.uid).not.toBe(first.metadata.uid);
    const metadata = { ...first.metadata, ...pick(second.metadata, "resourceVersion") };
    await refused("Conflict", store.update({ ...first, metadata }, "main", call()));
  });

  test("a generation counts changes of the spec alone", async () => {
    const { store, namespace } = await arena(subject);
    let object = await store.create(terraform(namespace, "app"), call());
    object = await store.update(withRevision(object, "a"), "status", call());
    expect(object.metadata.generation).toBe(1);
    object = await store.update(withAnnotation(object, "x"), "main", call());
    expect(object.metadata.generation).toBe(1);
    object = await store.update(withPath(object, "./a"), "main", call());
    expect(object.metadata.generation).toBe(2);
  });

  test("a change of the main part leaves status, one of status leaves the rest", async () => {
    const { store, namespace } = await arena(subject);
    let object = await store.create(terraform(namespace, "app", { path: "./a" }), call());
    object = await store.update(withRevision(object, "kept"), "status", call());
    object = await store.update(withRevision(withPath(object, "./b"), "lost"), "main", call());
    expect(object.spec.path).toBe("./b");
    expect(object.status?.lastAppliedRevision).toBe("kept");
    object = withAnnotation(withPath(withRevision(object, "new"), "./lost"), "lost");
    object = await store.update(object, "status", call());
    expect(object.spec.path).toBe("./b");
    expect(object.metadata.annotations).toBe(undefined);
    expect(object.status?.lastAppliedRevision).toBe("new");
    expect(await store.get(refTo(object), call())).toEqual(object);
  });

  test("a change that changes nothing is none", async () => {
    const { store, namespace } = await arena(subject);
    const made = await storedWhole(store, terraform(namespace, "app"));
    const again = await store.update(structuredClone(made), "main", call());
    expect(again.metadata.resourceVersion).toBe(made.metadata.resourceVersion);
    const status = await store.update(withRevision(made, "a"), "status", call());
    const same = await store.update(withRevision(status, "a"), "status", call());
    expect(same.metadata.resourceVersion).toBe(status.metadata.resourceVersion);
  });

  test("a field left out is gone", async () => {
    const { store, namespace } = await arena(subject);
    let object = await store.create(terraform(namespace, "app", { path: "./a" }), call());
    delete object.spec.path;
    object = await store.update(object, "main", call());
    expect(object.spec).not.toHaveProperty("path");
  });

  test("of two who take a lease at once, one gets it", async () => {
    const { store, namespace } = await arena(subject);
    const made = await store.create(lease(namespace, "leader"), call());
    const take = (holderIdentity: string) =>
      store.update({ ...made, spec: { ...made.spec, holderIdentity } }, "main", call());
    const results = await Promise.allSettled(["a", "b", "c"].map(take));
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const losers = results.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    expect(losers.every((error) => isStoreError(error, "Conflict"))).toBe(true);
  });

  test("who reads again after a conflict loses no change", async () => {
    const { store, namespace } = await arena(subject);
    const made = await store.create(configMap(namespace, "count"), call());
    const addOne = async () => {
      for (;;) {
        const read = await store.get(refTo(made), call());
        const data = { count: String(Number(read?.data?.count ?? 0) + 1) };
        try {
          return await store.update({ ...(read ?? made), data }, "main", call());
        } catch (error) {
          if (!isStoreError(error, "Conflict")) throw error;
        }
      }
    };
    await Promise.all(Array.from({ length: 8 }, addOne));
    expect((await store.get(refTo(made), call()))?.data).toEqual({ count: "8" });
  });
}

function deleting(subject: Subject): void {
  test("without finalizers an object goes at once", async () => {
    const { store, namespace } = await arena(subject);
    const made = await store.create(terraform(namespace, "app"), call());
    await store.delete(refTo(made), {}, call());
    expect(await store.get(refTo(made), call())).toBe(undefined);
    await refused("NotFound", store.delete(refTo(made), {}, call()));
  });

  test("preconditions hold: another uid or version is a conflict", async () => {
    const { store, namespace } = await arena(subject);
    const made = await store.create(terraform(namespace, "app"), call());
    const later = await store.update(withPath(made, "./a"), "main", call());
    const other = "00000000-0000-4000-8000-000000000000";
    await refused("Conflict", store.delete(refTo(made), { uid: other }, call()));
    const stale = pick(made.metadata, "resourceVersion");
    await refused("Conflict", store.delete(refTo(made), stale, call()));
    await store.delete(refTo(made), pick(later.metadata, "uid", "resourceVersion"), call());
    expect(await store.get(refTo(made), call())).toBe(undefined);
  });

  test("finalizers hold it, marked, until the last is removed", async () => {
    const { store, namespace } = await arena(subject);
    const made = await store.create(
      held(terraform(namespace, "app"), "a.test/x", "b.test/y"),
      call(),
    );
    await store.delete(refTo(made), {}, call());
    let marked = await existing(store, refTo(made));
    expect(marked.metadata.deletionTimestamp).toMatch(/^\d{4}-.*:\d\dZ$/);
    expect(marked.metadata.resourceVersion).not.toBe(made.metadata.resourceVersion);

    await store.delete(refTo(made), {}, call());
    const again = await existing(store, refTo(made));
    expect(again.metadata.deletionTimestamp).toBe(marked.metadata.deletionTimestamp);

    marked = await store.update(withRevision(again, "x"), "status", call());
    marked = await store.update(held(marked, "b.test/y"), "main", call());
    expect(marked.metadata.finalizers).toEqual(["b.test/y"]);
    await store.update(held(marked), "main", call());
    expect(await store.get(refTo(made), call())).toBe(undefined);
  });

  test("once it is being deleted no finalizer can be added", async () => {
    const { store, namespace } = await arena(subject);
    const made = await store.create(held(terraform(namespace, "app"), "a.test/x"), call());
    await store.delete(refTo(made), {}, call());
    const marked = await existing(store, refTo(made));
    const more = store.update(held(marked, "a.test/x", "b.test/y"), "main", call());
    await refused("Invalid", more);
    await store.update(held(marked), "main", call());
  });

  test("the mark of deletion cannot be taken back", async () => {
    const { store, namespace } = await arena(subject);
    const made = await store.create(held(terraform(namespace, "app"), "a.test/x"), call());
    await store.delete(refTo(made), {}, call());
    const marked = await existing(store, refTo(made));
    const { deletionTimestamp, deletionGracePeriodSeconds, ...metadata } = marked.metadata;
    const kept = await store.update({ ...marked, metadata }, "main", call());
    expect(kept.metadata.deletionTimestamp).toBe(deletionTimestamp);
    await store.update(held(kept), "main", call());
  });
}

function owning(subject: Subject): void {
  test("an object goes after its owner", async () => {
    const { store, namespace } = await arena(subject);
    const owner = await store.create(terraform(namespace, "app"), call());
    const owned = await store.create(ownedBy(secret(namespace, "outputs"), owner), call());
    const free = await store.create(secret(namespace, "free"), call());
    await store.delete(refTo(owner), {}, call());
    await gone(store, refTo(owned));
    expect(await store.get(refTo(free), call())).toEqual(free);
  });

  test("an object with two owners goes after the second", async () => {
    const { store, namespace } = await arena(subject);
    const first = await store.create(terraform(namespace, "first"), call());
    const second = await store.create(terraform(namespace, "second"), call());
    const shared = ownedBy(ownedBy(configMap(namespace, "shared"), first), second);
    const witness = ownedBy(configMap(namespace, "witness"), first);
    const kept = await store.create(shared, call());
    const passing = await store.create(witness, call());
    await store.delete(refTo(first), {}, call());
    await gone(store, refTo(passing));
    expect(await store.get(refTo(kept), call())).not.toBe(undefined);
    await store.delete(refTo(second), {}, call());
    await gone(store, refTo(kept));
  });

  test("who owns goes on owning until its finalizers let it go", async () => {
    const { store, namespace } = await arena(subject);
    const owner = await store.create(held(terraform(namespace, "app"), "a.test/x"), call());
    const owned = await store.create(ownedBy(secret(namespace, "outputs"), owner), call());
    await store.delete(refTo(owner), {}, call());
    expect(await store.get(refTo(owned), call())).not.toBe(undefined);
    await store.update(held(await existing(store, refTo(owner))), "main", call());
    await gone(store, refTo(owned));
  });

  test("a chain of owners goes link by link, and a finalizer holds its link", async () => {
    const { store, namespace } = await arena(subject);
    const top = await store.create(terraform(namespace, "top"), call());
    const middle = await store.create(
      held(ownedBy(configMap(namespace, "middle"), top), "a.test/x"),
      call(),
    );
    const bottom = await store.create(ownedBy(configMap(namespace, "bottom"), middle), call());
    await store.delete(refTo(top), {}, call());
    const marked = await eventually("middle is marked", async () => {
      const read = await existing(store, refTo(middle));
      return read.metadata.deletionTimestamp === undefined ? undefined : read;
    });
    expect(await store.get(refTo(bottom), call())).not.toBe(undefined);
    await store.update(held(marked), "main", call());
    await gone(store, refTo(bottom));
  });

  test("an object made for an owner that is gone already goes too", async () => {
    const { store, namespace } = await arena(subject);
    const owner = await store.create(terraform(namespace, "app"), call());
    await store.delete(refTo(owner), {}, call());
    const late = await store.create(ownedBy(secret(namespace, "outputs"), owner), call());
    await gone(store, refTo(late));
  });
}

function holdingData(subject: Subject): void {
  test("stringData is folded into data, and wins", async () => {
    const { store, namespace } = await arena(subject);
    const object = secret(namespace, "vars");
    object.data = { a: base64("old"), b: base64("kept") };
    object.stringData = { a: "néw" };
    let made = await store.create(object, call());
    expect(made).not.toHaveProperty("stringData");
    expect(made.data).toEqual({ a: base64("néw"), b: base64("kept") });
    made = await store.update({ ...made, stringData: { b: "" } }, "main", call());
    expect(made.data).toEqual({ a: base64("néw"), b: "" });
    expect(made.type).toBe("Opaque");
  });

  test("an immutable Secret or ConfigMap keeps its data, and can still be labelled", async () => {
    const { store, namespace } = await arena(subject);
    const fixed = await store.create(
      { ...secret(namespace, "fixed"), immutable: true, data: { a: base64("1") } },
      call(),
    );
    await refused("Invalid", store.update({ ...fixed, data: {} }, "main", call()));
    await refused("Invalid", store.update({ ...fixed, immutable: false }, "main", call()));
    const metadata = { ...fixed.metadata, labels: { team: "a" } };
    await store.update({ ...fixed, metadata }, "main", call());
    const map = await store.create(
      { ...configMap(namespace, "fixed"), immutable: true, data: { a: "1" } },
      call(),
    );
    await refused("Invalid", store.update({ ...map, data: { a: "2" } }, "main", call()));
  });

  const bad: Record<string, (object: ObjectOf<"Secret">) => void> = {
    "data that is not base64": (object) => Object.assign(object, { data: { a: "not base64!" } }),
    "a key with a slash": (object) => Object.assign(object, { stringData: { "a/b": "x" } }),
    "more than 1 MiB of values": (object) =>
      Object.assign(object, { stringData: { a: "x".repeat(1024 * 1024 + 1) } }),
  };
  test.each(Object.entries(bad))("%s is refused", async (_, spoil) => {
    const { store, namespace } = await arena(subject);
    const object = secret(namespace, "bad");
    spoil(object);
    await refused("Invalid", store.create(object, call()));
  });

  test("the type of a Secret stays", async () => {
    const { store, namespace } = await arena(subject);
    const made = await store.create(secret(namespace, "typed"), call());
    await refused("Invalid", store.update({ ...made, type: "example.test/x" }, "main", call()));
  });
}

function watching(subject: Subject): void {
  test("every later change comes once, in order, of this kind and namespace alone", async () => {
    const { store, namespace } = await arena(subject);
    const elsewhere = (await arena(subject)).namespace;
    await store.create(terraform(namespace, "before"), call());
    const { resourceVersion } = await store.list("Terraform", { namespace }, call());
    await using seen = follow(store, "Terraform", { namespace, resourceVersion });

    let object = await store.create(held(terraform(namespace, "app"), "a.test/x"), call());
    await store.create(configMap(namespace, "app"), call());
    await store.create(terraform(elsewhere, "app"), call());
    object = await store.update(withPath(object, "./a"), "main", call());
    object = await store.update(withRevision(object, "r"), "status", call());
    await store.delete(refTo(object), {}, call());
    object = await existing(store, refTo(object));
    await store.update(held(object), "main", call());
    await store.create(terraform(namespace, "last"), call());

    await seen.until((events) => events.some(({ name }) => name === "last"));
    expect(seen.events.map(({ type, name }) => `${type} ${name}`)).toEqual([
      "ADDED app",
      "MODIFIED app",
      "MODIFIED app",
      "MODIFIED app",
      "DELETED app",
      "ADDED last",
    ]);
    expect(seen.events[1]?.object).toMatchObject({ spec: { path: "./a" } });
    expect(seen.events[2]?.object).toMatchObject({ status: { lastAppliedRevision: "r" } });
    expect(seen.events[3]?.object.metadata.deletionTimestamp).toMatch(/Z$/);
    expect(seen.events[4]?.object.spec.path).toBe("./a");
    const versions = seen.events.map(({ object: { metadata } }) => metadata.resourceVersion);
    expect(new Set(versions).size).toBe(6);
  });

  test("taken up again from the version of an event, nothing is lost or repeated", async () => {
    const { store, namespace } = await arena(subject);
    const start = await store.list("ConfigMap", { namespace }, call());
    for (const name of ["a", "b", "c"]) await store.create(configMap(namespace, name), call());
    const first = await (async () => {
      await using seen = follow(store, "ConfigMap", {
        namespace,
        resourceVersion: start.resourceVersion,
      });
      await seen.until((events) => events.some(({ name }) => name === "b"));
      return seen.events.find(({ name }) => name === "b");
    })();
    const resourceVersion = first?.object.metadata.resourceVersion ?? "";
    await using seen = follow(store, "ConfigMap", { namespace, resourceVersion });
    await store.create(configMap(namespace, "d"), call());
    await seen.until((events) => events.some(({ name }) => name === "d"));
    expect(seen.events.map(({ name }) => name)).toEqual(["c", "d"]);
  });

  test("without a namespace it sees all of them", async () => {
    const one = await arena(subject);
    const two = await arena(subject);
    const { resourceVersion } = await one.store.list("Terraform", {}, call());
    await using seen = follow(one.store, "Terraform", { resourceVersion });
    await one.store.create(terraform(one.namespace, "app"), call());
    await two.store.create(terraform(two.namespace, "app"), call());
    const mine = () =>
      seen.events
        .map(({ object }) => object.metadata.namespace)
        .filter((each) => each === one.namespace || each === two.namespace);
    await seen.until(() => mine().length === 2);
    expect(mine()).toEqual([one.namespace, two.namespace]);
  });

  test("a change that changes nothing is not told", async () => {
    const { store, namespace } = await arena(subject);
    const made = await storedWhole(store, terraform(namespace, "app"));
    const { resourceVersion } = await store.list("Terraform", { namespace }, call());
    await using seen = follow(store, "Terraform", { namespace, resourceVersion });
    await store.update(structuredClone(made), "main", call());
    await store.create(terraform(namespace, "last"), call());
    await seen.until((events) => events.length > 0);
    expect(seen.events.map(({ name }) => name)).toEqual(["last"]);
  });

  test("many may watch, and what they get is theirs", async () => {
    const { store, namespace } = await arena(subject);
    const { resourceVersion } = await store.list("Terraform", { namespace }, call());
    await using one = follow(store, "Terraform", { namespace, resourceVersion });
    await using two = follow(store, "Terraform", { namespace, resourceVersion });
    const made = await store.create(terraform(namespace, "app", { path: "./a" }), call());
    await one.until((events) => events.length === 1);
    for (const { object } of one.events) object.spec.path = "./spoiled";
    await two.until((events) => events.length === 1);
    expect(two.events[0]?.object.spec.path).toBe("./a");
    expect((await existing(store, refTo(made))).spec.path).toBe("./a");
  });

  test("it ends quietly with its call, also while nothing happens", async () => {
    const { store, namespace } = await arena(subject);
    const { resourceVersion } = await store.list("Terraform", { namespace }, call());
    const controller = new AbortController();
    const watch = store.watch("Terraform", { namespace, resourceVersion }, controller);
    const ended = (async () => {
      for await (const each of watch) expect(each.type).toBe("BOOKMARK");
      return "ended";
    })();
    setTimeout(() => controller.abort(), 100);
    expect(await within("the watch ends", ended)).toBe("ended");
  });
}

function calling(subject: Subject): void {
  test("a call that was cancelled before it began changes nothing and says why", async () => {
    const { store, namespace } = await arena(subject);
    const reason = new Error("Ctrl-C");
    const cancelled = { signal: AbortSignal.abort(reason) };
    const object = terraform(namespace, "app");
    const error = await refused("Unavailable", store.create(object, cancelled));
    expect(error.cause).toBe(reason);
    await refused("Unavailable", store.get(refTo(object), cancelled));
    await refused("Unavailable", store.list("Terraform", { namespace }, cancelled));
    expect(await store.get(refTo(object), call())).toBe(undefined);
  });

  test("an error names kind, namespace and name", async () => {
    const { store, namespace } = await arena(subject);
    const object = terraform(namespace, "app");
    const missing = await refused("NotFound", store.delete(refTo(object), {}, call()));
    expect(missing.message).toContain(`Terraform/${keyText(keyOf(object))}`);
    const made = await store.create(object, call());
    await store.update(withPath(made, "./a"), "main", call());
    const stale = await refused("Conflict", store.update(withPath(made, "./b"), "main", call()));
    expect(stale.message).toContain(`Terraform/${keyText(keyOf(object))}`);
  });
}

// What the tests are written with.

type Of<K extends KindName> = ObjectOf<K>;
type Kinded = ObjectOf<KindName>;

function call() {
  return { signal: AbortSignal.timeout(PATIENCE_MS) };
}

function terraform(namespace: string, name: string, spec: Partial<Terraform["spec"]> = {}) {
  const object: Terraform = {
    apiVersion: "infra.contrib.fluxcd.io/v1alpha2",
    kind: "Terraform",
    metadata: { name, namespace },
    spec: { interval: "5m0s", sourceRef: { kind: "GitRepository", name: "source" }, ...spec },
  };
  return object;
}
function configMap(namespace: string, name: string): Of<"ConfigMap"> {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace } };
}
function secret(namespace: string, name: string): Of<"Secret"> {
  return { apiVersion: "v1", kind: "Secret", metadata: { name, namespace }, type: "Opaque" };
}
function gitRepository(namespace: string, name: string): Of<"GitRepository"> {
  return {
    apiVersion: "source.toolkit.fluxcd.io/v1",
    kind: "GitRepository",
    metadata: { name, namespace },
    spec: { url: "https://example.test/repository", interval: "1m0s" },
  };
}
function lease(namespace: string, name: string): Of<"Lease"> {
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name, namespace },
    spec: { holderIdentity: "nobody", leaseDurationSeconds: 15 },
  };
}
function event(involved: Terraform, name: string): Of<"Event"> {
  const namespace = involved.metadata.namespace ?? "default";
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace },
    involvedObject: { kind: "Terraform", namespace, name: involved.metadata.name },
    reason: "Progressing",
    message: "Planning",
    type: "Normal",
    count: 1,
  };
}

/** A cluster writes down the defaults of a new object's status only with its first change. */
async function storedWhole(store: ObjectStore, object: Terraform): Promise<Terraform> {
  return await store.update(await store.create(object, call()), "main", call());
}

function refTo<K extends KindName>(object: {
  kind: K;
  metadata: Kinded["metadata"];
}): ObjectRef<K> {
  return { kind: object.kind, ...keyOf(object) };
}
function withPath(object: Terraform, path: string): Terraform {
  return { ...object, spec: { ...object.spec, path } };
}
function withRevision(object: Terraform, lastAppliedRevision: string): Terraform {
  return { ...object, status: { ...object.status, lastAppliedRevision } };
}
function withAnnotation(object: Terraform, value: string): Terraform {
  const annotations = { "example.test/note": value };
  return { ...object, metadata: { ...object.metadata, annotations } };
}
function held<T extends Kinded>(object: T, ...finalizers: string[]): T {
  return { ...object, metadata: { ...object.metadata, finalizers } };
}
function ownedBy<T extends Kinded>(object: T, owner: Kinded): T {
  const { apiVersion, kind, metadata } = owner;
  const reference = { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? "" };
  const ownerReferences = [...(object.metadata.ownerReferences ?? []), reference];
  return { ...object, metadata: { ...object.metadata, ownerReferences } };
}
function pick<T extends object, F extends keyof T>(object: T, ...fields: F[]): Pick<T, F> {
  return Object.fromEntries(fields.map((field) => [field, object[field]])) as Pick<T, F>;
}
function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

async function refused(code: StoreErrorCode, action: Promise<unknown>): Promise<StoreError> {
  const outcome = await action.then(
    () => "it was done",
    (error: unknown) => error,
  );
  if (!(outcome instanceof StoreError)) throw new Error(`Expected ${code}`, { cause: outcome });
  expect(outcome.code, outcome.message).toBe(code);
  return outcome;
}

async function existing<K extends KindName>(store: ObjectStore, ref: ObjectRef<K>): Promise<Of<K>> {
  const object = await store.get(ref, call());
  if (object === undefined) throw new Error(`${ref.kind} ${keyText(ref)} is gone`);
  return object;
}

function gone(store: ObjectStore, ref: ObjectRef): Promise<true> {
  return eventually(`${ref.kind} ${keyText(ref)} is collected`, async () =>
    (await store.get(ref, call())) === undefined ? true : undefined,
  );
}

async function eventually<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > end) throw new Error(`Not within ${PATIENCE_MS} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function within<T>(what: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new Error(`Not within ${PATIENCE_MS} ms: ${what}`);
    timer = setTimeout(() => reject(error), PATIENCE_MS);
  });
  return await Promise.race([work, late]).finally(() => clearTimeout(timer));
}

interface Seen<K extends KindName> {
  readonly type: string;
  readonly name: string;
  readonly object: Of<K>;
}
interface Follower<K extends KindName> extends AsyncDisposable {
  readonly events: readonly Seen<K>[];
  until(enough: (events: readonly Seen<K>[]) => boolean): Promise<void>;
}

/** Gathers the events of a watch, bookmarks left out, until it is disposed of. */
function follow<K extends KindName>(
  store: ObjectStore,
  kind: K,
  from: { namespace?: string; resourceVersion: string },
): Follower<K> {
  const controller = new AbortController();
  const events: Seen<K>[] = [];
  let failure: unknown;
  const take = (event: WatchEvent<Of<K>>) => {
    if (event.type === "BOOKMARK") return;
    // A cluster puts this one into every namespace.
    if (event.object.metadata.name === "kube-root-ca.crt") return;
    events.push({ type: event.type, name: event.object.metadata.name, object: event.object });
  };
  const done = (async () => {
    try {
      for await (const event of store.watch(kind, from, controller)) take(event);
    } catch (error) {
      failure = error;
    }
  })();
  return {
    events,
    async until(enough) {
      await eventually(`enough events; seen: ${events.map(({ name }) => name)}`, async () => {
        if (failure !== undefined) throw failure;
        return enough(events) ? true : undefined;
      });
    },
    async [Symbol.asyncDispose]() {
      controller.abort();
      await within("the watch ends", done);
    },
  };
}
