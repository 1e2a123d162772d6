import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { memoryObjectStore } from "../adapters/memory/object-store.ts";
import type { Terraform } from "../api/terraform.ts";
import { EngineUnavailable } from "../ports/engine.ts";
import { type ObjectStore, StoreError } from "../ports/object-store.ts";
import { seededRandom, VirtualClock } from "../testing/fakes/clock.ts";
import { MemoryStates } from "../testing/fakes/memory-states.ts";
import { quietShell } from "../testing/fakes/shell.ts";
import { runCommandLine } from "./program.ts";
import { atRest } from "./views/status.ts";
import type { Shell, UpOptions, World } from "./world.ts";

const call = () => ({ signal: new AbortController().signal });
/** A test may put something else in a part's place. */
type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** A command line on a store in memory: what it prints, and how it ends. */
function stage(engineRuns = true) {
  const clock = new VirtualClock();
  const store = memoryObjectStore({ clock, random: seededRandom(1) });
  const quiet = quietShell();
  const { printed } = quiet;
  const ups: UpOptions[] = [];
  const world: Writable<World> = {
    store,
    state: new MemoryStates(clock),
    logs: {
      append: async () => {},
      read: async () => [{ at: "t", runId: "r1", stage: "plan", text: "hello" }],
      async *follow() {},
    },
    live: async () => undefined,
    via: "memory",
    engineRuns,
    close: async () => {},
  };
  const shell: Writable<Shell> = {
    ...quiet,
    clock,
    out: { ...quiet.out, columns: 100 },
    connect: async () => world,
    up: async (options) => {
      ups.push(options);
      return 0;
    },
    readFile: async () => new Uint8Array(),
    readManifests: async () => ({ version: "1", objects: [], diagnostics: [] }),
    applyObject: async () => "created",
  };
  const run = async (...words: string[]) => {
    printed.out = "";
    printed.err = "";
    const evidence = () => Promise.reject(new Error("not here"));
    const openCluster = () => Promise.reject(new Error("there is none"));
    const code = await runCommandLine(
      { shell, evidence, openCluster, definition: async () => ({}) },
      words,
    );
    return { code, ...printed };
  };
  return { run, store, ups, clock, world, shell, printed };
}

async function put(store: ObjectStore, spec: Partial<Terraform["spec"]>, status?: object) {
  const made = await store.create(
    {
      apiVersion: "infra.contrib.fluxcd.io/v1alpha2",
      kind: "Terraform",
      metadata: { name: "app", namespace: "default" },
      spec: { interval: "5m", sourceRef: { kind: "GitRepository", name: "src" }, ...spec },
    },
    call(),
  );
  if (status !== undefined) await store.update({ ...made, status }, "status", call());
}

async function app(store: ObjectStore): Promise<Terraform> {
  const found = await store.get({ kind: "Terraform", namespace: "default", name: "app" }, call());
  if (found === undefined) throw new Error("app is gone");
  return found;
}

describe("exit codes", () => {
  const cases: Record<string, { words: string[]; code: number; says: RegExp }> = {
    "help is no error": { words: ["--help"], code: 0, says: /Usage: nigari/ },
    "its other form": { words: ["--version"], code: 0, says: /^9\.9\.9\n$/ },
    "a version is asked for": { words: ["version"], code: 0, says: /^nigari 9\.9\.9\n$/ },
    "an unknown verb is a usage error": { words: ["fly"], code: 3, says: /unknown command 'fly'/ },
    "an unknown flag too": { words: ["get", "--what"], code: 3, says: /unknown option/ },
    "a missing argument too": { words: ["describe"], code: 3, says: /missing required argument/ },
    "a wrong duration names the form": {
      words: ["up", ".", "--poll", "5"],
      code: 3,
      says: /30s or 10m/,
    },
    "an unknown kind lists the known ones": {
      words: ["get", "pods", "x"],
      code: 3,
      says: /Unknown kind "pods"; known kinds: terraforms/,
    },
    "an object that is not there": {
      words: ["describe", "nope"],
      code: 4,
      says: /Terraform default\/nope not found; "nigari get terraform -A"/,
    },
    "a form that the verb does not know": {
      words: ["get", "-o", "markdown"],
      code: 3,
      says: /-o "markdown" is none of table, json, yaml \("nigari get --help"/,
    },
    "a form of another verb": {
      words: ["doctor", "--bundle", "x", "-o", "yaml"],
      code: 3,
      says: /-o "yaml" is none of text, json, markdown/,
    },
    "nothing to list is no error": {
      words: ["get"],
      code: 0,
      says: /No Terraform found in namesp/,
    },
    "nothing to approve": {
      words: ["approve", "app"],
      code: 1,
      says: /No plan is pending for app/,
    },
    "a push of nothing": { words: ["state", "push", "app"], code: 3, says: /What shall be pushed/ },
    "a state that is not there": { words: ["state", "show", "app"], code: 4, says: /No state of / },
  };
  test.each(Object.entries(cases))("%s", async (_, { words, code, says }) => {
    const { run, store } = stage();
    await put(store, {});
    if (words[0] === "get" && words.length === 1) {
      await store.delete({ kind: "Terraform", namespace: "default", name: "app" }, {}, call());
    }
    const done = await run(...words);
    expect(done.out + done.err).toMatch(says);
    expect(done.code).toBe(code);
  });
});

describe("approve", () => {
  const pending = { plan: { pending: "plan-main-1234567890" } };

  test("writes exactly the pending id and asks for a pass", async () => {
    const { run, store } = stage();
    await put(store, {}, pending);
    expect(await run("approve", "app")).toMatchObject({ code: 0 });
    const object = await app(store);
    expect(object.spec.approvePlan).toBe("plan-main-1234567890");
    expect(object.metadata.annotations?.["reconcile.fluxcd.io/requestedAt"]).toBeDefined();
  });

  test("is proposed with the namespace, unless that is the one of the context", async () => {
    const { run, store, world } = stage();
    await put(store, {}, pending);
    expect((await run("describe", "app")).out).toContain("nigari approve app plan-main-");
    world.namespace = "apps";
    const { out } = await run("describe", "default/app");
    expect(out).toContain("nigari approve default/app plan-main-");
  });

  test("refuses when another plan was looked at", async () => {
    const { run, store } = stage();
    await put(store, {}, pending);
    const done = await run("approve", "app", "plan-main-0000000000");
    expect(done).toMatchObject({ code: 1 });
    expect(done.err).toContain(
      "The pending plan is plan-main-1234567890, not plan-main-0000000000",
    );
    expect((await app(store)).spec.approvePlan).toBeUndefined();
  });

  test("leaves auto as it is and gives the word beside it", async () => {
    const { run, store } = stage();
    await put(store, { approvePlan: "auto" }, pending);
    await run("approve", "app");
    const object = await app(store);
    expect(object.spec.approvePlan).toBe("auto");
    expect(object.metadata.annotations?.["nigari.dev/accept"]).toBe("plan-main-1234567890");
  });

  test("leaves an id alone that force has made needless", async () => {
    const { run, store } = stage();
    await put(store, { force: true, planOnly: true }, pending);
    await run("approve", "app");
    const object = await app(store);
    expect(object.spec.approvePlan).toBeUndefined();
    expect(object.metadata.annotations?.["nigari.dev/accept"]).toBe("plan-main-1234567890");
  });

  test("says why nothing would be applied in the plan only mode", async () => {
    const { run, store } = stage();
    await put(store, { planOnly: true }, pending);
    expect(await run("approve", "app")).toMatchObject({
      code: 1,
      err: expect.stringContaining("set spec.planOnly to false"),
    });
    expect((await app(store)).spec.approvePlan).toBeUndefined();
  });
});

test("an object that asks for nothing is at rest, and called idle", async () => {
  const { run, store } = stage();
  const ready = {
    type: "Ready",
    status: "Unknown",
    reason: "NothingToDo",
    message: "Nothing is done",
  };
  const conditions = [{ ...ready, lastTransitionTime: "2026-01-01T00:00:00Z" }];
  await put(store, { approvePlan: "disable", disableDriftDetection: true });
  const asked = await app(store);
  asked.metadata.annotations = { "reconcile.fluxcd.io/requestedAt": "now" };
  const stored = await store.update(asked, "main", call());
  const { generation = 0 } = stored.metadata;
  const status = { conditions, observedGeneration: generation, lastHandledReconcileAt: "now" };
  await store.update({ ...stored, status } as Terraform, "status", call());
  expect((await run("get")).out).toMatch(/app +Unknown +Idle .*Nothing is done/);
  expect(atRest(await app(store))).toBe(true);
});

test("plan show prints the plan's text, and how to approve exactly this one", async () => {
  const { run, store } = stage();
  await put(store, {}, { plan: { pending: "plan-1" } });
  await putPlanText(store, "Terraform will perform");
  const { code, out } = await run("plan", "show", "app");
  expect(code).toBe(0);
  expect(out).toContain("Terraform will perform\n");
  expect(out).toContain("Approve exactly this plan:  nigari approve app plan-1");
});

test("replan asks for a new plan with another word each time", async () => {
  const { run, store, clock } = stage();
  await put(store, {});
  const asked: unknown[] = [];
  for (let count = 0; count < 2; count += 1) {
    expect(await run("replan", "app")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^New/),
    });
    asked.push((await app(store)).metadata.annotations?.["nigari.dev/replan"]);
    await clock.advance(1_000);
  }
  expect(new Set(asked).size).toBe(2);
  expect(asked).not.toContain(undefined);
});

test("get tells an object that is applied and not well from one that failed", async () => {
  const { run, store } = stage();
  const message = "TCP health check error: db, url: h:1: no answer within 20s";
  const ready = { type: "Ready", status: "False", reason: "HealthChecksFailed", message };
  const conditions = [{ ...ready, lastTransitionTime: "2026-01-01T00:00:00Z" }];
  await put(store, {}, { conditions });
  expect((await run("get", "terraform")).out).toMatch(/app +False +Unhealthy .*TCP health check/);
});

test("describe shows drift as what it is, and what may be applied", async () => {
  const { run, store } = stage();
  const drift = {
    since: "2026-01-01T00:00:00Z",
    at: "2026-01-01T00:10:00Z",
    revision: "main@sha1:1",
    changes: 2,
    summary: "2 to add, 0 to change, 0 to destroy",
    count: 3,
  };
  await put(store, { planOnly: true }, { drift, plan: { pending: "plan-1", summary: "2 to add" } });
  const { out } = await run("describe", "app");
  expect(out).toMatch(
    /^Drift: +2 to add.*since 2026-01-01T00:00:00Z \(3 looks, revision main@sha1:1/m,
  );
  expect(out).toMatch(/^Approval: +never \(spec.planOnly\)$/m);
  expect(out).toContain("plan-1 is not applied, for the object is in the plan only mode");
  expect(out).not.toContain("nigari approve");
});

test("values of Secrets are hidden unless they are asked for", async () => {
  const { run, store } = stage();
  await store.create(
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "s", namespace: "default" },
      stringData: { password: "hunter2" },
    },
    call(),
  );
  const value = Buffer.from("hunter2").toString("base64");
  const hidden = await run("get", "secret", "s", "-o", "yaml");
  expect(hidden.out).toContain("password");
  expect(hidden.out).not.toContain(value);
  expect((await run("get", "secret/s", "-o", "json", "--reveal")).out).toContain(value);
  expect((await run("get", "secrets")).out).not.toContain("hunter2");
});

describe("end-run", () => {
  const run = { id: "1-a", operation: "apply", stage: "apply" };

  test("names the run that is under way in the object", async () => {
    const { run: nigari, store } = stage();
    await put(store, {}, { run });
    expect(await nigari("end-run", "app")).toEqual({
      code: 0,
      out: "Ordered the end of run 1-a (apply, stage apply) of app\n",
      err: "",
    });
    expect((await app(store)).metadata.annotations).toEqual({ "nigari.dev/end-run": "1-a" });
  });

  test("refuses another run than was meant, and an object that has none", async () => {
    const { run: nigari, store } = stage();
    await put(store, {}, { run });
    expect(await nigari("end-run", "app", "1-b")).toMatchObject({
      code: 1,
      err: "nigari: Run 1-a is under way for app, not 1-b\n",
    });
    expect((await app(store)).metadata.annotations).toBeUndefined();
    await store.update({ ...(await app(store)), status: {} }, "status", call());
    expect(await nigari("end-run", "app")).toMatchObject({ code: 1 });
  });
});

test("suspend and resume change the spec and nothing else", async () => {
  const { run, store } = stage();
  await put(store, { path: "./x" });
  await run("suspend", "app");
  expect((await app(store)).spec).toMatchObject({ suspend: true, path: "./x" });
  await run("resume", "app");
  expect((await app(store)).spec.suspend).toBe(false);
});

test("describe answers what it waits for, until when, and what then", async () => {
  const { run, store } = stage();
  await put(
    store,
    {},
    {
      run: {
        id: "r1",
        operation: "apply",
        reason: "PlanApproved",
        attempt: 1,
        epoch: 1,
        generation: 1,
        revision: "main@sha1:1",
        artifactDigest: "sha256:1",
        inputsDigest: "x",
        stage: "apply",
        intendedAt: "2025-12-31T23:59:00Z",
        stageSince: "2025-12-31T23:59:30Z",
        lastSignAt: "2025-12-31T23:59:58Z",
        verdict: "alive",
      },
    },
  );
  const { out } = await run("describe", "app");
  expect(out).toContain("Run r1 (apply, attempt 1) is in stage apply since 30s.");
  expect(out).toContain("Until: no limit");
  expect(out).toContain("Last sign of life: 2s ago (alive).");
});

const ready = (status: "True" | "False") => ({
  observedGeneration: 1,
  lastHandledReconcileAt: "2026-01-01T00:00:00.000Z",
  conditions: [
    { type: "Ready", status, reason: "X", message: "it is so", lastTransitionTime: "t" },
  ],
});

test("--wait ends when nothing is under way, with 1 for a failure", async () => {
  const { run, store } = stage();
  await put(store, {}, ready("True"));
  expect(await run("reconcile", "app", "--wait")).toMatchObject({ code: 0 });
  await store.update({ ...(await app(store)), status: ready("False") }, "status", call());
  const failed = await run("reconcile", "app", "--wait");
  expect(failed).toMatchObject({ code: 1 });
  expect(failed.out).toContain("app: Failed: it is so");
});

test("up hands its flags on", async () => {
  const { run, ups } = stage();
  await run("up", "./here", "--pass-env", "AWS_*,KUBECONFIG", "--poll", "30s", "--data-dir", "/d");
  expect(ups).toEqual([
    {
      from: "./here",
      dataDir: "/d",
      passEnv: ["AWS_*", "KUBECONFIG"],
      prune: false,
      wait: false,
      concurrent: 4,
      lostApply: "interrupt",
      listen: undefined,
      ref: undefined,
      path: undefined,
      pollMs: 30_000,
      tokenFile: undefined,
      identityFile: undefined,
      knownHostsFile: undefined,
    },
  ]);
});

test("up listens on this machine alone", async () => {
  const { run, ups } = stage();
  await run("up", "./here", "--listen", "127.0.0.1:9090");
  expect(ups[0]?.listen).toBe("127.0.0.1:9090");
  expect(await run("up", "./here", "--listen", "0.0.0.0:9090")).toMatchObject({ code: 3 });
  expect(ups).toHaveLength(1);
});

describe("get -w", () => {
  test("shows what there is, then each change in a row of its own", async () => {
    const { run, store, shell, printed } = stage();
    await put(store, {});
    const stop = new AbortController();
    shell.interrupted = stop.signal;
    const watching = run("get", "-w");
    const until = async (text: string) => {
      while (!printed.out.includes(text)) await new Promise((r) => setImmediate(r));
    };
    await until("app");
    await store.update({ ...(await app(store)), status: ready("True") }, "status", call());
    await until("True");
    await store.delete({ kind: "Terraform", namespace: "default", name: "app" }, {}, call());
    await until("app is gone");
    stop.abort();
    const { code, out } = await watching;
    expect(code).toBe(0);
    const rows = out.trimEnd().split("\n");
    expect(rows.filter((row) => row.startsWith("NAME"))).toHaveLength(1);
    expect(rows.map((row) => row.split(/\s+/)[0])).toEqual(["NAME", "app", "app", "app"]);
  });

  test("lists anew where changes were missed, and tells what is other", async () => {
    const { run, store, shell, world } = stage();
    await put(store, {});
    const stop = new AbortController();
    shell.interrupted = stop.signal;
    let watches = 0;
    world.store = {
      ...bound(store),
      async *watch() {
        watches += 1;
        if (watches === 2) return stop.abort();
        await store.update({ ...(await app(store)), status: ready("False") }, "status", call());
        yield* [];
        throw new StoreError("Expired", "Version 1 is no longer kept; list again");
      },
    };
    const { out } = await run("get", "-w", "-o", "json");
    const events = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { type: string });
    expect(events.map(({ type }) => type)).toEqual(["ADDED", "MODIFIED"]);
  });
});

function bound(store: ObjectStore): ObjectStore {
  return {
    get: (...given) => store.get(...given),
    list: (...given) => store.list(...given),
    create: (...given) => store.create(...given),
    update: (...given) => store.update(...given),
    delete: (...given) => store.delete(...given),
    watch: (...given) => store.watch(...given),
  };
}

describe("delete --orphan", () => {
  test("says so on the object, also on one that is being deleted already", async () => {
    const { run, store } = stage();
    await put(store, {});
    const held = await app(store);
    held.metadata.finalizers = ["finalizers.tf.contrib.fluxcd.io"];
    await store.update(held, "main", call());
    expect(await run("delete", "app")).toMatchObject({ code: 0 });
    expect(await run("delete", "app", "--orphan")).toMatchObject({ code: 0 });
    const { annotations, deletionTimestamp } = (await app(store)).metadata;
    expect(annotations).toEqual({ "nigari.dev/deletion-policy": "orphan" });
    expect(deletionTimestamp).toBeDefined();
  });

  test("is for what has resources", async () => {
    const { run } = stage();
    const refused = await run("delete", "secret", "app", "--orphan");
    expect(refused).toMatchObject({ code: 3 });
    expect(refused.err).toContain("A Secret has no resources");
  });
});

describe("an object that is suspended", () => {
  test("is not reconciled, and that is said at once", async () => {
    const { run, store } = stage();
    await put(store, { suspend: true });
    for (const words of [
      ["reconcile", "app"],
      ["reconcile", "app", "--wait"],
    ]) {
      const done = await run(...words);
      expect(done).toMatchObject({ code: 1 });
      expect(done.err).toContain('app is suspended, so nothing would happen; "nigari resume app"');
    }
  });

  test("is deleted once it is resumed, and nobody waits for that", async () => {
    const { run, store } = stage();
    await put(store, { suspend: true });
    const kept = { ...(await app(store)) };
    kept.metadata = { ...kept.metadata, finalizers: ["finalizers.tf.contrib.fluxcd.io"] };
    await store.update(kept, "main", call());
    const done = await run("delete", "app", "--wait");
    expect(done).toMatchObject({ code: 1 });
    expect(done.err).toContain('app is suspended; it is done after "nigari resume app"');
  });
});

test("an object that a manifest stands for comes back, and delete says so", async () => {
  const { run, store } = stage();
  await put(store, {});
  const made = await app(store);
  made.metadata = { ...made.metadata, labels: { "nigari.dev/applied-by": "up-0123" } };
  await store.update(made, "main", call());
  const done = await run("delete", "app");
  expect(done).toMatchObject({ code: 0 });
  expect(done.err).toContain('It came from a manifest of "nigari up"; while that stands there');
});

test("commands that are proposed name the namespace where it is another", async () => {
  const { run, store } = stage();
  await store.create(
    {
      apiVersion: "infra.contrib.fluxcd.io/v1alpha2",
      kind: "Terraform",
      metadata: { name: "app", namespace: "prod" },
      spec: { interval: "5m", sourceRef: { kind: "GitRepository", name: "src" } },
    },
    call(),
  );
  const none = await run("approve", "app", "-n", "prod");
  expect(none.err).toContain('"nigari describe prod/app" says why');
  const ref = { kind: "Terraform", namespace: "prod", name: "app" } as const;
  const object = await store.get(ref, call());
  if (object === undefined) throw new Error("it is gone");
  await store.update({ ...object, status: { plan: { pending: "plan-1" } } }, "status", call());
  expect((await run("describe", "prod/app")).out).toContain("nigari approve prod/app plan-1");
});

describe("-o changes the form of", () => {
  const cases: Record<string, string[]> = {
    "one object": ["get", "terraform", "app"],
    "a list": ["get"],
    "a description": ["describe", "app"],
    events: ["events"],
    "a log line": ["logs", "app"],
    "a plan": ["plan", "show", "app"],
    states: ["state", "list"],
    "what was applied": ["apply", "-f", "x"],
    "the version": ["version"],
  };
  test.each(Object.entries(cases))("%s", async (_, words) => {
    const { run, store, shell } = stage();
    await put(store, {}, { plan: { pending: "plan-1" } });
    const objects = [await app(store)];
    shell.readManifests = async () => ({ version: "1", objects, diagnostics: [] });
    await putPlanText(store, "Terraform will perform");
    const asJson = await run(...words, "-o", "json");
    expect(asJson).toMatchObject({ code: 0, err: "" });
    const value = JSON.parse(asJson.out);
    const asYaml = await run(...words, "-o", "yaml");
    expect(asYaml).toMatchObject({ code: 0 });
    expect(parse(asYaml.out)).toEqual(value);
  });

  test("one object, with its parts in the order people know", async () => {
    const { run, store } = stage();
    await put(store, {});
    const { out } = await run("get", "terraform", "app", "-o", "yaml");
    const heads = out.split("\n").filter((line) => /^\w/.test(line));
    expect(heads.map((line) => line.split(":")[0])).toEqual([
      "apiVersion",
      "kind",
      "metadata",
      "spec",
      "status",
    ]);
  });
});

async function putPlanText(store: ObjectStore, text: string): Promise<void> {
  const { uid = "" } = (await app(store)).metadata;
  const prefix = "infra.contrib.fluxcd.io";
  await store.create(
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: {
        name: "tfplan-default-app.txt",
        namespace: "default",
        labels: { [`${prefix}/plan-name`]: "app.txt" },
        annotations: { [`${prefix}/plan-full-name`]: "app.txt", savedPlan: "plan-1" },
        ownerReferences: [
          { apiVersion: `${prefix}/v1alpha2`, kind: "Terraform", name: "app", uid },
        ],
      },
      data: { tfplan: gzipSync(text).toString("base64") },
    },
    call(),
  );
}

test("what happened to an object is told when it is gone", async () => {
  const { run, store } = stage();
  await store.create(
    {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: "gone.1", namespace: "default" },
      involvedObject: { kind: "Terraform", name: "gone", namespace: "default", uid: "u" },
      type: "Normal",
      reason: "TerraformDestroySucceed",
      message: "Destroy applied successfully",
      count: 2,
    },
    call(),
  );
  expect((await run("events", "gone")).out).toContain("Destroy applied successfully");
  expect(await run("events", "never")).toMatchObject({ code: 4 });
  const listed = await run("get", "events");
  expect(listed.out).toMatch(/^NAME +TYPE +REASON +OBJECT +AGE +MESSAGE\n/);
  expect(listed.out).toContain("TerraformDestroySucceed (x2)   Terraform/gone ");
});

describe("a state", () => {
  const file = (serial: number) =>
    new TextEncoder().encode(JSON.stringify({ version: 4, serial, lineage: "l1", resources: [] }));

  test("is that of the object's own workspace", async () => {
    const { run, store, world, shell } = stage();
    await put(store, { workspace: "blue" });
    shell.readFile = async () => file(1);
    expect(await run("state", "push", "app", "f")).toMatchObject({ code: 0 });
    const states = await world.state.list(call());
    expect(states.map(({ workspace }) => workspace)).toEqual(["blue"]);
    expect((await run("state", "show", "app")).out).toContain('"serial":1');
    const other = await run("state", "show", "app", "--workspace", "default");
    expect(other).toMatchObject({ code: 4 });
    expect(other.err).toContain("No state of default/app (workspace default)");
  });

  test("is not made up for a name that nothing has, unless that is wanted", async () => {
    const { run, store, world, shell } = stage();
    await put(store, {});
    shell.readFile = async () => file(1);
    for (const words of [["typo"], ["app", "--workspace", "typo"]]) {
      const refused = await run("state", "push", ...words, "f");
      expect(refused).toMatchObject({ code: 4 });
      expect(refused.err).toMatch(/not found, and no state of it is kept; correct the name/);
    }
    expect(await world.state.list(call())).toEqual([]);
    expect(await run("state", "push", "new", "f", "--force")).toMatchObject({ code: 0 });
    shell.readFile = async () => file(2);
    expect(await run("state", "push", "new", "f")).toMatchObject({ code: 0 });
  });

  test("has versions, each to be shown by its id", async () => {
    const { run, store, shell } = stage();
    await put(store, {});
    for (const serial of [1, 2]) {
      shell.readFile = async () => file(serial);
      await run("state", "push", "app", "f");
    }
    const listed = await run("state", "list", "app", "-o", "json");
    const versions: { id: string; serial: number; kept: string }[] = JSON.parse(listed.out);
    expect(versions.map(({ serial, kept }) => [serial, kept])).toEqual([
      [2, "current"],
      [1, "history"],
    ]);
    expect((await run("state", "list", "app")).out).toMatch(
      /^ID +SERIAL +RESOURCES +KEPT +WRITTEN BY/,
    );
    const old = await run("state", "show", "app", "--version", versions[1]?.id ?? "");
    expect(old).toMatchObject({ code: 0 });
    expect(old.out).toContain('"serial":1');
    const none = await run("state", "show", "app", "--version", "v99");
    expect(none).toMatchObject({ code: 4 });
    expect(none.err).toContain('No version v99 is kept; "nigari state list app"');
  });
});

describe("a state of before", () => {
  const file = (serial: number, mark = "", lineage = "l1") =>
    new TextEncoder().encode(JSON.stringify({ version: 4, serial, lineage, mark, resources: [] }));

  test("is made current once more, above every serial that was", async () => {
    const { run, store, shell } = stage();
    await put(store, {});
    for (const [serial, mark] of [
      [1, "good"],
      [6, "bad"],
    ] as const) {
      shell.readFile = async () => file(serial, mark);
      await run("state", "push", "app", "f");
    }
    const history = await run("state", "history", "app", "-o", "json");
    const [, good]: { id: string }[] = JSON.parse(history.out);
    const back = await run("state", "rollback", "app", good?.id ?? "");
    expect(back).toMatchObject({ code: 0 });
    expect(back.out).toContain(`State of app is ${good?.id} once more, as serial 7`);
    expect((await run("state", "show", "app")).out).toContain('"mark":"good"');
    const none = await run("state", "rollback", "app", "v99");
    expect(none).toMatchObject({ code: 1 });
    expect(none.err).toContain("has no version v99 to roll back to");
  });

  test("is unlocked by an engine alone, for only that knows who lives", async () => {
    const { run, store, world } = stage();
    await put(store, { workspace: "blue" });
    expect(await run("state", "unlock", "app")).toMatchObject({ code: 5 });
    const asked: unknown[] = [];
    world.unlocker = {
      async unlock(state, lockId) {
        asked.push(state, lockId);
        return { id: "l-1", operation: "", who: "", created: "", runId: "1-a" };
      },
    };
    expect(await run("state", "unlock", "app", "l-1")).toEqual({
      code: 0,
      out: "Released lock l-1 of app, held by dead run 1-a\n",
      err: "",
    });
    expect(asked).toEqual([{ namespace: "default", name: "app", workspace: "blue" }, "l-1"]);
  });

  test("is accepted as it is asked about, and nothing else is", async () => {
    const { run, store } = stage();
    const stateInQuestion = "none-instead-of-l1/7";
    await put(store, {}, { stateInQuestion });
    expect(await run("state", "accept", "app")).toMatchObject({
      code: 0,
      out: `Accepted the state of app: ${stateInQuestion}\n`,
    });
    expect((await app(store)).metadata.annotations).toMatchObject({
      "nigari.dev/accept-state": stateInQuestion,
      "reconcile.fluxcd.io/requestedAt": expect.any(String),
    });
    await store.update({ ...(await app(store)), status: {} }, "status", call());
    const idle = await run("state", "accept", "app");
    expect(idle).toMatchObject({ code: 1 });
    expect(idle.err).toContain("No state of app is in question");
  });
});

describe("without an engine", () => {
  const cases: Record<string, { words: string[]; code: number; err: string }> = {
    "a request says when it is done": {
      words: ["reconcile", "app"],
      code: 0,
      err: 'No engine runs; it is done at the next "nigari up"',
    },
    "there is nothing to wait for": {
      words: ["reconcile", "app", "--wait"],
      code: 5,
      err: "No engine runs",
    },
    "nor for the end of an object": {
      words: ["delete", "app", "--wait"],
      code: 5,
      err: "No engine runs",
    },
    "a suspension too is seen later": { words: ["suspend", "app"], code: 0, err: "No engine runs" },
    "no more lines come": { words: ["logs", "app", "-f"], code: 0, err: "no more lines come" },
  };
  test.each(Object.entries(cases))("%s", async (_, { words, code, err }) => {
    const { run, store } = stage(false);
    await put(store, {});
    const done = await run(...words);
    expect(done.err).toContain(err);
    expect(done.code).toBe(code);
  });

  test("what is described is what the last one stored", async () => {
    const { run, store } = stage(false);
    await put(store, {});
    expect((await run("describe", "app")).out).toContain("No engine runs: this is what the last");
  });
});

test("an engine that does not answer has an exit code of its own", async () => {
  const { run, world } = stage();
  world.store.list = () => Promise.reject(new StoreError("Unavailable", "Engine gives no answer"));
  expect(await run("get")).toMatchObject({ code: 5, err: "nigari: Engine gives no answer\n" });
  world.state.list = () => Promise.reject(new EngineUnavailable("Engine is away"));
  expect(await run("state", "list")).toMatchObject({ code: 5, err: "nigari: Engine is away\n" });
});
