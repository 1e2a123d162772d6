import { describeState, type StateId, StateRefused } from "../../../ports/state.ts";

/** How OpenTofu's backend "kubernetes" names and marks what it keeps. None may change. */

export const STATE_KEY = "tfstate";
export const LOCK_INFO = "app.terraform.io/lock-info";
/** Label by which everything of a state is found. */
export const IS_STATE = { tfstate: "true" } as const;
export const ENCODING = { encoding: "gzip" } as const;

export interface StateNames {
  readonly namespace: string;
  readonly secret: string;
  readonly lease: string;
  readonly labels: Readonly<Record<string, string>>;
}

export function suffixOf({ name, secret }: StateId): string {
  return secret?.suffix ?? name;
}

/** Names of a state's Secret and Lease. Fails with StateRefused where there can be none. */
export function namesOf(state: StateId): StateNames {
  const { namespace, workspace } = state;
  const suffix = suffixOf(state);
  const secret = `tfstate-${workspace}-${suffix}`;
  if (secret.length > 248 || !/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(secret)) {
    throw new StateRefused(
      `${describeState(state)} cannot lie in a Secret "${secret}": choose a spec.workspace and a ` +
        "spec.backendConfig.secretSuffix of lower-case letters, digits, - and .",
    );
  }
  return {
    ...{ namespace, secret, lease: `lock-${secret}` },
    labels: {
      ...IS_STATE,
      tfstateSecretSuffix: suffix,
      tfstateWorkspace: workspace,
      "app.kubernetes.io/managed-by": "terraform",
      ...state.secret?.labels,
    },
  };
}
