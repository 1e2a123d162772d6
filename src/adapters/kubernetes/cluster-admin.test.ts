import { afterEach, describe, expect, test } from "vitest";
import { type FakeFault, startFakeApiServer } from "../../testing/fakes/api-server.ts";
import { createClock } from "../system/clock.ts";
import { ApiServerAdmin } from "./cluster-admin.ts";
import { Connection } from "./connection.ts";
import type { ClusterAccess } from "./kubeconfig.ts";

const call = () => ({ signal: AbortSignal.timeout(10_000) });
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const pod = (index: number) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: `pod-${index}`, namespace: "apps" },
  spec: { nodeName: "a" },
});

async function admin(count: number, ...faults: FakeFault[]) {
  const objects = Array.from({ length: count }, (_, index) => pod(index));
  const nowMs = Date.parse("2026-01-01T00:00:00Z");
  const withoutGroups = ["infra.contrib.fluxcd.io"];
  const server = await startFakeApiServer(
    { objects, logs: [], inPods: [], nowMs, withoutGroups },
    faults,
  );
  const clock = createClock();
  const access: ClusterAccess = {
    ...{ name: "prod", namespace: "apps", server: new URL(server.url) },
    tls: {
      ca: undefined,
      certificate: undefined,
      key: undefined,
      serverName: undefined,
      insecure: false,
    },
    ...{ credential: { kind: "none" }, proxy: undefined, impersonate: undefined },
  };
  const connection = new Connection(access, { clock, env: {}, userAgent: "nigari/test" });
  closing.push(
    () => connection.close(),
    () => clock.close(),
    () => server.close(),
  );
  return { admin: new ApiServerAdmin(access, { connection, clock }), server };
}

describe("a cluster as tools see it", () => {
  test("is listed page by page, and tells its own time", async () => {
    const { admin: cluster, server } = await admin(1_200);
    expect(cluster.nowMs()).toBeUndefined();
    expect(await cluster.list("Pod", {}, call())).toHaveLength(1_200);
    expect(server.requests).toHaveLength(3);
    expect(cluster.nowMs()).toBe(Date.parse("2026-01-01T00:00:00Z"));
  });

  test("hands on selectors, and asks for no more than metadata where that is enough", async () => {
    const { admin: cluster, server } = await admin(1);
    const where = { namespace: "apps", labels: "a=b", fields: "metadata.name=x" };
    const [found] = await cluster.list("Pod", { ...where, metadataOnly: true }, call());
    expect(found).toEqual({ metadata: { name: "pod-0", namespace: "apps" } });
    const query = "limit=500&labelSelector=a%3Db&fieldSelector=metadata.name%3Dx";
    expect(server.requests).toEqual([`GET /api/v1/namespaces/apps/pods?${query}`]);
    expect(server.headers().accept).toContain("as=PartialObjectMetadataList");
  });

  test("has none of a kind that it does not know", async () => {
    const { admin: cluster } = await admin(0);
    expect(await cluster.list("Terraform", {}, call())).toEqual([]);
  });

  test("that refuses says so, also in the middle of a list", async () => {
    const { admin: cluster } = await admin(600, { fits: /continue/, does: "forbid" });
    await expect(cluster.list("Pod", {}, call())).rejects.toMatchObject({ code: "Forbidden" });
  });

  test("takes no name for another path", async () => {
    const { admin: cluster, server } = await admin(1);
    for (const name of ["", ".", ".."]) {
      const deleting = cluster.delete("Pod", { namespace: "apps", name, uid: "u" }, call());
      await expect(deleting).rejects.toMatchObject({ code: "Invalid" });
    }
    expect(server.requests).toEqual([]);
  });
});
