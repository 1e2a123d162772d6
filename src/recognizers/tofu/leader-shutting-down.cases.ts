import { Scene } from "../../evidence/scene.ts";
import { calm, DAY, initializing, type RecognizerCases } from "../case.ts";

/** Told to stop at 10:20, with 5 min of grace: the API server's field holds the end of it. */
const stopping = {
  deletionTimestamp: `${DAY}T10:25:00Z`,
  deletionGracePeriodSeconds: 300,
};

const restarted = (clock: string) =>
  new Scene(`${DAY}T${clock}Z`)
    .nodes("alpha", "beta")
    .source("apps/code")
    .controller({ node: "alpha", metadata: stopping })
    .controller({ name: "tc-8a1-vwxyz", node: "beta", started: "10:20:01", leads: false });

export const leaderShuttingDownCases: RecognizerCases = {
  recognized: [
    {
      why: "the old pod was told to stop and holds the Lease while its parked pass lasts",
      scene: restarted("10:22:00")
        .terraform("apps/network", initializing("10:00:04"))
        .log([["10:00:05", "apps/network", "generated template"]])
        .workers({ active: 1, maximum: 8, longest: 1_319 }),
      objects: ["Pod/ops/tc-7f9-abcde"],
      facts: { toldAt: `${DAY}T10:20:00Z`, endsBy: "10:24:00", next: "ops/tc-8a1-vwxyz" },
      also: ["tofu/reconcile-parked"],
    },
    {
      why: "it was told to stop and no other pod is there yet",
      scene: new Scene(`${DAY}T10:22:00Z`)
        .nodes("alpha")
        .controller({
          node: "alpha",
          metadata: stopping,
          args: ["--graceful-shutdown-timeout=60s"],
        })
        .log([["10:21:00", "", "Stopping and waiting for non leader election runnables"]])
        .workers({ active: 0, maximum: 8 }),
      objects: ["Pod/ops/tc-7f9-abcde"],
      facts: { endsBy: "10:21:00", next: "" },
    },
  ],
  ruledOut: [
    {
      why: "the leader was not told to stop",
      scene: calm("10:22:00").workers({ active: 0, maximum: 8 }),
    },
    {
      why: "the new pod leads already while the old one goes",
      scene: new Scene(`${DAY}T10:22:00Z`)
        .nodes("alpha", "beta")
        .controller({ node: "alpha", metadata: stopping, leads: false })
        .controller({ name: "tc-8a1-vwxyz", node: "beta", started: "10:20:01" })
        .workers({ active: 0, maximum: 8 }, { name: "tc-8a1-vwxyz" }),
    },
  ],
  inconclusive: [
    { why: "the pods could not be read", scene: restarted("10:22:00").without("Pod") },
  ],
};
