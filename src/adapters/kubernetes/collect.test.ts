import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { list } from "tar";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readManifest } from "../../evidence/manifest.ts";
import type { Evidence } from "../../evidence/model.ts";
import { Scene } from "../../evidence/scene.ts";
import type { EvidenceSink } from "../../ports/evidence.ts";
import { allCases } from "../../recognizers/cases.ts";
import { diagnose } from "../../recognizers/diagnose.ts";
import { recognizers } from "../../recognizers/index.ts";
import { diagnosisData } from "../../render/diagnosis-json.ts";
import { clusterOf, type Dump, dumpOf } from "../../testing/doctor-worlds/dump.ts";
import {
  type FakeApiServer,
  type FakeCluster,
  type FakeFault,
  startFakeApiServer,
} from "../../testing/fakes/api-server.ts";
import { createArchive } from "../bundle/archive.ts";
import { createLoader, loadBundle } from "../bundle/load.ts";
import { createClock } from "../system/clock.ts";
import { type Collected, collectEvidence } from "./collect.ts";
import { Connection } from "./connection.ts";
import { resources } from "./resources.ts";

const clock = createClock();
const call = { signal: new AbortController().signal };
let root = "";
let server: FakeApiServer | undefined;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "collect-"));
});
afterEach(async () => {
  await rm(root, { recursive: true, force: true });
  await server?.close();
});

async function collect(sink: EvidenceSink): Promise<Collected> {
  const access = {
    ...{ name: "x", server: new URL(server?.url ?? ""), namespace: "ops", proxy: undefined },
    tls: {
      ...{ ca: undefined, certificate: undefined, key: undefined },
      ...{ serverName: undefined, insecure: false },
    },
    ...{ credential: { kind: "none" } as const, impersonate: undefined },
  };
  const connection = new Connection(access, { clock, env: {}, userAgent: "nigari/9" });
  try {
    return await collectEvidence(connection, { namespace: "ops", now: () => 1 }, sink, call);
  } finally {
    connection.close();
  }
}

/** A cluster as it is, read live. */
async function live(cluster: FakeCluster, faults: readonly FakeFault[] = []) {
  await server?.close();
  server = await startFakeApiServer(cluster, faults);
  const loader = createLoader();
  const collected = await collect(loader);
  return { ...collected, evidence: loader.evidence() };
}

function judged(evidence: Evidence) {
  const atMs = evidence.taken?.atMs ?? 0;
  const moment = { asOfMs: atMs, takenMs: atMs, asOfFrom: "manifest" } as const;
  return diagnosisData(diagnose(evidence, moment, recognizers));
}
const keys = (evidence: Evidence) =>
  judged(evidence)
    .findings.map((each) => each.key)
    .sort();
const why = (evidence: Evidence, id: string) =>
  judged(evidence).notJudged.filter((each) => each.id === id);

/** Node b was rebooted while a runner was in init; another object is at work on node a. */
function reboot(): Scene {
  return new Scene("2026-07-03T06:10:00Z")
    .nodes("a", "b")
    .controller({ node: "a", started: "04:00:00", version: "0.16.1" })
    .sourceController({ node: "a" })
    .source("ops/code")
    .terraform("ops/vault", { ready: ["Unknown", "Initializing", "05:33:10"] })
    .failedRunner("ops/vault", "b", "05:33:00", "05:34:50")
    .terraform("ops/lake", { ready: ["Unknown", "Applying", "05:50:00"] })
    .runner("ops/lake", { node: "a", created: "05:49:30" })
    .log([
      ["05:33:05", "ops/vault", "setting up terraform"],
      ["05:33:12", "ops/vault", "generated template"],
      ["05:50:00", "ops/lake", "load tf plan: ok"],
    ])
    .workers({ active: 2, maximum: 8, longest: 2_210, unfinished: 3_400 });
}

describe("what is collected of a cluster", () => {
  test("is judged as the same dump is, in few calls", async () => {
    const scene = reboot();
    const { evidence, calls, lacks } = await live(clusterOf(dumpOf(scene)));
    expect(keys(evidence)).toEqual(keys(scene.evidence()));
    expect(keys(evidence)).toContain("tofu/reconcile-parked Terraform/ops/vault");
    expect(calls).toBeLessThan(50);
    expect(evidence.taken).toEqual({ atMs: scene.asOfMs, from: "manifest" });
    expect(lacks.map((each) => each.what)).toContain("goroutines of ops/tc-7f9-abcde");
    expect(new Set(lacks.map((each) => each.why))).toEqual(new Set(["absent"]));
    const cites = judged(evidence).findings.flatMap((each) => each.cites);
    expect(cites.map((each) => each.origin)).toContain(
      "GET /apis/infra.contrib.fluxcd.io/v1alpha2/terraforms",
    );
  });

  test("gives the same verdict from the archive, which holds its manifest", async () => {
    server = await startFakeApiServer(clusterOf(dumpOf(reboot())));
    const path = join(root, "dump.tar.gz");
    const archive = await createArchive(path);
    await collect(archive);
    await archive.finish();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(root)).toEqual(["dump.tar.gz"]);
    const loader = createLoader();
    await collect(loader);
    const plain = (evidence: Evidence) => ({
      ...judged(evidence),
      findings: judged(evidence).findings.map(({ cites: _, ...each }) => each),
    });
    const saved = await loadBundle(path, call.signal);
    expect(plain(saved)).toEqual(plain(loader.evidence()));
    const atMs = Date.parse("2026-07-03T06:10:00Z");
    const request = "GET /apis/infra.contrib.fluxcd.io/v1alpha2/terraforms";
    expect(loader.evidence().readAtMs.get(request)).toBe(atMs);
    expect(saved.readAtMs.get("objects/terraforms.json")).toBe(atMs);
    expect(saved.readAtMs.has("logs/ops_tc-7f9-abcde_manager.log")).toBe(true);
    const names: string[] = [];
    await list({ file: path, onReadEntry: (entry) => names.push(entry.path) });
    expect(names).toContain("manifest.json");
    expect(names).toContain("logs/ops_tc-7f9-abcde_manager.log");
  });

  test("as a folder tells what it has, from where and when, and what it lacks", async () => {
    const faults = [{ fits: /\/events/, does: "forbid" as const }];
    server = await startFakeApiServer(clusterOf(dumpOf(reboot())), faults);
    const folder = await createArchive(join(root, "dump"));
    await collect(folder);
    await folder.finish();
    const text = await readFile(join(root, "dump/manifest.json"), "utf8");
    const manifest = JSON.parse(text) as { has: object[] };
    expect(manifest.has).toContainEqual({
      path: "objects/terraforms.json",
      origin: "GET /apis/infra.contrib.fluxcd.io/v1alpha2/terraforms",
      count: 2,
      readAt: "2026-07-03T06:10:00.000Z",
    });
    const lacks = readManifest(manifest)?.lacks ?? [];
    expect(lacks).toContainEqual({
      ...{ what: "events", kind: "Event", why: "not-permitted" },
      detail: "Only in namespaces: none",
      command: "kubectl get events -A -o json",
    });
  });

  test("never holds what people keep secret", async () => {
    const scene = reboot()
      .terraform("ops/keys", { spec: { vars: [{ name: "password", value: "hunter2" }] } })
      .object("Secret", "ops/s", {
        metadata: { annotations: { x: "hunter2" } },
        data: { k: "hunter2" },
      })
      .log([["06:00:00", "ops/keys", 'plan:\n  + a = "hunter2"', "https://u:hunter2@git/x"]]);
    server = await startFakeApiServer(clusterOf(dumpOf(scene)));
    const folder = await createArchive(join(root, "dump"));
    await collect(folder);
    await folder.finish();
    const files = await readdir(join(root, "dump"), { recursive: true, withFileTypes: true });
    const texts = await Promise.all(
      files
        .filter((each) => each.isFile())
        .map((f) => readFile(join(f.parentPath, f.name), "utf8")),
    );
    expect(texts.length).toBeGreaterThan(10);
    expect(texts.join("\n")).not.toContain("hunter2");
    expect(texts.join("\n")).toContain('"name":"password"');
  });
});

describe("every case of every recognizer", () => {
  const rows = Object.entries(allCases)
    .flatMap(([id, cases]) =>
      [...cases.recognized, ...cases.ruledOut, ...cases.inconclusive].map((each) => ({ id, each })),
    )
    // A recording of dropped packets is made by hand; no API serves it.
    .filter(({ each }) => dumpOf(each.scene).drops === undefined);

  test.each(rows)("$id: $each.why", async ({ each: { scene } }) => {
    const dump = dumpOf(scene);
    const objects = [...dump.objects.map((each) => restarted(each, dump)), ...podsOfLogs(dump)];
    const cluster = clusterOf({ ...dump, objects });
    const { evidence } = await live(cluster, faultsOf(scene));
    expect(keys(evidence)).toEqual(keys(scene.evidence()));
  });

  /** A scene may tell the log of a program without its pod; a cluster has both. */
  function podsOfLogs({ objects, logs }: Dump) {
    const names = new Set(
      objects
        .filter((each) => each.kind === "Pod")
        .map((each) => (each.metadata as { name: string }).name),
    );
    const alone = logs.filter((log) => !names.has(log.name) && log.namespace === "kube-system");
    return alone.flatMap(({ namespace, name }) => {
      const pod = new Scene("2026-07-03T06:10:00Z").pod(`${namespace}/${name}`, {
        ...{ node: "alpha", metadata: { labels: { component: name.replace(/-[^-]*$/, "") } } },
      });
      return dumpOf(pod).objects;
    });
  }

  /** A container has the log of a life before this one only if it was restarted. */
  function restarted(object: Dump["objects"][number], { logs }: Dump) {
    const { name } = object.metadata as { name: string };
    if (object.kind !== "Pod" || !logs.some((log) => log.previous && log.name === name))
      return object;
    const { containerStatuses, ...status } = object.status as { containerStatuses: object[] };
    const statuses = containerStatuses.map((each) => ({ ...each, restartCount: 1 }));
    return { ...object, status: { ...status, containerStatuses: statuses } };
  }

  /** What a scene did not list may not be listed, and what it could not read is forbidden. */
  function faultsOf(scene: Scene): FakeFault[] {
    const { kinds, gaps } = scene.evidence();
    const unlisted = resources.filter(({ kind }) => !kinds.includes(kind));
    const partly = gaps.flatMap(({ kind, namespace }) => {
      const plural = resources.find((each) => each.kind === kind)?.plural;
      if (plural === undefined || namespace === undefined) return [];
      return [new RegExp(`v1/(namespaces/${namespace}/)?${plural}\\?`)];
    });
    return [...unlisted.map(({ plural }) => new RegExp(`/${plural}\\?`)), ...partly].map(
      (fits) => ({
        fits,
        does: "forbid",
      }),
    );
  }
});

describe("a cluster that is not well", () => {
  test("no log is asked of a pod on a node that is not Ready, and that is said", async () => {
    const scene = reboot()
      .node("c", { ready: false, since: "06:00:00" })
      .controller({ name: "tc-7f9-old", node: "c", leads: false })
      .runner("ops/vault2", { node: "c" });
    const { lacks } = await live(clusterOf(dumpOf(scene)));
    const asked = server?.requests.filter((each) => /tc-7f9-old|vault2/.test(each));
    expect(asked).toEqual([]);
    expect(lacks.filter((each) => /tc-7f9-old/.test(each.what)).map((each) => each.detail)).toEqual(
      Array(3).fill("Node c is not Ready; it was not asked"),
    );
  });

  test("logs and metrics that hang or break off are gaps, and the rest is judged", async () => {
    const faults = [
      { fits: /\/log\?.*manager/, does: "cut" as const },
      { fits: /proxy|portforward/, does: "forbid" as const },
    ];
    const { evidence, lacks } = await live(clusterOf(dumpOf(reboot())), faults);
    const whys = lacks.map((each) => `${each.what}: ${each.why}`);
    expect(whys).toContain("metrics of ops/tc-7f9-abcde: not-permitted");
    expect(whys).toContain("logs ops/tc-7f9-abcde manager: timed-out");
    expect(evidence.logs.find((log) => log.name === "tc-7f9-abcde")?.brokenOff).toBe(true);
    expect(keys(evidence)).not.toContain("tofu/reconcile-parked Terraform/ops/vault");
    expect(why(evidence, "tofu/reconcile-parked")).toHaveLength(1);
  });

  test("metrics come through a port-forward where the proxy is forbidden", async () => {
    const faults = [{ fits: /\/proxy\//, does: "forbid" as const }];
    const { evidence } = await live(clusterOf(dumpOf(reboot())), faults);
    expect(server?.requests.some((each) => /portforward\?ports=8080/.test(each))).toBe(true);
    expect(evidence.metrics[0]?.samples.length).toBeGreaterThan(3);
  });

  test("that lacks a kind has none of it, which is no gap", async () => {
    const cluster = { ...clusterOf(dumpOf(reboot())), withoutGroups: ["cilium.io"] };
    const { evidence, lacks } = await live(cluster);
    expect(evidence.kinds).toContain("CiliumNetworkPolicy");
    expect(lacks.some((each) => each.kind?.startsWith("Cilium"))).toBe(false);
    expect(server?.requests.some((each) => /cilium/.test(each))).toBe(false);
  });

  test("of thousands of objects is read in pages, in fewer than 50 calls", async () => {
    const scene = reboot();
    for (let index = 0; index < 4_000; index += 1) scene.pod(`web/p${index}`, { node: "a" });
    const { calls, evidence } = await live(clusterOf(dumpOf(scene)));
    expect(calls).toBeLessThan(50);
    expect(evidence.objects.filter((each) => each.kind === "Pod")).toHaveLength(4_004);
  });

  test("that answers nothing at all is an error, not a verdict", async () => {
    await expect(live(clusterOf(dumpOf(reboot())), [{ fits: /./, does: "fail" }])).rejects.toThrow(
      "Nothing could be read: 500: etcdserver: request timed out",
    );
  });
});

describe("rights to only some namespaces", () => {
  test("are used, and what they leave out is named", async () => {
    const { evidence, lacks } = await live(clusterOf(dumpOf(reboot())), [
      { fits: /\/v1[^/]*\/(pods|terraforms|leases|events|[a-z]*repositories)\?/, does: "forbid" },
    ]);
    expect(keys(evidence)).toContain("tofu/reconcile-parked Terraform/ops/vault");
    expect(lacks).toContainEqual(
      expect.objectContaining({
        ...{ kind: "Pod", why: "not-permitted" },
        detail: "Only in namespaces: ops, flux-system, kube-system",
      }),
    );
  });

  test("pods that could not be read are never taken for gone", async () => {
    const scene = reboot()
      .terraform("far/away", { ready: ["Unknown", "Applying", "05:33:10"] })
      .log([["05:33:10", "far/away", "load tf plan: ok"]])
      .runner("far/away", { node: "a", created: "05:33:00" });
    const { evidence, lacks } = await live(clusterOf(dumpOf(scene)), [
      { fits: /\/v1\/pods\?/, does: "forbid" },
      { fits: /namespaces\/far\/pods/, does: "forbid" },
    ]);
    expect(lacks).toContainEqual(
      expect.objectContaining({ kind: "Pod", namespace: "far", why: "not-permitted" }),
    );
    expect(keys(evidence)).toContain("tofu/reconcile-parked Terraform/ops/vault");
    expect(keys(evidence)).not.toContain("tofu/reconcile-parked Terraform/far/away");
    expect(why(evidence, "tofu/reconcile-parked").flatMap((each) => each.objects)).toEqual([
      "Terraform/far/away",
    ]);
  });

  test("Leases that could be read only in part are as if not read", async () => {
    const scene = reboot().terraform("far/away");
    const { evidence } = await live(clusterOf(dumpOf(scene)), [
      { fits: /\/v1\/leases\?/, does: "forbid" },
      { fits: /namespaces\/far\/leases/, does: "forbid" },
    ]);
    expect(evidence.kinds).not.toContain("Lease");
    expect(evidence.objects.some((each) => each.kind === "Lease")).toBe(false);
  });

  test("to nothing but Terraform objects still say that the rest is missing", async () => {
    const { evidence } = await live(clusterOf(dumpOf(reboot())), [
      { fits: /\/(?!terraforms)[a-z]+(-[a-z]+)*\?/, does: "forbid" },
    ]);
    const diagnosis = judged(evidence);
    expect(diagnosis.findings).toEqual([]);
    expect(diagnosis.exitCode).toBe(2);
  });
});
