import type { LeaseView } from "../evidence/controllers.ts";
import type { Undecided } from "./define.ts";
import { missing } from "./judge.ts";

/** Without the Leases only a lock that refuses somebody is seen: there may be others. */
export function unseenLocks(leases: readonly LeaseView[] | undefined): Undecided[] {
  if (leases !== undefined) return [];
  const why = "Locks of the Kubernetes backend are Leases, which could not be read.";
  return [{ objects: [], why, missing: [missing("leases")] }];
}
