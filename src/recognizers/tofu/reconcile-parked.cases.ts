import { applying, calm, initializing, planning, type RecognizerCases } from "../case.ts";

const PARKED = ["Terraform/apps/network"];
const SETUP = [
  ["10:00:01", "apps/network", ">> Started Generation: 1"],
  ["10:00:04", "apps/network", "setting up terraform"],
  ["10:00:05", "apps/network", "generated template"],
] as const;

/** A pass failed where no status of its own tells of it. */
const FAILED_ONCE = { reconciliationFailures: 1 };

export const reconcileParkedCases: RecognizerCases = {
  recognized: [
    {
      why: "its node was shut down during Init, and the log is silent since",
      scene: calm("10:20:00")
        .terraform("apps/network", initializing("10:00:04"))
        .failedRunner("apps/network", "beta", "10:00:02", "10:01:10")
        .log(SETUP)
        .workers({ active: 1, maximum: 8, longest: 1_199, unfinished: 1_199 }),
      objects: PARKED,
      facts: { stage: "setup", runner: "pod-ended", knownBy: ["log", "metrics"], node: "beta" },
      also: ["node/rebooted", "tofu/runner-pods-failed-left-behind"],
    },
    {
      why: "a power loss started its runner anew in place: it looks Running, at another address",
      scene: calm("10:20:00")
        .terraform("apps/network", planning("10:00:06"))
        .revivedRunner("apps/network", "beta", "10:00:02", "10:03:00")
        .log([...SETUP, ["10:00:06", "apps/network", "calling plan ..."]]),
      objects: PARKED,
      facts: { stage: "plan", runner: "restarted-in-new-sandbox", knownBy: ["log"] },
      also: ["node/rebooted"],
    },
    {
      why: "only numbers are left: as many passes run as wait, for as long as they wait",
      scene: calm("10:40:00")
        .terraform("apps/network", applying("10:00:06"))
        .terraform("apps/store", applying("10:36:00"))
        .runner("apps/store", { node: "alpha", created: "10:35:50" })
        .workers({ active: 2, maximum: 8, longest: 2_396, unfinished: 2_640 }),
      objects: PARKED,
      facts: {
        stage: "apply",
        runner: "no-pod",
        knownBy: ["metrics"],
        runningApplies: ["apps/store"],
      },
      also: ["tofu/apply-long"],
    },
    {
      why: "0.16.5 ended the set-up call, and the clean-up call that follows waits in its place",
      scene: calm("10:50:00")
        .terraform("apps/network", initializing("10:00:04"))
        .runner("apps/network", { node: "beta", created: "10:00:02" })
        .node("gamma")
        .log([
          ...SETUP,
          [
            ...(["10:30:04", "apps/network", "error in terraform setup"] as const),
            "error running Init: rpc error: code = DeadlineExceeded desc = context deadline",
          ],
        ])
        .node("beta", { ready: false, since: "10:01:00" }),
      objects: PARKED,
      facts: { stage: "setup", runner: "node-not-ready", lastLine: "error in terraform setup" },
      also: ["node/lost"],
    },
    {
      why: "the last line before silence was the drift plan's, and the pod is gone",
      scene: calm("10:20:00")
        .terraform("apps/network", initializing("10:00:04"))
        .log([...SETUP, ["10:00:07", "apps/network", "calling detectDrift ..."]]),
      objects: PARKED,
      facts: { stage: "drift-plan", runner: "no-pod" },
    },
    {
      why: "a plan without changes is Ready already while its outputs are asked for",
      scene: calm("10:20:00")
        .terraform("apps/network", {
          ready: ["True", "Plan no changes: main@sha1:1", "10:00:07", "TerraformPlannedNoChanges"],
          conditions: { Reconciling: ["True", "Fulfilling prerequisites", "10:00:01"] },
        })
        .failedRunner("apps/network", "beta", "10:00:02", "10:01:10")
        .log([...SETUP, ["10:00:07", "apps/network", "should apply == false"]]),
      objects: PARKED,
      facts: { stage: "outputs", runner: "pod-ended", since: "2026-03-02T10:00:07Z" },
      also: ["node/rebooted", "tofu/runner-pods-failed-left-behind"],
    },
    {
      why: "a deletion waits for the runner to clean up, which no status tells of",
      scene: calm("10:20:00")
        .terraform("apps/network", {
          ready: ["Unknown", "Deletion in progress", "10:00:01"],
          metadata: { deletionTimestamp: "2026-03-02T10:00:00Z" },
        })
        .log([
          ["10:00:01", "apps/network", ">> Started Generation: 1"],
          ["10:00:04", "apps/network", "runner is running"],
        ]),
      objects: PARKED,
      facts: { stage: "destroy", runner: "no-pod" },
    },
    {
      why: "after a power loss its runner cannot start any more, at whatever address",
      scene: calm("10:20:00")
        .terraform("apps/network", applying("10:00:06"))
        .runner("apps/network", {
          ...{ node: "beta", created: "10:00:02", restarts: 7, sandbox: "10:03:00" },
          state: { waiting: { reason: "CrashLoopBackOff" } },
          lastState: { terminated: { exitCode: 1, reason: "Error" } },
        })
        .log([...SETUP, ["10:00:06", "apps/network", "load tf plan: ok"]]),
      objects: PARKED,
      facts: { stage: "apply", runner: "restarted-in-new-sandbox" },
      also: ["tofu/runner-restarting"],
    },
    {
      why: "parked anew after a restart: the words of its status are the old ones, and their time",
      scene: calm("10:40:00")
        .controller({ node: "alpha", started: "10:20:00" })
        .terraform("apps/network", initializing("10:00:04"))
        .failedRunner("apps/network", "beta", "10:21:02", "10:22:10")
        .log([
          ["10:21:00", "apps/network", ">> Started Generation: 1"],
          ["10:21:05", "apps/network", "generated template"],
        ]),
      objects: PARKED,
      facts: { stage: "setup", since: "2026-03-02T10:21:05Z" },
      also: ["node/rebooted", "tofu/runner-pods-failed-left-behind"],
    },
  ],
  ruledOut: [
    {
      why: "a pass that failed left its status; the one that runs now has a runner of its own",
      scene: calm("10:20:00")
        .terraform("apps/network", { ...initializing("10:00:04"), status: FAILED_ONCE })
        .runner("apps/network", { node: "beta", created: "10:17:01" })
        .log([
          ...SETUP,
          ["10:00:06", "apps/network", "Reconciliation failed after 5s, next try in 30s"],
          ["10:17:00", "apps/network", ">> Started Generation: 1"],
          ["10:17:03", "apps/network", "generated template"],
        ])
        .workers({ active: 1, maximum: 8, longest: 180, unfinished: 180 }),
    },
    {
      why: "a pass that failed left its status; the one that runs now has asked no runner yet",
      scene: calm("10:20:00")
        .terraform("apps/network", { ...initializing("10:00:04"), status: FAILED_ONCE })
        .log([
          ...SETUP,
          ["10:00:06", "apps/network", "Reconciliation failed after 5s, next try in 30s"],
          ["10:17:00", "apps/network", ">> Started Generation: 1"],
          ["10:17:00", "apps/network", "show runner pod state: "],
        ])
        .workers({ active: 1, maximum: 8, longest: 180, unfinished: 180 }),
    },
    {
      why: "the runner has run since before the call, on a Ready node: however silent, it works",
      scene: calm("10:50:00")
        .terraform("apps/network", applying("10:00:06"))
        .runner("apps/network", { node: "beta", created: "10:00:02" })
        .log([...SETUP, ["10:00:06", "apps/network", "load tf plan: ok"]])
        .workers({ active: 1, maximum: 8, longest: 2_999, unfinished: 2_999 }),
      also: ["tofu/apply-long"],
    },
    {
      why: "the kubelet restarted the container in its sandbox: the call goes on when it is up",
      scene: calm("10:20:00")
        .terraform("apps/network", initializing("10:00:04"))
        .runner("apps/network", {
          ...{ node: "beta", created: "10:00:02", started: "10:05:00", restarts: 1 },
          lastState: { terminated: { exitCode: 137, reason: "OOMKilled" } },
          sandbox: "10:00:03",
        })
        .log(SETUP)
        .workers({ active: 1, maximum: 8, longest: 1_199 }),
    },
    {
      why: "a first start, however slow, is no restart",
      scene: calm("10:20:00")
        .terraform("apps/network", initializing("10:00:04"))
        .runner("apps/network", { node: "beta", created: "10:00:02", started: "10:12:00" })
        .log(SETUP)
        .workers({ active: 1, maximum: 8, longest: 1_199 }),
    },
    {
      why: "the process that leads began after the call: nobody waits in it",
      scene: calm("10:20:00")
        .controller({ name: "tc-7f9-zzzzz", started: "10:10:00", node: "alpha", leads: false })
        .terraform("apps/network", initializing("10:00:04"))
        .object("Lease", "ops/1953de50.contrib.fluxcd.io", {
          metadata: { resourceVersion: "9" },
          spec: { holderIdentity: "tc-7f9-zzzzz_1", renewTime: "2026-03-02T10:19:58Z" },
        })
        .log(SETUP, { name: "tc-7f9-zzzzz" }),
    },
    {
      why: "its last pass has ended, and only the status is old",
      scene: calm("10:20:00")
        .terraform("apps/network", initializing("10:00:04"))
        .log([
          ...SETUP,
          ["10:19:00", "apps/network", "Reconciliation failed after 1s, next try in 30s"],
        ])
        .workers({ active: 1, maximum: 8, longest: 2_000 }),
      // The object comes back every 30 s, so it is not lost either.
    },
    {
      why: "its last line is seconds old",
      scene: calm("10:00:30")
        .terraform("apps/network", initializing("10:00:04"))
        .log(SETUP)
        .workers({ active: 1, maximum: 8, longest: 29 }),
    },
    {
      why: "equal times are not later: the runner was created in the second of the call",
      scene: calm("10:20:00")
        .terraform("apps/network", initializing("10:00:04"))
        .runner("apps/network", { node: "beta", created: "10:00:04" })
        .log(SETUP),
    },
  ],
  inconclusive: [
    {
      why: "its node is not Ready for seconds: a kubelet that starts anew looks like that",
      scene: calm("10:20:00")
        .terraform("apps/network", applying("10:00:06"))
        .runner("apps/network", { node: "beta", created: "10:00:02" })
        .node("beta", { ready: false, since: "10:19:40" })
        .log([...SETUP, ["10:00:06", "apps/network", "load tf plan: ok"]]),
      objects: PARKED,
      also: ["node/lost"],
    },
    {
      why: "a pass runs for twenty minutes, and without a log nothing tells of what",
      scene: calm("10:20:00")
        .terraform("apps/network", {
          ready: ["True", "Plan no changes: main@sha1:1", "10:00:07", "TerraformPlannedNoChanges"],
          conditions: { Reconciling: ["True", "Fulfilling prerequisites", "10:00:01"] },
        })
        .workers({ active: 1, maximum: 8, longest: 1_199, unfinished: 1_199 }),
      objects: [],
    },
    {
      why: "the runner is younger than the call by seconds only, and two clocks wrote that",
      scene: calm("10:20:00")
        .terraform("apps/network", applying("10:00:06"))
        .runner("apps/network", { node: "beta", created: "10:00:12" })
        .log([...SETUP, ["10:00:06", "apps/network", "load tf plan: ok"]]),
      objects: PARKED,
    },
    {
      why: "only numbers are left, and the status may be that of an earlier pass, its runner gone",
      scene: calm("10:20:00")
        .terraform("apps/network", { ...initializing("10:17:00"), status: FAILED_ONCE })
        .runner("apps/network", { node: "beta", created: "10:17:10" })
        .workers({ active: 1, maximum: 8, longest: 170, unfinished: 170 }),
      objects: PARKED,
    },
    {
      why: "as many passes run as would wait, but together they are too young",
      scene: calm("10:20:00")
        .terraform("apps/network", initializing("10:17:00"))
        .terraform("apps/store", applying("10:15:00"))
        .runner("apps/store", { node: "alpha", created: "10:14:55" })
        .workers({ active: 2, maximum: 8, longest: 305, unfinished: 420 }),
      objects: PARKED,
      also: ["tofu/apply-long"],
    },
    {
      why: "the runner is gone, but neither log nor metrics tell whether a pass waits",
      scene: calm("10:20:00")
        .terraform("apps/network", initializing("10:00:04"))
        .log([["10:15:00", "apps/store", "Reconciliation completed. Generation: 1"]]),
      objects: PARKED,
    },
    {
      why: "the pods of its namespace could not be read",
      scene: calm("10:20:00")
        .terraform("apps/network", initializing("10:00:04"))
        .log(SETUP)
        .gap({
          ...{ what: "pods in apps", kind: "Pod", namespace: "apps", why: "not-permitted" },
          ...{ detail: "forbidden", command: "kubectl -n apps get pods" },
        }),
      objects: PARKED,
    },
    {
      why: "the metrics show fewer passes than there are candidates",
      scene: calm("10:20:00")
        .terraform("apps/network", initializing("10:00:04"))
        .terraform("apps/store", initializing("10:00:04"))
        .workers({ active: 1, maximum: 8, longest: 1_199, unfinished: 1_199 }),
      objects: ["Terraform/apps/network", "Terraform/apps/store"],
    },
    {
      why: "it may still be fetching its artifact while the control plane is unsteady",
      scene: calm("10:05:00")
        .controller({ node: "alpha", started: "09:59:40", restarts: 1 })
        .terraform("apps/network", initializing("10:00:04"))
        .log([
          ["10:00:01", "apps/network", ">> Started Generation: 1"],
          ["10:00:04", "apps/network", "setting up terraform"],
        ])
        .text(
          [
            'E0302 09:59:30.000000 1 leaderelection.go:452] "error retrieving resource lock" ' +
              'err="context deadline exceeded"',
          ],
          { name: "tc-7f9-abcde", previous: true },
        ),
      objects: PARKED,
      also: ["control-plane/unsteady"],
    },
  ],
};
