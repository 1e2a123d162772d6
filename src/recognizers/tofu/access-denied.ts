import type { TerraformView } from "../../evidence/terraforms.ts";
import { citeReady, oneLine } from "../cites.ts";
import { defineRecognizer, verdictOf } from "../define.ts";
import { stampOf } from "../words.ts";

/** A reference that the controller does not follow. */
export const accessDenied = defineRecognizer({
  id: "tofu/access-denied",
  since: "0.1.0",
  maturity: "trial",
  severity: "wait",
  summary: "Checks for references to other namespaces that the controller does not follow.",
  plural: "objects refer to what they may not",
  needs: ["terraforms"],
  wants: [],
  lookAlikes: [
    {
      id: "tofu/provider-access-denied",
      tellApart: "There the provider's own credentials are refused, in a plan.",
    },
    { id: "tofu/retry-limit-reached", tellApart: "There it failed again and again before." },
  ],

  recognize({ terraforms }) {
    const findings = terraforms.filter(isDenied).map((object) => ({
      objects: [object.ref],
      says: `${object.key} refers to what it may not and will not retry.`,
      facts: { message: oneLine(object.ready?.message ?? "", 200) },
      cites: [citeReady(object)],
      since: stampOf(object.ready?.sinceMs),
      causes: [],
    }));
    return verdictOf(findings, [], "No object was denied a reference.");
  },

  remedies: [
    {
      do: "Put what it refers to into its own namespace, or mend the reference.",
      risk: "reversible",
      precondition: "None.",
      effect: "It reconciles as soon as its spec changes.",
      price: "None.",
      undo: "Change it back.",
      verify: "Ready leaves AccessDenied.",
    },
    {
      do: "Or allow references across namespaces for all (--allow-cross-namespace-refs).",
      risk: "disruptive",
      precondition: "Tenants of the cluster trust each other.",
      effect: "Every object may refer to every namespace.",
      price: "Tenants can read each other's sources; the controller restarts.",
      undo: "Take the flag away.",
      verify: "Ready leaves AccessDenied.",
    },
  ],
  doesNotHelp: ["Waiting or restarting: the refusal is a rule, not a fault."],
  doc: {
    meaning: "sourceRef, dependsOn or a secret reference names another namespace.",
    impact: "The object stands still; nothing is damaged.",
    symptoms: ['Ready=False AccessDenied "cannot access …, cross-namespace references …".'],
    limits: "Only the first refused reference is named.",
  },
  firstSeen: "2026-07-03",
  lastVerified: { on: "2026-11-30", against: "tofu-controller 0.16.5 (source)" },
});

const isDenied = ({ ready, stalled, suspended }: TerraformView) =>
  !suspended &&
  ((ready?.status === "False" && ready.reason === "AccessDenied") ||
    (stalled?.status === "True" && stalled.reason === "AccessDenied"));
