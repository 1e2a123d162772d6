import { holderOf } from "../../evidence/lock-holder.ts";
import type { LockView } from "../../evidence/locks.ts";
import { type Cite, defineRecognizer, type Finding, verdictOf } from "../define.ts";
import { missing } from "../judge.ts";
import { unseenLocks } from "../locks.ts";
import { clock, HARMLESS, stamp, stampOf } from "../words.ts";

/** A state lock whose run has ended without giving it back. */
export const stateLockOrphaned = defineRecognizer({
  id: "tofu/state-lock-orphaned",
  since: "0.1.0",
  maturity: "trial",
  severity: "failure",
  summary: "Checks for state locks whose runner is gone.",
  plural: "state locks were left by runners that are gone",
  needs: ["terraforms", "locks", "pods"],
  wants: ["leases", "nodes", "unread"],
  lookAlikes: [
    {
      id: "tofu/state-lock-held",
      tellApart: "The container that took the lock still runs, or its holder is no runner at all.",
    },
    { id: "tofu/apply-long", tellApart: "The lock belongs to an apply that is alive." },
  ],

  recognize({ terraforms, locks, leases, pods, nodes, unread }, { asOfMs }) {
    const findings: Finding[] = [];
    const undecided = unseenLocks(leases);
    for (const lock of locks) {
      const facts = { pods, nodes, unreadIn: unread?.podsIn ?? [] };
      const holder = holderOf(lock, facts, asOfMs);
      const refs = lock.objects.map((key) => `Terraform/${key}`);
      if (holder.kind === "gone") {
        const failures = terraforms.find((each) => each.key === lock.objects[0])?.failures ?? 0;
        findings.push(findingOf(lock, holder.says, failures));
      } else if (holder.kind === "unknown" && lock.refused) {
        const part = lock.leaseUnread ? "leases" : "pods";
        undecided.push({ objects: refs, why: holder.says, missing: [missing(part)] });
      }
    }
    return verdictOf(findings, undecided, "No state lock was left by a runner that is gone.");
  },

  remedies: [
    {
      do: "Make sure that nothing writes this state: no runner pod {runner}, no person.",
      command: "kubectl -n {namespace} get pods,lease -o wide",
      risk: "read-only",
      precondition: "None.",
      effect: "You know that the lock protects nobody.",
      price: HARMLESS,
      undo: "Not needed.",
      verify: "The lock's id is still {lockId}, and its runner is gone.",
    },
    {
      do: "Unlock with that very id: spec.tfstate.forceUnlock yes, lockIdentifier {lockId}.",
      command:
        "kubectl -n {namespace} patch terraform {name} --type merge -p " +
        '\'{"spec": {"tfstate": {"forceUnlock": "yes", "lockIdentifier": "{lockId}"}}}\'',
      risk: "destructive",
      precondition: "Nothing writes this state; the lock's id was read again just now.",
      effect: "The next pass unlocks, plans and goes on.",
      price: "If somebody does write, two writers can ruin the state.",
      undo: "None for the unlock; set forceUnlock back to no afterwards.",
      verify: "StateLocked is gone and Ready is no longer False for the lock.",
    },
  ],
  doesNotHelp: [
    "Waiting: a lock of this kind has no end.",
    "Deleting the runner pod or restarting the controller: the lock is not theirs.",
  ],
  doc: {
    meaning:
      "OpenTofu was killed while it held the lock. What it was about may be half done: the last " +
      "changes of an apply may exist without being in the state.",
    impact: "Every later pass of the object fails on the lock.",
    symptoms: [
      "Ready=False DriftDetectionFailed or TFExecPlanFailed: error acquiring the state lock.",
      "StateLocked=True LockHeld.",
    ],
    limits:
      "Who is only user@pod-name, and the name of a runner pod never changes: it proves nothing " +
      "alone. On a node that is not Ready a runner may still write.",
  },
  firstSeen: "2026-07-03",
  lastVerified: { on: "2026-11-30", against: "tofu-controller 0.16.5, OpenTofu 1.12" },
});

function findingOf(lock: LockView, says: string, failures: number): Finding {
  const [key = lock.namespace] = lock.objects;
  const operation = lock.operation ?? "unknown";
  return {
    objects: lock.objects.map((each) => `Terraform/${each}`),
    says: `The state of ${key} is locked (${operation}) by a runner that is gone.`,
    short: `${key}: ${operation}, lock ${lock.id}`,
    facts: {
      lockId: lock.id,
      operation,
      who: lock.who ?? "",
      runner: lock.host ?? "",
      namespace: lock.namespace,
      name: key.split("/")[1] ?? "",
      refused: lock.refused,
      failures,
      ...(lock.createdMs === undefined ? {} : { created: stamp(lock.createdMs) }),
    },
    cites: citesOf(lock, says),
    since: stampOf(lock.createdMs),
    causes: [],
    moments:
      lock.createdMs === undefined
        ? []
        : [{ atMs: lock.createdMs, says: `state lock taken (${operation})`, who: key }],
  };
}

function citesOf(lock: LockView, says: string): Cite[] {
  const when = lock.createdMs === undefined ? "" : `, created ${clock(lock.createdMs)}`;
  const where = lock.by === "lease" ? "Lease" : "Refusal";
  return [
    { says: `${where}: lock ${lock.id} by ${lock.who ?? "unknown"}${when}`, place: lock.place },
    { says, place: lock.place },
  ];
}
