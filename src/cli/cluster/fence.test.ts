import { describe, expect, test } from "vitest";
import { VirtualClock } from "../../testing/fakes/clock.ts";
import { FakeClusterAdmin, type FakeObject } from "../../testing/fakes/cluster-admin.ts";
import { quietShell } from "../../testing/fakes/shell.ts";
import { runCommandLine } from "../program.ts";

const BOOT = "boot-1";

const node = (ready: "True" | "False" | "Unknown"): FakeObject => ({
  kind: "Node",
  metadata: { name: "b" },
  status: {
    nodeInfo: { bootID: BOOT },
    conditions: [{ type: "Ready", status: ready, lastTransitionTime: "2026-01-01T00:00:00Z" }],
  },
});

const pod = (name: string, operation: string, more: { node?: string; ended?: boolean } = {}) =>
  ({
    kind: "Pod",
    metadata: {
      name: `${name}-tf-runner-1`,
      namespace: "apps",
      labels: { "nigari.dev/run": `run-${name}` },
      annotations: { "nigari.dev/operation": operation, "nigari.dev/terraform": name },
    },
    spec: { nodeName: more.node ?? "b" },
    status: {
      phase: "Failed",
      containerStatuses: [
        { name: "tf-runner", state: more.ended === true ? { terminated: {} } : { running: {} } },
      ],
    },
  }) satisfies FakeObject;

/** What outlives the pod. */
const secret = (name: string, bootId: string): FakeObject => ({
  kind: "Secret",
  metadata: {
    name: `${name}-tf-runner-1`,
    namespace: "apps",
    labels: { "nigari.dev/run": `run-${name}` },
    annotations: {
      "nigari.dev/operation": "apply",
      "nigari.dev/terraform": name,
      "nigari.dev/node": "b",
      "nigari.dev/boot-id": bootId,
    },
  },
});

async function fence(admin: FakeClusterAdmin, ...words: string[]) {
  const clock = new VirtualClock();
  const shell = { ...quietShell(), clock };
  const openCluster = async () => ({ admin, close: () => {} });
  const evidence = () => Promise.reject(new Error("not here"));
  const parts = { shell, evidence, openCluster, definition: async () => ({}) };
  const running = runCommandLine(parts, ["fence", ...words]);
  const done = { is: false };
  void running.then(() => {
    done.is = true;
  });
  while (!done.is) await clock.advance(1_000);
  return { code: await running, ...shell.printed };
}

describe("nigari fence", () => {
  test("shows which runs wait for the node, and does nothing without a word more", async () => {
    const admin = new FakeClusterAdmin([
      node("Unknown"),
      pod("web", "apply"),
      pod("db", "plan"),
      pod("far", "apply", { node: "a" }),
      pod("done", "apply", { ended: true }),
      secret("lost", BOOT),
      secret("former", "boot-0"),
    ]);
    const { code, out } = await fence(admin, "b");
    expect(code).toBe(0);
    expect(out).toContain("Node b is not Ready (Unknown) since 2026-01-01T00:00:00Z.");
    expect(out.match(/^apps\S+ +\S+ +\S+ +.*$/gm)).toEqual([
      expect.stringMatching(/^apps\/db +run-db +plan +a new attempt starts/),
      expect.stringMatching(/^apps\/lost +run-lost +apply +its result is collected/),
      expect.stringMatching(/^apps\/web +run-web +apply +its result is collected/),
    ]);
    expect(out).toContain("Nothing was done.");
    expect(admin.changes).toEqual([]);
  });

  test("writes the boot id of that very start, once it is confirmed", async () => {
    const admin = new FakeClusterAdmin([node("False"), pod("web", "apply")]);
    const { code, out } = await fence(admin, "b", "--confirm");
    expect(code).toBe(0);
    expect(out).toContain("Vouched for");
    expect(admin.find("Node", { name: "b" })?.metadata.annotations).toEqual({
      "nigari.dev/fenced": BOOT,
    });
  });

  test("refuses a node that is Ready, whatever is confirmed", async () => {
    const admin = new FakeClusterAdmin([node("True"), pod("web", "apply")]);
    const { code, err } = await fence(admin, "b", "--confirm");
    expect(code).toBe(1);
    expect(err).toContain("Node b is Ready, so what runs on it may write");
    expect(admin.changes).toEqual([]);
  });

  test("of a node that is gone an object stands for it until its runs are free", async () => {
    const waiting: FakeObject = {
      kind: "Terraform",
      metadata: { name: "lost", namespace: "apps" },
      status: { run: { id: "run-lost" } },
    };
    const admin = new FakeClusterAdmin([secret("lost", "boot-7"), waiting]);
    let looks = 0;
    admin.onList = (kind) => {
      if (kind !== "Terraform" || ++looks < 3) return;
      const stand = admin.find("Node", { name: "b" });
      expect(stand?.metadata.annotations).toEqual({ "nigari.dev/fenced": "boot-7" });
      admin.objects = admin.objects.filter((each) => each.kind !== "Terraform");
    };
    const { code, out } = await fence(admin, "b", "--confirm");
    expect(code).toBe(0);
    expect(out).toContain("Node b is not known to the cluster any more");
    expect(looks).toBe(3);
    expect(admin.changes).toEqual(["create Node b", "delete Node b"]);
  });

  test("names a node of which nobody has heard", async () => {
    const { code, err } = await fence(new FakeClusterAdmin(), "z", "--confirm");
    expect(code).toBe(4);
    expect(err).toContain("Node z not found, and no run waits");
  });

  test("goes on without the right to Secrets, and says what is not seen", async () => {
    const admin = new FakeClusterAdmin([node("Unknown"), pod("web", "apply")]);
    admin.denied.add("list Secret");
    const { code, out, err } = await fence(admin, "b");
    expect(code).toBe(0);
    expect(err).toContain("Runs whose pod is gone are not seen");
    expect(out).toContain("apps/web");
  });

  test("is a matter of clusters", async () => {
    const { code, err } = await fence(new FakeClusterAdmin(), "b", "--data-dir", "x");
    expect([code, err]).toEqual([
      3,
      expect.stringContaining("This works on a cluster; leave --data-dir out"),
    ]);
  });
});
