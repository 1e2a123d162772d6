import type { TerraformView } from "../../evidence/terraforms.ts";
import { citeReady } from "../cites.ts";
import { defineRecognizer, verdictOf } from "../define.ts";
import { stampOf } from "../words.ts";

/** A plan that a person has to approve. */
export const awaitsApproval = defineRecognizer({
  id: "tofu/awaits-approval",
  since: "0.1.0",
  maturity: "trial",
  severity: "wait",
  summary: "Checks for plans that wait for a person's approval.",
  plural: "plans await approval",
  needs: ["terraforms"],
  wants: [],
  lookAlikes: [
    {
      id: "tofu/reconciling-stale",
      tellApart: "No plan is pending; here one is, and Reconciling=True is as it should be.",
    },
    {
      id: "tofu/waits-for-dependency",
      tellApart: "Ready is False with DependencyNotReady; here a plan of its own is pending.",
    },
    {
      id: "tofu/suspended",
      tellApart: "spec.suspend is set: nothing would happen even if the plan were approved.",
    },
  ],

  recognize({ terraforms }) {
    const findings = terraforms.filter(awaits).map((object) => ({
      objects: [object.ref],
      says: `${object.key} awaits approval of ${object.pendingPlan}.`,
      facts: { plan: object.pendingPlan ?? "", namespace: object.namespace, name: object.name },
      cites: [citeReady(object)],
      since: stampOf(object.ready?.sinceMs),
      causes: [],
    }));
    return verdictOf(findings, [], "No plan waits for approval.");
  },

  remedies: [
    {
      do: "Read the plan, then approve {plan} in the object's source (spec.approvePlan).",
      command:
        "kubectl -n {namespace} patch terraform {name} --type merge " +
        `-p '{"spec":{"approvePlan":"{plan}"}}'`,
      risk: "disruptive",
      precondition: "A person has read this very plan.",
      effect: "It is applied.",
      price: "What the plan says it changes.",
      undo: "A change of the module.",
      verify: "Ready becomes True.",
    },
  ],
  doesNotHelp: ["Waiting, annotating or restarting: only an approval moves it."],
  doc: {
    meaning: "The plan has changes and spec.approvePlan does not name it.",
    impact: "Nothing is applied until a person decides; nothing is damaged.",
    symptoms: [
      'Ready=Unknown "Plan generated: set approvePlan …"; Reconciling=True as long as it waits.',
    ],
    limits: "Whether the plan still fits the world is not known; it is made anew on approval.",
  },
  firstSeen: "2026-07-03",
  lastVerified: { on: "2026-11-30", against: "tofu-controller 0.16.5, Kubernetes 1.36" },
});

/** Pending, and neither approved nor going on by itself. */
function awaits(object: TerraformView): boolean {
  const plan = object.pendingPlan;
  if (plan === undefined || object.suspended || object.planOnly || object.force) return false;
  if (object.approvePlan === "auto" || object.approvePlan === plan) return false;
  if (object.inCall !== undefined || object.deleting) return false;
  return object.ready?.status !== "False";
}
