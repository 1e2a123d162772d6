import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { Connection } from "../../../src/adapters/kubernetes/connection.ts";
import { ApiServerStore } from "../../../src/adapters/kubernetes/object-store.ts";
import { createClock } from "../../../src/adapters/system/clock.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import type { ObjectStore } from "../../../src/ports/object-store.ts";
import { type ApiServer, startApiServer } from "../../../src/testing/cluster/api-server.ts";
import { createObjects, customKind, untilServed } from "../../../src/testing/cluster/objects.ts";

/** A real API server that knows our kinds, and a store on it. */
export interface TestCluster {
  readonly server: ApiServer;
  readonly store: ObjectStore;
  readonly connection: Connection;
  readonly clock: Clock;
  /** A kubeconfig by which OpenTofu comes to it. */
  readonly kubeconfig: string;
  makeNamespace(name: string): Promise<void>;
  close(): Promise<void>;
}

export async function openCluster(controllers: readonly string[] = []): Promise<TestCluster> {
  const folder = mkdtempSync(join(tmpdir(), "nigari-cluster-"));
  const server = await startApiServer(folder);
  await createObjects(server, [
    terraformDefinition(),
    customKind("GitRepository", "source.toolkit.fluxcd.io", "v1"),
  ]);
  await untilServed(server, "/apis/infra.contrib.fluxcd.io/v1alpha2/terraforms");
  await untilServed(server, "/apis/source.toolkit.fluxcd.io/v1/gitrepositories");
  if (controllers.length > 0) server.startControllers(controllers);
  const clock = createClock();
  const connection = connect(server, clock);
  const kubeconfig = join(folder, "kubeconfig");
  writeKubeconfig(kubeconfig, server);
  return {
    server,
    store: new ApiServerStore({ connection, clock }),
    connection,
    clock,
    kubeconfig,
    makeNamespace: (name) =>
      createObjects(server, [{ apiVersion: "v1", kind: "Namespace", metadata: { name } }]),
    async close() {
      connection.close();
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function terraformDefinition() {
  const file = join(import.meta.dirname, "../../../config/crd/terraforms.yaml");
  return parse(readFileSync(file, "utf8")) as Record<string, unknown>;
}

export function connect({ ca, url, tokens }: ApiServer, clock: Clock): Connection {
  const unset = { certificate: undefined, key: undefined, serverName: undefined };
  return new Connection(
    {
      ...{ name: "test", namespace: "default", server: new URL(url) },
      tls: { ca, ...unset, insecure: false },
      credential: { kind: "token", token: tokens.admin },
      ...{ proxy: undefined, impersonate: undefined },
    },
    { clock, env: {}, userAgent: "nigari/test", socketsMax: 64 },
  );
}

/** For OpenTofu, as an administrator. */
export function writeKubeconfig(file: string, { url, ca, tokens }: ApiServer): void {
  const data = Buffer.from(ca).toString("base64");
  const config = {
    ...{ apiVersion: "v1", kind: "Config", "current-context": "test" },
    clusters: [{ name: "test", cluster: { server: url, "certificate-authority-data": data } }],
    users: [{ name: "admin", user: { token: tokens.admin } }],
    contexts: [{ name: "test", context: { cluster: "test", user: "admin" } }],
  };
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
}
