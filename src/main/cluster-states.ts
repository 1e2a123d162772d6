import { KubernetesStateAdmin } from "../adapters/kubernetes/states/admin.ts";
import { systemRandom } from "../adapters/system/random.ts";
import type { World } from "../cli/world.ts";
import { stateSecretOf } from "../engine/backend.ts";
import type { Clock } from "../ports/clock.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import { describeState, StateRefused } from "../ports/state.ts";

/** States of a cluster lie where OpenTofu's own backend "kubernetes" keeps them. */
export function clusterStates(
  store: ObjectStore,
  clock: Clock,
): Required<Pick<World, "state" | "unlocker">> {
  const parts = { store, clock, random: systemRandom, secretOf: stateSecretOf };
  return {
    state: new KubernetesStateAdmin(parts),
    unlocker: {
      // Whether its holder lives is known to the controller, which cannot be asked from here.
      async unlock(state, lockId = "ID") {
        throw new StateRefused(
          `${describeState(state)}: its lock is released by the controller, which knows whether ` +
            "its holder lives: at once for a dead run of its own; for another holder set " +
            `spec.tfstate {forceUnlock: "yes", lockIdentifier: "${lockId}"}`,
        );
      },
    },
  };
}
