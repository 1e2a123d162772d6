import type { NodeView, PodView } from "../../evidence/pods.ts";
import { sourceOf } from "../../evidence/queue.ts";
import { runnerFate } from "../../evidence/runners.ts";
import type { SourceView } from "../../evidence/sources.ts";
import type { TerraformView } from "../../evidence/terraforms.ts";
import { citeReady } from "../cites.ts";
import { defineRecognizer, type Finding, type Undecided, verdictOf } from "../define.ts";
import { missing } from "../judge.ts";
import { clock, HARMLESS, MINUTE_MS, span, stamp } from "../words.ts";

/** A new revision that nobody has looked at. */
export const sourceMovedOnUnseen = defineRecognizer({
  id: "tofu/source-moved-on-unseen",
  since: "0.1.0",
  maturity: "trial",
  severity: "failure",
  summary: "Checks for objects that were not looked at since their source moved on.",
  plural: "objects have not seen their source's new revision",
  needs: ["terraforms", "sources"],
  wants: ["passes", "pods", "nodes"],
  lookAlikes: [
    { id: "tofu/apply-long", tellApart: "A run of it lives: it looks when that has ended." },
    { id: "tofu/suspended", tellApart: "spec.suspend is set: it is not meant to look." },
    {
      id: "tofu/worker-pool-exhausted",
      tellApart: "Every worker is held: the object waits its turn.",
    },
  ],

  recognize({ terraforms, sources, passes, pods, nodes }, { asOfMs }) {
    const findings: Finding[] = [];
    const undecided: Undecided[] = [];
    for (const object of terraforms) {
      const source = sourceOf(object, sources);
      if (source === undefined || !isUnseen(object, source, asOfMs)) continue;
      const fate = callFate(object, pods, nodes);
      if (fate === "lives") continue;
      if (fate === "unknown") {
        const why = `Whether the run that ${object.key} is in goes on is not known.`;
        undecided.push({ objects: [object.ref], why, missing: [missing("pods")] });
        continue;
      }
      const pass = passes?.byObject.get(object.key);
      const updatedMs = source.updatedMs ?? 0;
      if (pass !== undefined && pass.last.atMs >= updatedMs) continue;
      if (changedSince(object, updatedMs)) {
        if (pass !== undefined) continue;
        const why = `${object.key} changed since its source moved on; its log is missing.`;
        undecided.push({ objects: [object.ref], why, missing: [missing("passes")] });
        continue;
      }
      findings.push(findingOf(object, source, asOfMs));
    }
    return verdictOf(findings, undecided, "Every object has seen its source's revision.");
  },

  remedies: [
    {
      do: "Find out who should look: is a worker free, does the controller lead?",
      command: "kubectl get lease -A | grep contrib.fluxcd.io",
      risk: "read-only",
      precondition: "None.",
      effect: "Another finding usually names the reason.",
      price: HARMLESS,
      undo: "Not needed.",
      verify: "The holder is a pod that runs.",
    },
    {
      do: "Ask for a look.",
      command:
        "kubectl -n {namespace} annotate terraform {name} --overwrite " +
        'reconcile.fluxcd.io/requestedAt="$(date -u +%FT%TZ)"',
      risk: "disruptive",
      precondition: "A worker is free.",
      effect: "The object plans the new revision.",
      price: "If it approves by itself, the plan is applied.",
      undo: "None needed.",
      verify: "status.lastAttemptedRevision is the source's revision.",
    },
  ],
  doesNotHelp: ["Pushing another commit: the notice is not what is missing."],
  doc: {
    meaning: "The source has offered a newer revision for longer than an interval, unseen.",
    impact: "What was merged is not applied; the object looks Ready.",
    symptoms: ["lastAttemptedRevision is not the source's revision, for long."],
    limits: "It says that nobody looked, not why; another finding may.",
  },
  firstSeen: "2026-07-11",
  lastVerified: { on: "2026-11-30", against: "tofu-controller 0.16.5, Kubernetes 1.36" },
});

function isUnseen(object: TerraformView, source: SourceView, asOfMs: number): boolean {
  if (object.suspended || object.stalled?.status === "True") return false;
  if (source.revision === undefined || source.updatedMs === undefined) return false;
  if (source.revision === object.attemptedRevision) return false;
  const patience = (object.intervalMs ?? 10 * MINUTE_MS) + 2 * MINUTE_MS;
  return asOfMs - source.updatedMs > patience;
}

/** A run that lives must end before anybody can look: of a long apply that is no fault. */
function callFate(
  object: TerraformView,
  pods: readonly PodView[] | undefined,
  nodes: readonly NodeView[] | undefined,
): "none" | "lives" | "gone" | "unknown" {
  if (object.inCall === undefined) return "none";
  if (pods === undefined) return "unknown";
  const { fate } = runnerFate(object, object.inCall.sinceMs, pods, nodes);
  return fate === "gone" || fate === "unknown" ? fate : "lives";
}

/** Something wrote into its status since: somebody did look, whatever came of it. */
function changedSince(object: TerraformView, ms: number): boolean {
  const { ready, reconciling } = object;
  return [ready?.sinceMs, reconciling?.sinceMs, object.lastSuccessMs, object.lastPlanMs].some(
    (each) => each !== undefined && each > ms,
  );
}

function findingOf(object: TerraformView, source: SourceView, asOfMs: number): Finding {
  const updatedMs = source.updatedMs ?? asOfMs;
  return {
    objects: [object.ref],
    says:
      `${object.key} has not looked since its source moved on at ${clock(updatedMs)}, ` +
      `${span(asOfMs - updatedMs)} ago.`,
    facts: {
      source: source.ref,
      offered: source.revision ?? "",
      attempted: object.attemptedRevision ?? "",
      namespace: object.namespace,
      name: object.name,
      since: stamp(updatedMs),
    },
    cites: [
      { says: `${source.ref} offers ${source.revision ?? ""}`, place: source.place },
      citeReady(object),
    ],
    since: stamp(updatedMs),
    causes: [],
  };
}
