import { rmSync } from "node:fs";
import { processesOf, removeCgroup, thawTree } from "./cgroups.ts";
import { until } from "./commands.ts";
import { Daemons } from "./daemons.ts";
import { networkDown } from "./network.ts";
import { signalIfThere } from "./node.ts";
import type { ClusterPlan } from "./plan.ts";

const END_LIMIT_MS = 20_000;

/**
 * Ends every process of a cluster and removes what it left: devices, namespaces, routes, cgroups,
 * files. May be called on what is half up, or half down. Nothing in it is worth a clean shutdown.
 */
export async function tearDown(plan: ClusterPlan): Promise<void> {
  const daemons = new Daemons(plan.folder);
  // What is frozen does not die.
  thawTree(plan.id);
  const ended = () => {
    const left = processesOf(plan.id);
    for (const pid of left) signalIfThere(pid, "SIGKILL");
    return left.length === 0 ? true : undefined;
  };
  await until(`the end of the nodes of ${plan.id}`, END_LIMIT_MS, ended);
  for (const name of daemons.names()) daemons.signal(name, "SIGCONT");
  await Promise.all(daemons.names().map((name) => daemons.stop(name)));
  networkDown(plan);
  await removeCgroup(plan.id);
  rmSync(plan.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}
