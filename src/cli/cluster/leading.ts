import { OWN_IDENTITY, UPSTREAM_LEASE } from "../../api/cluster-names.ts";
import type { Lease } from "../../api/core.ts";
import type { Call } from "../../ports/call.ts";
import type { ClusterAdmin } from "../../ports/cluster.ts";
import { isStoreError } from "../../ports/object-store.ts";

/** Who reconciles a cluster's Terraform objects, by the Lease that both controllers hold. */
export type Leading =
  | { readonly is: "nigari" | "tofu-controller"; readonly identity: string; readonly lease: string }
  /** No Lease, or one that was not renewed for longer than it says. */
  | { readonly is: "nobody"; readonly former: string | undefined }
  /** The Lease may not be read. */
  | { readonly is: "unknown"; readonly why: string };

/** A clock beside the server's may be so wrong, in ms; nobody is called gone for that. */
const CLOCKS_DIFFER_MS = 5_000;
/** What a Lease lasts that does not say. */
const DURATION_SECONDS = 35;

export async function whoLeads(admin: ClusterAdmin, call: Call): Promise<Leading> {
  try {
    const fields = `metadata.name=${UPSTREAM_LEASE}`;
    const leases = (await admin.list("Lease", { fields }, call)) as unknown as Lease[];
    return leadingBy(leases, admin.nowMs() ?? Number.NaN);
  } catch (error) {
    if (isStoreError(error, "Forbidden")) return { is: "unknown", why: error.message };
    throw error;
  }
}

/** By the Leases of that name in all namespaces; one of tofu-controller's that lives decides. */
export function leadingBy(leases: readonly Lease[], nowMs: number): Leading {
  const living = leases.filter((lease) => isHeld(lease, nowMs)).map(holding);
  const other = living.find(({ is }) => is === "tofu-controller");
  const former = leases
    .map((lease) => lease.spec?.holderIdentity ?? "")
    .find((each) => each !== "");
  return other ?? living[0] ?? { is: "nobody", former };
}

/** Its holder has renewed it within the time that it says, by the server's clock. */
export function isHeld({ spec }: Lease, nowMs: number): boolean {
  if ((spec?.holderIdentity ?? "") === "") return false;
  const renewedMs = Date.parse(spec?.renewTime ?? "");
  const lastsMs = (spec?.leaseDurationSeconds ?? DURATION_SECONDS) * 1_000 + CLOCKS_DIFFER_MS;
  // What cannot be reckoned is taken for held.
  return !(nowMs - renewedMs > lastsMs);
}

function holding({ metadata, spec }: Lease) {
  const identity = spec?.holderIdentity ?? "";
  const is = identity.startsWith(OWN_IDENTITY) ? "nigari" : "tofu-controller";
  return { is, identity, lease: `${metadata.namespace}/${metadata.name}` } as const;
}
