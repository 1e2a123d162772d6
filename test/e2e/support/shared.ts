import { inject } from "vitest";
import { type Cluster, openCluster } from "../../../src/testing/cluster/cluster.ts";

/** Whether a file's tests have to be skipped, for describe.skipIf; it was said already. */
export function noCluster(): boolean {
  return inject("clusterFolder") === "";
}

/** The cluster that all files share. */
export function sharedCluster(): Cluster {
  const cluster = openCluster(inject("clusterFolder"));
  if (cluster === undefined) throw new Error("The shared cluster is not there any more");
  return cluster;
}
