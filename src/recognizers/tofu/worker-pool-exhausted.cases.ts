import type { Scene } from "../../evidence/scene.ts";
import { applying, calm, initializing, type RecognizerCases } from "../case.ts";

const names = ["a", "b", "c", "d"] as const;

/** Four workers, four objects parked in an apply since ten. */
function parkedFour(clock: string): Scene {
  const scene = calm(clock).controller({ node: "alpha", concurrent: 4 });
  for (const name of names) scene.terraform(`apps/${name}`, applying("10:00:06"));
  return scene;
}

const lastLines = names.map((name) => ["10:00:06", `apps/${name}`, "load tf plan: ok"] as const);

export const workerPoolExhaustedCases: RecognizerCases = {
  recognized: [
    {
      why: "four parked applies hold all four workers, and one object is due for its interval",
      scene: parkedFour("10:30:00")
        .terraform("apps/well")
        .log([["09:00:00", "apps/well", "Reconciliation completed. Generation: 1"], ...lastLines])
        .workers({ active: 4, maximum: 4, longest: 1_794, unfinished: 7_176, depth: 5 }),
      objects: ["Pod/ops/tc-7f9-abcde", "Terraform/apps/well"],
      facts: { held: 4, maximum: 4, parked: 4, waiting: 1, heldBy: ["4 parked calls"] },
      also: ["tofu/reconcile-parked"],
    },
    {
      why: "without metrics the log shows as many passes as there are workers",
      scene: parkedFour("10:30:00")
        .source("apps/code", "main@sha1:2", "10:10:00")
        .terraform("apps/well")
        .log([["09:00:00", "apps/well", "Reconciliation completed. Generation: 1"], ...lastLines]),
      objects: ["Pod/ops/tc-7f9-abcde", "Terraform/apps/well"],
      facts: { held: 4, maximum: 4, parked: 4 },
      also: ["tofu/reconcile-parked", "tofu/source-moved-on-unseen"],
    },
  ],
  ruledOut: [
    {
      why: "a queue is no starvation: the four parked keys queue again, and nothing else is due",
      scene: parkedFour("10:30:00")
        .log(lastLines)
        .workers({ active: 4, maximum: 4, longest: 1_794, unfinished: 7_176, depth: 4 }),
      also: ["tofu/reconcile-parked"],
    },
    {
      why: "two workers are free",
      scene: calm("10:30:00")
        .terraform("apps/a", initializing("10:00:06"))
        .log([["10:00:06", "apps/a", "generated template"]])
        .workers({ active: 6, maximum: 8, longest: 1_794, depth: 5 }),
      also: ["tofu/reconcile-parked"],
    },
  ],
  inconclusive: [
    {
      why: "neither metrics nor a log tell how many passes run",
      scene: parkedFour("10:30:00").terraform("apps/well"),
    },
    {
      why: "the log begins after the passes that may hold the workers, and there are no metrics",
      scene: parkedFour("10:30:00")
        .terraform("apps/well")
        .log([["10:25:00", "apps/other", "Reconciliation completed. Generation: 1"]]),
      objects: ["Terraform/apps/well"],
    },
  ],
};
