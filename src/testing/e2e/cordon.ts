import type { Cluster } from "../cluster/cluster.ts";
import { send } from "../cluster/objects.ts";

/** While this goes on no new pod is placed on the node. */
export async function cordoned(
  cluster: Cluster,
  node: string,
  meanwhile: () => Promise<void>,
): Promise<void> {
  await cordon(cluster, node, true);
  try {
    await meanwhile();
  } finally {
    await cordon(cluster, node, false);
  }
}

export async function cordon(cluster: Cluster, node: string, unschedulable: boolean) {
  await send(cluster, "PATCH", `/api/v1/nodes/${node}?fieldManager=e2e&force=true`, {
    ...{ apiVersion: "v1", kind: "Node", metadata: { name: node }, spec: { unschedulable } },
  });
}
