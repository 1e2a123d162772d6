import type { World } from "../cli/world.ts";
import { StateRefused } from "../ports/state.ts";

/** States of a cluster lie where OpenTofu's own backend "kubernetes" keeps them. */
export function clusterStates(): Pick<World, "state" | "unlocker"> {
  const refused = async (): Promise<never> => {
    throw new StateRefused(
      "States of a cluster lie in Secrets tfstate-<workspace>-<name>, which OpenTofu reads and " +
        'writes by itself: "tofu state pull" and "tofu state push" with that backend',
    );
  };
  const state = {
    ...{ list: refused, show: refused, push: refused },
    ...{ versions: refused, rollback: refused, drop: refused },
  };
  return { state, unlocker: { unlock: refused } };
}
