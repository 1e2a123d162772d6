import { leaderFor } from "../../evidence/controllers.ts";
import { runnerFate } from "../../evidence/runners.ts";
import { citeNode, citePod, citeReady } from "../cites.ts";
import { defineRecognizer, type Finding, type Undecided, verdictOf } from "../define.ts";
import { missing } from "../judge.ts";
import { clock, HARMLESS, MINUTE_MS, span, stamp } from "../words.ts";

const LONG_MS = 3 * MINUTE_MS;

/** An apply that takes long and is well. */
export const applyLong = defineRecognizer({
  id: "tofu/apply-long",
  since: "0.1.0",
  maturity: "trial",
  severity: "wait",
  summary: "Checks for applies that take long while their runner is alive.",
  plural: "applies take long, their runners alive; a restart of the controller would cut them",
  needs: ["terraforms", "pods", "nodes"],
  wants: ["leadership"],
  specialises: ["tofu/state-lock-held"],
  lookAlikes: [
    {
      id: "tofu/reconcile-parked",
      tellApart:
        "The runner that got the apply is gone; here it runs since before, on a Ready node.",
    },
    {
      id: "tofu/state-lock-orphaned",
      tellApart: "The lock's run has ended; here it is this apply's own lock.",
    },
    {
      id: "tofu/source-moved-on-unseen",
      tellApart: "No run of the object lives; here it looks at the new revision after the apply.",
    },
  ],

  recognize(known, { asOfMs }) {
    const findings: Finding[] = [];
    const undecided: Undecided[] = [];
    for (const object of known.terraforms) {
      const call = object.inCall;
      if (call === undefined || (call.stage !== "apply" && call.stage !== "destroy")) continue;
      if (asOfMs - call.sinceMs < LONG_MS) continue;
      const leader = known.leadership && leaderFor(known.leadership, object.namespace);
      const startedMs = leader?.controller.startedMs;
      if (startedMs !== undefined && startedMs > call.sinceMs) continue;
      const runner = runnerFate(object, call.sinceMs, known.pods, known.nodes);
      if (runner.fate === "unknown") {
        const why = `Whether the runner of ${object.key} is alive is not known.`;
        undecided.push({ objects: [object.ref], why, missing: [missing("nodes")] });
      }
      if (runner.fate !== "alive" || runner.pod === undefined) continue;
      const node = known.nodes.find((each) => each.name === runner.pod?.node);
      findings.push({
        objects: [object.ref],
        says:
          `${object.key} applies since ${clock(call.sinceMs)}, its runner alive: ` +
          "a restart of the controller now would cut it.",
        short: `${object.key}, since ${clock(call.sinceMs)}`,
        facts: {
          stage: call.stage,
          since: stamp(call.sinceMs),
          age: span(asOfMs - call.sinceMs),
          runner: runner.pod.key,
          node: runner.pod.node ?? "",
        },
        cites: [
          citeReady(object),
          citePod(runner.pod, runner.says),
          ...(node === undefined ? [] : [citeNode(node)]),
        ],
        since: stamp(call.sinceMs),
        causes: [],
      });
    }
    return verdictOf(findings, undecided, "No apply with a living runner takes 3 min or more.");
  },

  remedies: [
    {
      do: "Let it finish; look at its runner's log for progress.",
      command: "kubectl -n NAMESPACE logs NAME-tf-runner --tail=20",
      risk: "read-only",
      precondition: "None.",
      effect: "You see what it creates or waits for.",
      price: HARMLESS,
      undo: "Not needed.",
      verify: "Ready becomes True.",
    },
  ],
  doesNotHelp: [
    "Restarting the controller: it cuts this apply and leaves its lock.",
    "Unlocking the state: the lock is this apply's own.",
  ],
  doc: {
    meaning: "OpenTofu is at work; some resources take many minutes.",
    impact: "None, unless the controller is restarted now: that would cut it.",
    symptoms: ['Ready=Unknown "Applying" for minutes, with no line in the controller\'s log.'],
    limits: "A provider that hangs for ever looks the same; only the runner's log can tell.",
  },
  firstSeen: "2026-07-03",
  lastVerified: { on: "2026-11-30", against: "tofu-controller 0.16.5, Kubernetes 1.36" },
});
