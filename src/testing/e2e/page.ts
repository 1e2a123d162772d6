import { table } from "../../render/markdown.ts";
import { type Strike, strikeNames, strikes } from "./strikes.ts";

/** docs/faults-kubernetes.md: what befalls runs in a cluster, and what follows. */
export function clusterFaultsPage(): string {
  const all = strikeNames.map((name): Strike => strikes[name]);
  return [
    "# Faults in a cluster: what befalls runs, and what follows",
    "",
    "<!-- Rendered from src/testing/e2e/strikes.ts by `npm run e2e:faults`. -->",
    "",
    "`npm run e2e:faults` goes through all of this on a whole cluster: a real API server, two " +
      "real kubelets, runners in pods, OpenTofu, source-controller. Each fault strikes three " +
      "objects at once: one run is held in init, one in plan, one in apply. What was done is " +
      "judged by what the resources told a server outside of any state: each effect is had " +
      "once. Afterwards no slot is taken, and no pod, Secret or lock is left.",
    "",
    table(
      ["fault", "means", "in init and plan", "in apply"],
      all.map(({ title, means, plan, apply }) => [title, means, plan, apply]),
    ),
  ]
    .join("\n")
    .concat("\n");
}
