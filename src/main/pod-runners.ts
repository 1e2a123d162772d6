import { Authority } from "../adapters/kubernetes/authority.ts";
import { newestEpoch } from "../adapters/kubernetes/lease-leadership.ts";
import { PodPlatform } from "../adapters/kubernetes/pods/platform.ts";
import { formerRunnerGone } from "../adapters/kubernetes/states/former-runner.ts";
import { KubernetesStates } from "../adapters/kubernetes/states/states.ts";
import { systemRandom } from "../adapters/system/random.ts";
import type { Call } from "../ports/call.ts";
import type { MakeRunnerParts } from "./cluster-controller.ts";
import { type ControllerSettings, WrongFlags } from "./controller-settings.ts";

/** Variables of the controller that every runner gets too, as upstream's runners do. */
const HANDED_ON = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "DISABLE_TF_LOGS"];
const AUTHORITY = "nigari-authority";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Runners as pods, and states where OpenTofu's backend "kubernetes" keeps them. Fails with
 * WrongFlags if no image is named.
 */
export function podRunners({ runner }: ControllerSettings, env: Environment): MakeRunnerParts {
  const { image, imagePullSecrets } = runner;
  if (image === undefined) {
    throw new WrongFlags("Name the image of runner pods with --runner-image or RUNNER_POD_IMAGE");
  }
  return async (cluster, signal) => {
    const { connection, store, namespace, leaseName, settings, clock, log } = cluster;
    const leaderEpoch = (call: Call) => newestEpoch(store, { namespace, name: leaseName }, call);
    const platform = new PodPlatform({
      ...{ connection, clock, log, random: systemRandom },
      namespace: settings.ownNamespaceOnly ? namespace : undefined,
      authority: new Authority({ namespace, name: AUTHORITY }, { store, clock }),
      defaults: { image, imagePullSecrets, env: handedOn(env) },
      newestEpoch: leaderEpoch,
    });
    await platform.start(signal);
    const door = new KubernetesStates({
      ...{ store, log, clock, random: systemRandom, reach: { by: "pod" } },
      leaderEpoch,
      formerRunnerGone: (runner, call) => formerRunnerGone(connection, runner, call),
    });
    return { platform, door, runnerEnv: {}, runnersArePods: true, close: async () => {} };
  };
}

function handedOn(env: Environment): Record<string, string> {
  return Object.fromEntries(
    HANDED_ON.flatMap((name) => {
      const value = env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
