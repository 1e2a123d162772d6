import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { StoreFaults } from "../adapters/memory/faults.ts";
import { memoryObjectStore } from "../adapters/memory/object-store.ts";
import type { GitRepository, Secret } from "../api/core.ts";
import { REQUESTED_AT } from "../api/names.ts";
import type { Terraform } from "../api/terraform.ts";
import {
  ArtifactError,
  type ArtifactKeeper,
  type GitRequest,
  type GitResult,
} from "../ports/artifacts.ts";
import { noLog } from "../ports/log.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import { seededRandom, VirtualClock } from "../testing/fakes/clock.ts";
import { Sources } from "./sources.ts";

const call = { signal: new AbortController().signal };
const hex = (digit: string) => `sha256:${digit.repeat(64)}`;
const result = (digit: string): GitResult => ({
  revision: `main@sha1:${digit.repeat(40)}`,
  url: `file:///data/${digit}.tar.gz`,
  digest: hex(digit),
  sizeBytes: 100,
});

let clock: VirtualClock;
let faults: StoreFaults;
let store: ObjectStore;
let stop: AbortController;
let asked: GitRequest[];
let answer: (request: GitRequest, signal: AbortSignal) => Promise<GitResult>;
let retained: (readonly string[])[];
beforeEach(() => {
  clock = new VirtualClock();
  faults = new StoreFaults();
  store = memoryObjectStore({ clock, random: seededRandom(1), faults });
  stop = new AbortController();
  asked = [];
  retained = [];
  answer = async () => result("a");
});
afterEach(() => stop.abort());

/** Starts it on what there is, and lets the first looks happen. */
async function start(): Promise<void> {
  const git = {
    async fetch(request: GitRequest, { signal }: { signal: AbortSignal }) {
      asked.push(request);
      return await answer(request, signal);
    },
  };
  const keeper: ArtifactKeeper = {
    keep: async () => Promise.reject(new Error("Nobody keeps here")),
    find: async () => undefined,
    async retain(digests) {
      retained.push(digests);
      return 0;
    },
  };
  const sources = new Sources({ store, git, keeper, clock, random: seededRandom(2), log: noLog });
  void sources.run(stop.signal);
  await clock.advance(1_000);
}
const ref = { kind: "GitRepository", namespace: "default", name: "infra" } as const;
async function create(spec: Partial<GitRepository["spec"]> = {}, name = "infra"): Promise<void> {
  await store.create(
    {
      apiVersion: "source.toolkit.fluxcd.io/v1",
      kind: "GitRepository",
      metadata: { name, namespace: "default" },
      spec: { url: "https://example.test/infra", interval: "1m", ...spec },
    } as GitRepository,
    call,
  );
}
async function get(): Promise<GitRepository> {
  const found = await store.get(ref, call);
  if (found === undefined) throw new Error("It is not there");
  return found;
}
async function edit(change: (object: GitRepository) => void): Promise<void> {
  const object = structuredClone(await get());
  change(object);
  await store.update(object, "main", call);
}
async function conditions(): Promise<string[]> {
  const { status } = await get();
  return (status?.conditions ?? []).map((each) => `${each.type}=${each.status} ${each.reason}`);
}

test("a new source gets its artifact and says so as source-controller does", async () => {
  await create();
  await start();
  const { status } = await get();
  expect(status?.artifact).toEqual({
    url: "file:///data/a.tar.gz",
    revision: `main@sha1:${"a".repeat(40)}`,
    digest: hex("a"),
    size: 100,
    lastUpdateTime: "2026-01-01T00:00:00Z",
  });
  expect(status?.observedGeneration).toBe(1);
  expect(await conditions()).toEqual(["Ready=True Succeeded", "ArtifactInStorage=True Succeeded"]);
  expect(status?.conditions?.[0]?.message).toMatch(/^stored artifact for revision 'main@sha1:aaa/);
});

test("while the first look goes on, who waits can see it", async () => {
  await create();
  answer = () => new Promise(() => {});
  await start();
  expect(await conditions()).toEqual(["Reconciling=True Progressing", "Ready=Unknown Progressing"]);
});

test("it is looked at again at its interval, and nothing new writes nothing", async () => {
  await create();
  await start();
  const before = await get();
  await clock.advance(180_000);
  expect(asked).toHaveLength(4);
  expect(await get()).toEqual(before);
  answer = async () => result("b");
  await clock.advance(60_000);
  expect((await get()).status?.artifact).toMatchObject({
    digest: hex("b"),
    lastUpdateTime: "2026-01-01T00:04:00Z",
  });
});

describe("looked at at once", () => {
  test("when its spec changes", async () => {
    await create();
    await start();
    await edit((object) => Object.assign(object.spec, { ref: { branch: "other" } }));
    await clock.advance(100);
    expect(asked.at(-1)?.repository.spec.ref).toEqual({ branch: "other" });
    expect((await get()).status?.observedGeneration).toBe(2);
  });

  test("when somebody asks, which is then said to be handled", async () => {
    await create();
    await start();
    await edit((object) => {
      object.metadata.annotations = { [REQUESTED_AT]: "now" };
    });
    await clock.advance(100);
    expect(asked).toHaveLength(2);
    expect((await get()).status?.lastHandledReconcileAt).toBe("now");
  });

  test("not for a label, nor for what it wrote itself", async () => {
    await create();
    await start();
    await edit((object) => {
      object.metadata.labels = { team: "a" };
    });
    await clock.advance(10_000);
    expect(asked).toHaveLength(1);
  });
});

test("suspended it is left alone until it is resumed", async () => {
  await create({ suspend: true });
  await start();
  await clock.advance(600_000);
  expect(asked).toEqual([]);
  await edit((object) => Object.assign(object.spec, { suspend: false }));
  await clock.advance(100);
  expect(asked).toHaveLength(1);
});

describe("a look that fails", () => {
  const failure = new ArtifactError("GitRepository default/infra: Authentication failed", false);

  test("says why, keeps the last artifact, and is tried again ever more rarely", async () => {
    await create();
    await start();
    answer = async () => Promise.reject(failure);
    await clock.advance(61_000);
    expect(await conditions()).toEqual([
      "Ready=False GitOperationFailed",
      "FetchFailed=True GitOperationFailed",
      "ArtifactInStorage=True Succeeded",
    ]);
    const { status } = await get();
    expect(status?.conditions?.[0]?.message).toBe(failure.message);
    expect(status?.artifact?.digest).toBe(hex("a"));
    asked = [];
    await clock.advance(3_600_000);
    expect(asked.length).toBeGreaterThan(12);
    expect(asked.length).toBeLessThan(60);
    answer = async () => result("b");
    await clock.advance(300_000);
    expect(await conditions()).toEqual([
      "Ready=True Succeeded",
      "ArtifactInStorage=True Succeeded",
    ]);
  });

  test("a Secret that is not there is named, and its coming is noticed at once", async () => {
    await create({ secretRef: { name: "token" } });
    await start();
    expect(await conditions()).toContain("Ready=False AuthenticationFailed");
    const message = (await get()).status?.conditions?.[0]?.message;
    expect(message).toContain("Secret default/token of spec.secretRef does not exist; make it");
    expect(asked).toEqual([]);
    const secret: Secret = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "token", namespace: "default" },
      stringData: { username: "robot", password: "hunter2" },
    };
    await store.create(secret, call);
    await clock.advance(100);
    expect(asked[0]?.credentials).toEqual({ username: "robot", password: "hunter2" });
    expect(await conditions()).toContain("Ready=True Succeeded");
    expect(JSON.stringify(await get())).not.toContain("hunter2");
  });

  test("one that never ends is left, and holds up no other source", async () => {
    await create({ timeout: "20s" });
    await create({ url: "https://example.test/other" }, "other");
    answer = ({ repository }) =>
      repository.metadata.name === "infra" ? new Promise(() => {}) : Promise.resolve(result("c"));
    await start();
    const other = await store.get({ ...ref, name: "other" }, call);
    expect(other?.status?.artifact?.digest).toBe(hex("c"));
    await clock.advance(40_000);
    expect(await conditions()).toContain("Ready=False GitOperationFailed");
  });
});

test("a store that fails for a while costs time, nothing else", async () => {
  await create();
  faults.unavailable = true;
  await start();
  await clock.advance(60_000);
  faults.unavailable = false;
  await clock.advance(120_000);
  expect(await conditions()).toContain("Ready=True Succeeded");
});

test("an object that is changed while it is fetched is looked at anew", async () => {
  await create();
  let first = true;
  answer = async () => {
    if (first) {
      first = false;
      await edit((object) => Object.assign(object.spec, { ref: { branch: "other" } }));
    }
    return result("a");
  };
  await start();
  expect((await get()).status?.observedGeneration).toBe(2);
  expect(asked.at(-1)?.repository.spec.ref).toEqual({ branch: "other" });
});

test("an object deleted while it is fetched is forgotten", async () => {
  await create();
  answer = async () => {
    await store.delete(ref, {}, call);
    return result("a");
  };
  await start();
  asked = [];
  await clock.advance(3_600_000);
  expect(asked).toEqual([]);
});

test("archives that any status speaks of are kept when the others go", async () => {
  await create();
  const terraform: Terraform = {
    apiVersion: "infra.contrib.fluxcd.io/v1alpha2",
    kind: "Terraform",
    metadata: { name: "web", namespace: "default" },
    spec: { interval: "5m", sourceRef: { kind: "GitRepository", name: "infra" } },
  };
  const made = await store.create(terraform, call);
  const run = {
    id: "r1",
    operation: "plan",
    reason: "Progressing",
    attempt: 1,
    epoch: 1,
    generation: 1,
    revision: "main@sha1:1",
    artifactDigest: hex("d"),
    inputsDigest: "i",
    stage: "init",
    intendedAt: "2026-01-01T00:00:00Z",
    stageSince: "2026-01-01T00:00:00Z",
    verdict: "alive",
  } as const;
  await store.update({ ...made, status: { run } }, "status", call);
  await start();
  await clock.advance(601_000);
  expect(retained).toHaveLength(1);
  expect(retained[0]).toContain(hex("a"));
  expect(retained[0]).toContain(hex("d"));
});
