import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { create } from "tar";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { loadBundle } from "./load.ts";

let root = "";
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "bundle-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const put = async (path: string, content: string | Uint8Array) => {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), content);
};
const load = (path = root) => loadBundle(path, new AbortController().signal);

const pod = (name: string, namespace = "ops") => ({
  metadata: { name, namespace, creationTimestamp: "2026-03-02T10:00:00Z" },
  spec: { nodeName: "n1", containers: [{ name: "main", image: "x" }] },
  status: { phase: "Running" },
});
const logLine = (at: string, message: string, name = "db") =>
  JSON.stringify({
    ...{ level: "info", ts: at, msg: message, controller: "terraform" },
    ...{ namespace: "ops", name, reconcileID: "1" },
  });

describe("objects", () => {
  test("of a typed list take their kind from the list", async () => {
    await put("a.json", JSON.stringify({ kind: "PodList", apiVersion: "v1", items: [pod("p")] }));
    const { objects, kinds } = await load();
    expect(objects).toMatchObject([{ kind: "Pod", apiVersion: "v1", metadata: { name: "p" } }]);
    expect(kinds).toEqual(["Pod"]);
  });

  test("of a list that says nothing take it from the path, else from their fields", async () => {
    await put(
      "cluster-resources/nodes.json",
      JSON.stringify({ items: [{ metadata: { name: "n" } }] }),
    );
    await put("things.json", JSON.stringify({ items: [pod("p")] }));
    const { objects } = await load();
    expect(objects.map((each) => `${each.kind}/${each.metadata.name}`).sort()).toEqual([
      "Node/n",
      "Pod/p",
    ]);
  });

  test("of an empty list, and of items: null, are known to be none", async () => {
    await put("leases.json", JSON.stringify({ apiVersion: "v1", items: [], kind: "List" }));
    await put("pods.json", JSON.stringify({ kind: "PodList", items: null }));
    expect((await load()).kinds).toEqual(["Lease", "Pod"]);
  });

  test("that stand before a break are kept, and the break is a gap", async () => {
    const whole = JSON.stringify({ items: [pod("p1"), pod("p2"), pod("p3")], kind: "PodList" });
    await put("pods.json", whole.slice(0, whole.indexOf("p3")));
    const { objects, gaps } = await load();
    expect(objects.map((each) => each.metadata.name)).toEqual(["p1", "p2"]);
    expect(gaps).toMatchObject([{ what: "pods.json", why: "damaged" }]);
  });

  test("come from YAML too, in documents and lists", async () => {
    await put(
      "x.yaml",
      "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: ops}\n---\n" +
        "apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: b, namespace: ops}\n",
    );
    expect((await load()).objects.map((each) => `${each.kind}/${each.metadata.name}`)).toEqual([
      "Pod/a",
      "Pod/b",
    ]);
  });

  test("lose secret data and what managers note", async () => {
    const secret = {
      ...{ apiVersion: "v1", kind: "Secret", data: { key: "c2VjcmV0" } },
      metadata: {
        name: "s",
        managedFields: [{}],
        annotations: { "kubectl.kubernetes.io/last-applied-configuration": "secret", a: "b" },
      },
    };
    await put("s.json", JSON.stringify(secret));
    const { objects } = await load();
    expect(JSON.stringify(objects)).not.toContain("c2VjcmV0");
    expect(objects[0]?.metadata).toEqual({ name: "s", annotations: { a: "b" } });
  });
});

describe("logs", () => {
  beforeEach(() =>
    put(
      "pods.json",
      JSON.stringify({ kind: "PodList", items: [pod("db-tf-runner"), pod("tc-1")] }),
    ),
  );

  test.each([
    ["logs/ops_tc-1.log", "tc-1", false],
    ["ops/tc-1/main.log", "tc-1", false],
    ["cluster-resources/pods/logs/ops/tc-1/main-previous.log", "tc-1", true],
    ["logs/ops_tc-1.previous.log", "tc-1", true],
    ["pods/ops/db-tf-runner/logs.txt", "db-tf-runner", false],
  ])("%s belongs to pod %s (previous: %s)", async (path, name, previous) => {
    await put(path, `${logLine("2026-03-02T10:00:01Z", "hello")}\n`);
    expect((await load()).logs).toMatchObject([
      { namespace: "ops", name, previous, container: "main", lineCount: 1 },
    ]);
  });

  test("a name inside a longer one is not taken for it", async () => {
    await put("ops_edge-db-tf-runner.log", `${logLine("2026-03-02T10:00:01Z", "hello")}\n`);
    expect((await load()).logs[0]?.name).toBe("edge-db-tf-runner");
  });

  test("are unpacked, and a lone file of any name is read by its content", async () => {
    await put("ops_tc-1.log.gz", gzipSync(`${logLine("2026-03-02T10:00:01Z", "hello")}\n`));
    expect((await load()).logs[0]?.lines[0]?.message).toBe("hello");
  });

  test("that lie between marks in one file with objects are told apart", async () => {
    const dump = [
      JSON.stringify(
        { kind: "NodeList", apiVersion: "v1", items: [{ metadata: { name: "n" } }] },
        null,
        2,
      ),
      "==== START logs for container main of pod ops/tc-1 ====",
      logLine("2026-03-02T10:00:01Z", "one {"),
      "==== END logs for container main of pod ops/tc-1 ====",
      "==== START logs for container main of pod ops/db-tf-runner ====",
      "2026/03/02 10:00:02 Starting",
      "==== END logs for container main of pod ops/db-tf-runner ====",
      JSON.stringify({ kind: "EventList", items: null }),
    ];
    await put("cluster-info.dump.json", dump.join("\n"));
    const { logs, kinds } = await load();
    expect(logs.map((log) => `${log.name}: ${log.lines[0]?.message}`)).toEqual([
      "tc-1: one {",
      "db-tf-runner: Starting",
    ]);
    expect(kinds).toEqual(["Event", "Node", "Pod"]);
  });

  test("of a million lines keep each object's last ones, and count the rest", async () => {
    const at = (second: number) => new Date(Date.UTC(2026, 2, 2, 10, 0, second)).toISOString();
    const lines = Array.from({ length: 5_000 }, (_, index) =>
      logLine(at(index), `step ${index}`, `o${index % 3}`),
    );
    await put("ops_tc-1.log", `${lines.join("\n")}\n`);
    const [log] = (await load()).logs;
    expect(log?.lineCount).toBe(5_000);
    expect(log?.lines.length).toBeLessThan(200);
    expect(log?.lines.at(-1)?.message).toBe("step 4999");
    expect(log?.span?.firstMs).toBe(Date.parse(at(0)));
  });
});

describe("an archive", () => {
  test("gives what its folder gives", async () => {
    await put("d/pods.json", JSON.stringify({ kind: "PodList", items: [pod("tc-1")] }));
    await put("d/ops_tc-1.log", `${logLine("2026-03-02T10:00:01Z", "hello")}\n`);
    const folder = await load(join(root, "d"));
    await create({ file: join(root, "d.tar.gz"), gzip: true, cwd: join(root, "d") }, ["."]);
    await create({ file: join(root, "d.tar"), cwd: join(root, "d") }, ["."]);
    expect(await load(join(root, "d.tar.gz"))).toEqual(folder);
    expect(await load(join(root, "d.tar"))).toEqual(folder);
  });

  test("that breaks off gives what stands before, and a gap", async () => {
    await put("d/a-pods.json", JSON.stringify({ kind: "PodList", items: [pod("tc-1")] }));
    await put("d/z.log", "x".repeat(200_000));
    await create({ file: join(root, "d.tar"), cwd: join(root, "d") }, ["a-pods.json", "z.log"]);
    const { readFile } = await import("node:fs/promises");
    const whole = await readFile(join(root, "d.tar"));
    await put("cut.tar", whole.subarray(0, whole.length - 100_000));
    const { objects, gaps } = await load(join(root, "cut.tar"));
    expect(objects).toHaveLength(1);
    expect(gaps.length).toBeGreaterThan(0);
  });
});

describe("the time it was taken", () => {
  test("is the manifest's", async () => {
    await put(
      "manifest.json",
      JSON.stringify({ kind: "NigariEvidence", version: 1, takenAt: "2026-03-02T11:00:00Z" }),
    );
    expect((await load()).taken).toEqual({
      atMs: Date.parse("2026-03-02T11:00:00Z"),
      from: "manifest",
    });
  });

  test("is else the newest of the evidence, without a clock that runs ahead", async () => {
    await put("pods.json", JSON.stringify({ kind: "PodList", items: [pod("tc-1")] }));
    await put("ops_tc-1.log", `${logLine("2026-03-02T10:00:09Z", "hello")}\n`);
    await put("ops_other.log", `${logLine("2031-03-02T10:00:09Z", "hello")}\n`);
    expect((await load()).taken).toEqual({
      atMs: Date.parse("2026-03-02T10:00:09Z"),
      from: "newest-time",
    });
  });

  test("gives klog lines their year", async () => {
    await put("dumped-at.txt", "2026-01-01T00:00:10Z\n");
    await put("etcd.log", "I1231 23:59:59.500000       1 main.go:1] started\n");
    expect((await load()).logs[0]?.lines[0]?.atMs).toBe(Date.parse("2025-12-31T23:59:59.500Z"));
  });
});

test("a path that is no bundle is said so", async () => {
  await expect(load(join(root, "none"))).rejects.toThrow("does not exist");
});
