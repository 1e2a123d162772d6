import { callsInProgress } from "../../evidence/parked.ts";
import type { TerraformView } from "../../evidence/terraforms.ts";
import { citeLine, citeReady, citeWorkers } from "../cites.ts";
import { defineRecognizer, type Finding, type Undecided, verdictOf } from "../define.ts";
import { missing } from "../judge.ts";
import { HARMLESS, MINUTE_MS, span, stampOf } from "../words.ts";

/** An object that is in progress by its status and on nobody's list. */
export const requeueLost = defineRecognizer({
  id: "tofu/requeue-lost",
  since: "0.1.0",
  maturity: "trial",
  severity: "failure",
  summary: "Checks for objects in progress that nobody works on and nobody comes back to.",
  plural: "objects are in progress and on nobody's list",
  needs: ["terraforms", "activity", "leadership"],
  wants: ["pods", "nodes", "sources", "calls", "controlPlane", "unread"],
  lookAlikes: [
    { id: "tofu/reconcile-parked", tellApart: "A worker is held by the object's own pass." },
    {
      id: "tofu/reconciling-stale",
      tellApart: "Ready is True and only Reconciling was left behind.",
    },
    { id: "tofu/retry-limit-reached", tellApart: "Stalled says that it gave up." },
  ],

  recognize(known, { asOfMs }) {
    const findings: Finding[] = [];
    const undecided: Undecided[] = [];
    const parked = new Set(
      known.pods === undefined
        ? []
        : callsInProgress({ ...known, pods: known.pods }, asOfMs)
            .filter((each) => each.verdict !== "over")
            .map(({ object }) => object.key),
    );
    for (const object of known.terraforms) {
      const intervalMs = object.intervalMs ?? 10 * MINUTE_MS;
      const sinceMs = progressingSince(object);
      if (sinceMs === undefined || asOfMs - sinceMs <= 2 * intervalMs) continue;
      if (parked.has(object.key)) continue;
      const proof = idle(object, known, { sinceMs, intervalMs, asOfMs });
      if (proof === "busy") continue;
      if (proof === "unknown") {
        const why = `Whether anybody works on ${object.key} is not known.`;
        const needed = { ...missing("activity"), usual: false };
        undecided.push({ objects: [object.ref], why, missing: [needed] });
        continue;
      }
      findings.push({
        objects: [object.ref],
        says: `${object.key} is in progress for ${span(asOfMs - sinceMs)}, and nobody works on it.`,
        facts: { since: stampOf(sinceMs) ?? "", interval: span(intervalMs), knownBy: proof.by },
        cites: [citeReady(object), proof.cite],
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
        "kubectl -n NAMESPACE annotate terraform NAME --overwrite " +
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
    limits: "Without metrics it needs a log that covers more than two intervals.",
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
  if (object.approvePlan === "disable" || /^Breaking the glass/.test(ready.message))
    return undefined;
  return ready.sinceMs;
}

type Proof =
  | "busy"
  | "unknown"
  | { readonly by: string; readonly cite: ReturnType<typeof citeReady> };

/** No worker is active and nothing queued; or the log shows its last pass ended long ago. */
function idle(
  object: TerraformView,
  known: Parameters<typeof requeueLost.recognize>[0],
  times: { readonly sinceMs: number; readonly intervalMs: number; readonly asOfMs: number },
): Proof {
  const { sinceMs, intervalMs, asOfMs } = times;
  const { passes, workers } = known.activity ?? {};
  const leads = known.leadership?.leaders.some(
    ({ controller }) =>
      (controller.startedMs ?? Number.POSITIVE_INFINITY) < asOfMs - 2 * intervalMs,
  );
  // A process that began since then lists every object and looks at it: it is too early to tell.
  if (leads !== true) return "busy";
  const pass = passes?.byObject.get(object.key);
  if (pass !== undefined && passes !== undefined) {
    if (!pass.ended || asOfMs - pass.last.atMs <= 2 * intervalMs) return "busy";
    if (passes.covered.toMs < asOfMs - MINUTE_MS) return "unknown";
    return { by: "log", cite: citeLine(pass.last, "Last line of the object: ") };
  }
  const [only] = workers ?? [];
  if (only === undefined) return "unknown";
  if (only.active > 0 || only.depth > 0) return sinceMs < asOfMs ? "unknown" : "busy";
  return { by: "metrics", cite: citeWorkers(only) };
}
