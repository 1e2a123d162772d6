import { providerRefusals } from "../../evidence/refusals.ts";
import { citeLine, citeReady } from "../cites.ts";
import { defineRecognizer, verdictOf } from "../define.ts";
import { HARMLESS, stampOf } from "../words.ts";

/** A provider whose credentials are refused. */
export const providerAccessDenied = defineRecognizer({
  id: "tofu/provider-access-denied",
  since: "0.1.0",
  maturity: "trial",
  severity: "failure",
  summary: "Checks for plans that fail because a provider's credentials are refused.",
  plural: "objects have credentials that are refused",
  needs: ["terraforms"],
  wants: ["passes"],
  lookAlikes: [
    {
      id: "tofu/resource-ids-gone",
      tellApart: "The provider is let in and says that the ids do not exist.",
    },
    {
      id: "tofu/access-denied",
      tellApart: "There the controller refuses a reference; no provider was asked.",
    },
  ],

  recognize({ terraforms, passes }) {
    const findings = providerRefusals(terraforms, passes)
      .filter((each) => each.accessDenied)
      .map(({ object, providers, line }) => ({
        objects: [object.ref],
        says: `${object.key} is refused by ${providers.join(", ") || "its provider"}.`,
        facts: { providers, namespace: object.namespace, name: object.name },
        cites: [citeReady(object), ...(line === undefined ? [] : [citeLine(line)])],
        since: stampOf(object.ready?.sinceMs),
        causes: [],
      }));
    return verdictOf(findings, [], "No provider's credentials are refused.");
  },

  remedies: [
    {
      do: "See which credentials the object uses, and whether they have ended.",
      command:
        "kubectl -n {namespace} get terraform {name} -o jsonpath='{.spec.runnerPodTemplate}'",
      risk: "read-only",
      precondition: "None.",
      effect: "You know whose access to renew.",
      price: HARMLESS,
      undo: "Not needed.",
      verify: "The provider's own tool accepts or refuses them.",
    },
    {
      do: "Renew them where they come from.",
      risk: "reversible",
      precondition: "You may.",
      effect: "The next retry plans.",
      price: "None.",
      undo: "Revoke them.",
      verify: "Ready leaves False.",
    },
  ],
  doesNotHelp: ["Removing resources from the state: they may well exist."],
  doc: {
    meaning: "The system behind the provider answers 401 or 403.",
    impact: "Plans fail; what is not seen is not gone.",
    symptoms: ['"Unable to read …" with 401, 403, forbidden or unauthorized.'],
    limits:
      "Some systems answer 404 for what one may not see; then it looks like ids that are gone.",
  },
  firstSeen: "2026-07-03",
  lastVerified: { on: "2026-11-30", against: "OpenTofu 1.12 (text of reports)" },
});
