import { createHash } from "node:crypto";
import { type StateAccess, type StateId, StateRefused } from "../../ports/state.ts";

/**
 * How long tofu waits for the door, as its HTTP client counts: 1 + 2 + 4 + 197 × 5 s, over 16
 * minutes, while nothing listens. The short maximum is what the door's return costs at most.
 */
export const RETRY = { max: 200, waitMinSeconds: 1, waitMaxSeconds: 5 } as const;

/** The path of a state below the door's address, and the pattern that takes it apart. */
export const STATE_PATH = "/states/:namespace/:name/:workspace";

export function statePath({ namespace, name, workspace }: StateId): string {
  return `/states/${[namespace, name, workspace].map(encodeURIComponent).join("/")}`;
}

/**
 * Everything tofu needs to reach this state, all of it by environment: what stands in HCL or in
 * `-backend-config` would be stored in the plan file.
 */
export function accessTo(
  state: StateId,
  address: string,
  credentials: { readonly runId: string; readonly password: string },
): StateAccess {
  // Clients and servers resolve these away, so that they would name another state.
  const odd = [state.namespace, state.name, state.workspace].find((part) =>
    ["", ".", ".."].includes(part),
  );
  if (odd !== undefined) {
    throw new StateRefused(
      `State of ${state.namespace}/${state.name}: "${odd}" cannot be part of its address; ` +
        "choose another spec.workspace",
    );
  }
  const url = `${address}${statePath(state)}`;
  return {
    backend: 'terraform {\n  backend "http" {}\n}\n',
    env: {
      TF_HTTP_ADDRESS: url,
      TF_HTTP_UPDATE_METHOD: "POST",
      TF_HTTP_LOCK_ADDRESS: url,
      TF_HTTP_LOCK_METHOD: "LOCK",
      TF_HTTP_UNLOCK_ADDRESS: url,
      TF_HTTP_UNLOCK_METHOD: "UNLOCK",
      TF_HTTP_USERNAME: credentials.runId,
      TF_HTTP_PASSWORD: credentials.password,
      TF_HTTP_RETRY_MAX: String(RETRY.max),
      TF_HTTP_RETRY_WAIT_MIN: String(RETRY.waitMinSeconds),
      TF_HTTP_RETRY_WAIT_MAX: String(RETRY.waitMaxSeconds),
    },
  };
}

/** A password has 256 random bits, so that a plain hash of it tells nothing. */
export function hashPassword(password: string): Uint8Array {
  return createHash("sha256").update(password).digest();
}
