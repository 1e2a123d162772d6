import { describe } from "vitest";
import { withoutCluster } from "../../src/testing/cluster/api-server.ts";
import { objectStoreContract } from "../../src/testing/contracts/object-store.ts";
import { openCluster } from "./support/cluster.ts";

/** The store on a real API server with etcd and Kubernetes' garbage collector. */
describe.skipIf(withoutCluster())("on a real API server", () => {
  objectStoreContract(() => openCluster(["garbage-collector-controller"]));
});
