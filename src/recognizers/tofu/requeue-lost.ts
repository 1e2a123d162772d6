import type { PassesView } from "../../evidence/passes.ts";
import type { TerraformView } from "../../evidence/terraforms.ts";
import type { WorkersView } from "../../evidence/workers.ts";
import { citeLine, citeReady, citeWorkers } from "../cites.ts";
import { type Cite, defineRecognizer, type Finding, type Undecided, verdictOf } from "../define.ts";
import { missing } from "../judge.ts";
import { HARMLESS, MINUTE_MS, span, stampOf } from "../words.ts";

/** The queue's longest backoff after an error is 1000 s: before that it may yet come back. */
const BACKOFF_MS = 17 * MINUTE_MS;

/** An object that is in progress by its status and on nobody's list. */
export const requeueLost = defineRecognizer({
  id: "tofu/requeue-lost",
  since: "0.1.0",
  maturity: "trial",
  severity: "failure",
  summary: "Checks for objects in progress that nobody works on and nobody comes back to.",
  plural: "objects are in progress and on nobody's list",
  needs: ["terraforms", "passes", "leadership"],
  wants: ["workers"],
  lookAlikes: [
    { id: "tofu/reconcile-parked", tellApart: "A worker is held by the object's own pass." },
    {
      id: "tofu/reconciling-stale",
      tellApart: "Ready is True and only Reconciling was left behind.",
    },
    { id: "tofu/retry-limit-reached", tellApart: "Stalled says that it gave up." },
  ],

  recognize({ terraforms, passes, leadership, workers }, { asOfMs }) {
    const findings: Finding[] = [];
    const undecided: Undecided[] = [];
    for (const object of terraforms) {
      const intervalMs = object.intervalMs ?? 10 * MINUTE_MS;
      const patienceMs = Math.max(2 * intervalMs, BACKOFF_MS);
      const sinceMs = progressingSince(object);
      if (sinceMs === undefined || asOfMs - sinceMs <= patienceMs) continue;
      // A process that began since then lists every object and looks at it: too early to tell.
      const fromMs = asOfMs - patienceMs;
      const leads = leadership.leaders.some(
        ({ controller }) => (controller.startedMs ?? asOfMs) < fromMs,
      );
      if (!leads) continue;
      const proof = idle(object, passes, workers, { fromMs, asOfMs });
      if (proof === "busy") continue;
      if (proof === "unknown") {
        const why = `The log does not tell whether anybody works on ${object.key}.`;
        const needed = { ...missing("passes"), usual: false };
        undecided.push({ objects: [object.ref], why, missing: [needed] });
        continue;
      }
      findings.push({
        objects: [object.ref],
        says: `${object.key} is in progress for ${span(asOfMs - sinceMs)}, and nobody works on it.`,
        facts: {
          since: stampOf(sinceMs) ?? "",
          interval: span(intervalMs),
          namespace: object.namespace,
          name: object.name,
        },
        cites: [citeReady(object), ...proof],
        since: stampOf(sinceMs),
        causes: [],
      });
    }
    return verdictOf(findings, undecided, "Whatever is in progress is worked on, or soon due.");
  },

  remedies: [
    {
      do: "See that nobody works on it: its last line in the controller's log.",
      risk: "read-only",
      precondition: "None.",
      effect: "You know that a new look takes nothing away.",
      price: HARMLESS,
      undo: "Not needed.",
      verify: "The last line ends a pass.",
    },
    {
      do: "Ask for a new look.",
      command:
        "kubectl -n {namespace} annotate terraform {name} --overwrite " +
        'reconcile.fluxcd.io/requestedAt="$(date -u +%FT%TZ)"',
      risk: "disruptive",
      precondition: "None.",
      effect: "The object is reconciled.",
      price: "If it approves by itself, what it plans is applied.",
      undo: "None needed.",
      verify: "status.lastHandledReconcileAt follows the annotation.",
    },
  ],
  doesNotHelp: ["Waiting: it is on nobody's list."],
  defect: {
    what: "Some ways out of a pass return without a time to come back.",
    versions: "tofu-controller up to 0.16.5",
    files: ["controllers/tf_controller.go", "api/v1alpha2/terraform_types.go"],
    references: [],
  },
  doc: {
    meaning: "The last pass ended without an end in the status, and nothing will start another.",
    impact: "The object stands still until its spec or source changes.",
    symptoms: ["Ready=Unknown for more than two intervals; workers are free; the queue is empty."],
    limits:
      "It needs a log that covers two intervals and the longest backoff (17 min): metrics do not " +
      "show what is due later.",
  },
  firstSeen: "2026-07-03",
  lastVerified: { on: "2026-11-30", against: "tofu-controller 0.16.5 (source)" },
});

/** Since when it says that it is under way, unless it waits for a person or was told to stop. */
function progressingSince(object: TerraformView): number | undefined {
  const { ready } = object;
  if (object.suspended || object.stalled?.status === "True") return undefined;
  if (ready?.status !== "Unknown" || ready.reason !== "Progressing") return undefined;
  if (object.pendingPlan !== undefined && object.approvePlan !== "auto") return undefined;
  if (object.approvePlan === "disable" || /^Breaking the glass/.test(ready.message)) {
    return undefined;
  }
  return ready.sinceMs;
}

/** Its last pass ended long ago; or the log is silent on it for long and no worker is active. */
function idle(
  object: TerraformView,
  passes: PassesView,
  workers: readonly WorkersView[] | undefined,
  { fromMs, asOfMs }: { readonly fromMs: number; readonly asOfMs: number },
): "busy" | "unknown" | Cite[] {
  if (passes.covered.toMs < asOfMs - MINUTE_MS) return "unknown";
  const none = workers?.every((each) => each.active === 0 && each.depth === 0) === true;
  const pass = passes.byObject.get(object.key);
  if (pass === undefined) {
    if (passes.covered.fromMs > fromMs || !none) return "unknown";
    return (workers ?? []).map(citeWorkers);
  }
  if (!pass.ended || pass.last.atMs > fromMs) return "busy";
  return [
    citeLine(pass.last, "Last line of the object: "),
    ...(none ? (workers ?? []).map(citeWorkers) : []),
  ];
}
