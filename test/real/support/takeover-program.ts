// The cluster's controller as a program of its own, with states where OpenTofu's own backend keeps
// them in the cluster. Its runners are processes of this machine, each with a host name of its own
// as a pod has one, by which its locks are known.
import { join } from "node:path";
import { formerRunnerGone } from "../../../src/adapters/kubernetes/states/former-runner.ts";
import { KubernetesStates } from "../../../src/adapters/kubernetes/states/states.ts";
import { systemRandom } from "../../../src/adapters/system/random.ts";
import { runTestController, sharedFolder } from "./controller-runners.ts";

/** The last argument is the run's folder, whose name is the run's id. */
const OWN_HOST = 'for last; do :; done; hostname "x-tf-runner-$(basename "$last")"; exec "$@"';

/** Who may not set a host name may do so among users of its own. */
const asRoot = process.getuid?.() === 0 ? [] : ["--map-root-user"];

await runTestController(async (cluster, clock) => {
  const { store, log, connection } = cluster;
  const path = join(sharedFolder(cluster), "tofu.kubeconfig");
  const door = new KubernetesStates({
    ...{ store, log, clock, random: systemRandom, reach: { by: "kubeconfig", path } },
    formerRunnerGone: (runner, call) => formerRunnerGone(connection, runner, call),
  });
  return {
    door,
    runnersArePods: true,
    runnersBehind: ["unshare", ...asRoot, "--uts", "sh", "-c", OWN_HOST, "sh"],
    async close() {},
  };
});
