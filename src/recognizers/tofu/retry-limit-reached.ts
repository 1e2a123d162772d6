import { citeReady } from "../cites.ts";
import { defineRecognizer, verdictOf } from "../define.ts";
import { HARMLESS, stampOf } from "../words.ts";

/** An object that gave up. */
export const retryLimitReached = defineRecognizer({
  id: "tofu/retry-limit-reached",
  since: "0.1.0",
  maturity: "trial",
  severity: "wait",
  summary: "Checks for objects that gave up after their number of retries.",
  plural: "objects gave up after their retries",
  needs: ["terraforms"],
  wants: ["passes"],
  lookAlikes: [
    { id: "tofu/access-denied", tellApart: "It was refused at once, not after retries." },
    { id: "tofu/requeue-lost", tellApart: "Stalled is not set: it means to go on and does not." },
  ],

  recognize({ terraforms, passes }) {
    const findings = terraforms
      .filter(({ stalled }) => stalled?.status === "True" && stalled.reason === "RetryLimitReached")
      .map((object) => {
        const error = passes?.byObject.get(object.key)?.error;
        return {
          objects: [object.ref],
          says: `${object.key} gave up after ${object.failures} failures and will not retry.`,
          facts: {
            failures: object.failures,
            namespace: object.namespace,
            name: object.name,
            lastError: (error?.error ?? "").slice(0, 300),
          },
          cites: [
            { says: `${object.ref} Stalled=True RetryLimitReached`, place: object.place },
            citeReady(object),
            ...(error === undefined ? [] : [{ says: error.message, place: error.place }]),
          ],
          since: stampOf(object.stalled?.sinceMs),
          causes: [],
        };
      });
    return verdictOf(findings, [], "No object has reached its retry limit.");
  },

  remedies: [
    {
      do: "Find the error that it failed with; the status has lost it, the log may have it.",
      command: "kubectl -n {namespace} get events --field-selector involvedObject.name={name}",
      risk: "read-only",
      precondition: "None.",
      effect: "You know what to mend.",
      price: HARMLESS,
      undo: "Not needed.",
      verify: "The last ReconciliationFailed event names a cause.",
    },
    {
      do: "When the cause is mended, ask for a new look.",
      command:
        "kubectl -n {namespace} annotate terraform {name} --overwrite " +
        'reconcile.fluxcd.io/requestedAt="$(date -u +%FT%TZ)"',
      risk: "disruptive",
      precondition: "The cause is mended.",
      effect: "It reconciles once more.",
      price: "If it approves by itself, what it plans is applied.",
      undo: "None needed.",
      verify: "Stalled is gone and Ready is True.",
    },
  ],
  doesNotHelp: ["Waiting: it does not retry by itself."],
  doc: {
    meaning: "spec.remediation or the retry strategy allows so many failures and no more.",
    impact: "The object stands still until its spec or source changes, or a person asks.",
    symptoms: ['Stalled=True "Resource reached maximum number of retries."'],
    limits: "The status does not keep the error that it gave up on.",
  },
  firstSeen: "2026-07-03",
  lastVerified: { on: "2026-11-30", against: "tofu-controller 0.16.5 (source)" },
});
