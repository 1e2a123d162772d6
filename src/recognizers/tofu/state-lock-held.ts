import { holderOf } from "../../evidence/lock-holder.ts";
import { defineRecognizer, type Finding, verdictOf } from "../define.ts";
import { unseenLocks } from "../locks.ts";
import { HARMLESS, stamp, stampOf } from "../words.ts";

/** A state lock that somebody rightly holds. */
export const stateLockHeld = defineRecognizer({
  id: "tofu/state-lock-held",
  since: "0.1.0",
  maturity: "trial",
  severity: "wait",
  summary: "Checks for state locks that a live run, or somebody outside, holds.",
  plural: "state locks are held by somebody who lives",
  needs: ["locks", "pods"],
  wants: ["leases", "nodes", "unread"],
  lookAlikes: [
    {
      id: "tofu/state-lock-orphaned",
      tellApart: "The runner that took it is gone, or was started anew since.",
    },
  ],

  recognize({ locks, leases, pods, nodes, unread }, { asOfMs }) {
    const findings = locks.flatMap((lock): Finding[] => {
      const facts = { pods, nodes, unreadIn: unread?.podsIn ?? [] };
      const holder = holderOf(lock, facts, asOfMs);
      if (holder.kind !== "live" && holder.kind !== "foreign") return [];
      const [key = lock.namespace] = lock.objects;
      const whose = holder.kind === "live" ? "its own live run" : (lock.who ?? "somebody outside");
      return [
        {
          objects: lock.objects.map((each) => `Terraform/${each}`),
          says: `The state of ${key} is locked by ${whose}.`,
          facts: {
            lockId: lock.id,
            holder: holder.kind,
            operation: lock.operation ?? "unknown",
            who: lock.who ?? "",
            refused: lock.refused,
            ...(lock.createdMs === undefined ? {} : { created: stamp(lock.createdMs) }),
          },
          cites: [{ says: holder.says, place: lock.place }],
          since: stampOf(lock.createdMs),
          causes: [],
        },
      ];
    });
    return verdictOf(
      findings,
      unseenLocks(leases),
      "No state is locked by somebody who is known to live.",
    );
  },

  remedies: [
    {
      do: "Leave the lock alone until {who} is done; ask, if that is a person.",
      risk: "read-only",
      precondition: "None.",
      effect: "The lock goes when its run ends.",
      price: HARMLESS,
      undo: "Not needed.",
      verify: "The lock is gone.",
    },
  ],
  doesNotHelp: ["Forcing the unlock: two writers can ruin the state."],
  doc: {
    meaning: "A run of this object, a CI job or a person is at work on the state.",
    impact: "Other runs of the state wait or are refused meanwhile; that is what a lock is for.",
    symptoms: ["A Lease lock-tfstate-… with a holder, or a refusal that names who."],
    limits: "Whether somebody outside still lives cannot be told from the cluster.",
  },
  firstSeen: "2026-07-03",
  lastVerified: { on: "2026-11-30", against: "tofu-controller 0.16.5, OpenTofu 1.12" },
});
