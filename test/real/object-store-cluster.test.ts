import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "vitest";
import { parse } from "yaml";
import { Connection } from "../../src/adapters/kubernetes/connection.ts";
import { ApiServerStore } from "../../src/adapters/kubernetes/object-store.ts";
import { createClock } from "../../src/adapters/system/clock.ts";
import {
  type ApiServer,
  startApiServer,
  withoutCluster,
} from "../../src/testing/cluster/api-server.ts";
import { createObjects, customKind, untilServed } from "../../src/testing/cluster/objects.ts";
import {
  type ObjectStoreSubject,
  objectStoreContract,
} from "../../src/testing/contracts/object-store.ts";

/** The store on a real API server with etcd and Kubernetes' garbage collector. */
describe.skipIf(withoutCluster())("on a real API server", () => {
  objectStoreContract(open);
});

async function open(): Promise<ObjectStoreSubject> {
  const folder = mkdtempSync(join(tmpdir(), "nigari-cluster-"));
  const server = await startApiServer(folder);
  await createObjects(server, [
    terraformDefinition(),
    customKind("GitRepository", "source.toolkit.fluxcd.io", "v1"),
  ]);
  await untilServed(server, "/apis/infra.contrib.fluxcd.io/v1alpha2/terraforms");
  await untilServed(server, "/apis/source.toolkit.fluxcd.io/v1/gitrepositories");
  server.startControllers(["garbage-collector-controller"]);
  const clock = createClock();
  const connection = connect(server, clock);
  return {
    store: new ApiServerStore({ connection, clock }),
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
  const file = join(import.meta.dirname, "../../config/crd/terraforms.yaml");
  return parse(readFileSync(file, "utf8")) as Record<string, unknown>;
}

function connect(server: ApiServer, clock: ReturnType<typeof createClock>): Connection {
  const { ca, url, tokens } = server;
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
