import { type ProviderRefusal, providerRefusals } from "../../evidence/refusals.ts";
import { citeLine, citeReady } from "../cites.ts";
import { defineRecognizer, type Finding, verdictOf } from "../define.ts";
import { count, HARMLESS, stampOf } from "../words.ts";

/** A state that names what its backing system does not have any more. */
export const resourceIdsGone = defineRecognizer({
  id: "tofu/resource-ids-gone",
  since: "0.1.0",
  maturity: "trial",
  severity: "failure",
  summary: "Checks for states that name resources which do not exist any more.",
  plural: "states name resources that are gone",
  needs: ["terraforms"],
  wants: ["passes"],
  lookAlikes: [
    {
      id: "tofu/provider-access-denied",
      tellApart: "The provider answers 401 or 403: what it may not see may well exist.",
    },
  ],

  recognize({ terraforms, passes }) {
    const refusals = providerRefusals(terraforms, passes).filter(
      (each) => each.goneIds.length > 0 && !each.accessDenied,
    );
    const findings = refusals.filter((each) => several(each, refusals)).map(findingOf);
    return verdictOf(findings, [], "No object fails for two or more ids that are gone.");
  },

  remedies: [
    {
      do: "Ask the backing system whether it was wiped or restored: {providers}.",
      risk: "read-only",
      precondition: "None.",
      effect: "You know whether the ids are gone for good.",
      price: HARMLESS,
      undo: "Not needed.",
      verify: "The system's own tool does not know the ids {ids}.",
    },
    {
      do: "Take the lost resources out of the state, or import what replaced them.",
      command: "tofu state rm ADDRESS",
      risk: "destructive",
      precondition: "A copy of the state was kept; the ids are surely gone.",
      effect: "The next plan creates them anew.",
      price: "What depends on the old ids changes too.",
      undo: "Put the copy of the state back.",
      verify: "The next plan shows creations and no error.",
    },
  ],
  doesNotHelp: ["Retrying: the ids do not come back.", "Restarting anything: nothing is stuck."],
  doc: {
    meaning: "The state remembers ids of a system that has lost them, as after a wipe.",
    impact: "Plans fail; outputs that others read may name what is gone.",
    symptoms: ['"Unable to read … not found with id …", for several resources of one provider.'],
    limits: "One id alone may be one deleted resource; only two or more of a provider are taken.",
  },
  firstSeen: "2026-07-03",
  lastVerified: { on: "2026-11-30", against: "OpenTofu 1.12 (text of reports)" },
});

/** Two or more ids of one provider, in one object or in several at once. */
function several(own: ProviderRefusal, all: readonly ProviderRefusal[]): boolean {
  if (own.goneIds.length >= 2) return true;
  const related = all.filter((each) => each.providers.some((one) => own.providers.includes(one)));
  return new Set(related.flatMap((each) => each.goneIds)).size >= 2;
}

function findingOf({ object, goneIds, providers, line }: ProviderRefusal): Finding {
  const ids = count(goneIds.length, "id");
  const whom = providers.join(", ") || "its provider";
  return {
    objects: [object.ref],
    says: `${object.key} names ${ids} that ${whom} does not know.`,
    facts: { ids: goneIds.slice(0, 20), providers, namespace: object.namespace, name: object.name },
    cites: [citeReady(object), ...(line === undefined ? [] : [citeLine(line)])],
    since: stampOf(object.ready?.sinceMs),
    causes: [],
  };
}
