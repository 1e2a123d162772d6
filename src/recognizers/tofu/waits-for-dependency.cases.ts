import { calm, failed, initializing, type RecognizerCases } from "../case.ts";

const waitsFor = (key: string, since: string) => ({
  ...failed("DependencyNotReady", `dependency '${key}' is not ready`, since),
  spec: { dependsOn: [{ name: key.split("/")[1] }] },
});

export const waitsForDependencyCases: RecognizerCases = {
  recognized: [
    {
      why: "it waits for one that waits for a third, and the third is the root",
      scene: calm("10:10:00")
        .terraform("apps/web", waitsFor("apps/store", "10:01:00"))
        .terraform("apps/store", waitsFor("apps/network", "10:01:00"))
        .terraform("apps/network", initializing("10:09:30"))
        .runner("apps/network", { node: "beta", created: "10:09:20" })
        .log([
          ["10:09:31", "apps/network", "generated template"],
          ["10:09:40", "apps/store", "Dependencies do not meet ready condition, retrying in 30s"],
        ]),
      objects: ["Terraform/apps/store", "Terraform/apps/web"],
      facts: { root: "apps/network" },
    },
    {
      why: "the second of two that it needs does not exist, and the refusal names that",
      scene: calm("10:10:00")
        .terraform("apps/store")
        .terraform("apps/web", {
          ...failed(
            "DependencyNotReady",
            "unable to get 'apps/gone' dependency: Terraform \"gone\" not found",
            "10:01:00",
          ),
          spec: { dependsOn: [{ name: "store" }, { name: "gone" }] },
        }),
      objects: ["Terraform/apps/web"],
      facts: { root: "apps/gone", rootExists: false },
    },
    {
      why: "it waits for another's output Secret",
      scene: calm("10:10:00")
        .terraform("apps/network")
        .terraform("apps/store")
        .terraform("apps/web", {
          ...failed(
            "DependencyNotReady",
            "dependency output secret: 'store-out' of 'apps/store' is not ready yet",
            "10:01:00",
          ),
          spec: { dependsOn: [{ name: "network" }, { name: "store" }] },
        }),
      objects: ["Terraform/apps/web"],
      facts: { root: "apps/store", rootExists: true },
    },
    {
      why: "two wait for each other, and the first of the ring is named",
      scene: calm("10:10:00")
        .terraform("apps/a", waitsFor("apps/b", "10:01:00"))
        .terraform("apps/b", waitsFor("apps/a", "10:01:00")),
      objects: ["Terraform/apps/a", "Terraform/apps/b"],
      facts: { root: "apps/b" },
    },
    {
      why: "it waits until the other is at the same revision",
      scene: calm("10:10:00")
        .terraform(
          "apps/web",
          failed("DependencyNotReady", "dependency 'apps/store' is not updated yet", "10:01:00"),
        )
        .terraform("apps/store"),
      objects: ["Terraform/apps/web"],
      facts: { root: "apps/store" },
    },
  ],
  ruledOut: [
    {
      why: "it fails by itself",
      scene: calm("10:10:00").terraform(
        "apps/web",
        failed("TFExecPlanFailed", "error running Plan: exit status 1", "10:09:40"),
      ),
    },
  ],
  inconclusive: [
    { why: "the objects could not be read", scene: calm("10:10:00").without("Terraform") },
  ],
};
