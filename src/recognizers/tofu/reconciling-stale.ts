import type { TerraformView } from "../../evidence/terraforms.ts";
import { citeLine } from "../cites.ts";
import { defineRecognizer, type Undecided, verdictOf } from "../define.ts";
import { missing } from "../judge.ts";
import { stampOf } from "../words.ts";

/** A condition that was left behind by a pass that had nothing to do. */
export const reconcilingStale = defineRecognizer({
  id: "tofu/reconciling-stale",
  since: "0.1.0",
  maturity: "trial",
  severity: "risk",
  summary: "Checks for Reconciling=True that was left while nothing is under way.",
  plural: "objects only look as if they were reconciling",
  needs: ["terraforms", "passes"],
  wants: [],
  lookAlikes: [
    {
      id: "tofu/awaits-approval",
      tellApart: "A plan is pending: Reconciling=True is as it should be.",
    },
    { id: "tofu/requeue-lost", tellApart: "Ready itself is Unknown and nobody comes back." },
  ],

  recognize({ terraforms, passes }) {
    const looks = terraforms.filter(looksBusy);
    const undecided: Undecided[] = [];
    const findings = looks.flatMap((object) => {
      const pass = passes.byObject.get(object.key);
      if (pass === undefined) {
        const why = `The log has no line of ${object.key}.`;
        const needed = { ...missing("passes"), usual: false };
        undecided.push({ objects: [object.ref], why, missing: [needed] });
        return [];
      }
      if (!pass.skipped) return [];
      return [
        {
          objects: [object.ref],
          says: `${object.key} says Reconciling, but its last pass was skipped.`,
          facts: { lastLine: pass.last.message, ready: object.ready?.status ?? "" },
          cites: [
            { says: `${object.ref} Reconciling=True, Ready=True`, place: object.place },
            citeLine(pass.last),
          ],
          since: stampOf(object.reconciling?.sinceMs),
          causes: [],
        },
      ];
    });
    return verdictOf(findings, undecided, "Whatever says Reconciling is being reconciled.");
  },

  remedies: [
    {
      do: "Nothing: the next pass that does work takes it away.",
      risk: "read-only",
      precondition: "None.",
      effect: "Dashboards are right again after it.",
      price: "Until then they show the object as in progress.",
      undo: "Not needed.",
      verify: "Reconciling is absent.",
    },
  ],
  doesNotHelp: ["Restarting the controller: nothing is stuck."],
  defect: {
    what: "A pass that the interval gate ends leaves Reconciling=True behind.",
    versions: "tofu-controller up to 0.16.5",
    files: ["controllers/tf_controller.go"],
    references: ["https://github.com/flux-iac/tofu-controller/issues/1844"],
  },
  doc: {
    meaning: "The controller marked the object as reconciling and then found that it was not due.",
    impact: "Tools that wait for the object (kstatus, flux) wait for nothing.",
    symptoms: ['Reconciling=True "Fulfilling prerequisites" with Ready=True, for long.'],
    limits: "Only the log shows that the pass was skipped.",
  },
  firstSeen: "2026-07-03",
  lastVerified: { on: "2026-11-30", against: "tofu-controller 0.16.5 (source)" },
});

/** Busy by one condition and done by the other, with nothing pending. */
function looksBusy(object: TerraformView): boolean {
  if (object.suspended || object.pendingPlan !== undefined) return false;
  return object.reconciling?.status === "True" && object.ready?.status === "True";
}
