import { defineRecognizer, verdictOf } from "../define.ts";

/** An object that somebody told to stand still. */
export const suspended = defineRecognizer({
  id: "tofu/suspended",
  since: "0.1.0",
  maturity: "trial",
  severity: "wait",
  summary: "Checks for objects that were told to stand still.",
  plural: "objects are suspended",
  needs: ["terraforms"],
  wants: [],
  lookAlikes: [
    {
      id: "tofu/awaits-approval",
      tellApart: "spec.suspend is not set; a plan waits for a person.",
    },
    {
      id: "tofu/source-moved-on-unseen",
      tellApart: "spec.suspend is not set, and yet nobody looks.",
    },
  ],

  recognize({ terraforms }) {
    const findings = terraforms
      .filter((object) => object.suspended)
      .map((object) => ({
        objects: [object.ref],
        says: `${object.key} is suspended.`,
        facts: { namespace: object.namespace, name: object.name },
        cites: [{ says: `${object.ref} has spec.suspend: true`, place: object.place }],
        since: undefined,
        causes: [],
      }));
    return verdictOf(findings, [], "No object is suspended.");
  },

  remedies: [
    {
      do: "Resume it when the reason for standing still is over.",
      command:
        "kubectl -n {namespace} patch terraform {name} --type merge " +
        `-p '{"spec":{"suspend":false}}'`,
      risk: "disruptive",
      precondition: "Whoever suspended it agrees.",
      effect: "It reconciles at once, and applies if it approves by itself.",
      price: "Whatever changed meanwhile is planned, and perhaps applied.",
      undo: "Suspend it again.",
      verify: "status.lastHandledReconcileAt or observedGeneration moves on.",
    },
  ],
  doesNotHelp: ["Annotating: a suspended object is not reconciled."],
  doc: {
    meaning: "spec.suspend is true: the controller leaves the object alone, its status too.",
    impact: "Drift is not seen and changes are not applied; dependents may wait.",
    symptoms: ["The status is empty or old and never moves."],
    limits: "Who suspended it and why is not recorded.",
  },
  firstSeen: "2026-07-03",
  lastVerified: { on: "2026-11-30", against: "tofu-controller 0.16.5, Kubernetes 1.36" },
});
