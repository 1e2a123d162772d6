import { calm, type RecognizerCases } from "../case.ts";

export const suspendedCases: RecognizerCases = {
  recognized: [
    {
      why: "it was suspended before it ever ran, and its status is empty",
      scene: calm("10:40:00").object("Terraform", "apps/old", {
        spec: { suspend: true, interval: "5m", path: "./", sourceRef: { kind: "GitRepository" } },
        status: { observedGeneration: -1 },
      }),
      objects: ["Terraform/apps/old"],
    },
    {
      why: "it was suspended while its source moves on",
      scene: calm("10:40:00")
        .source("apps/code", "main@sha1:2", "09:30:00")
        .terraform("apps/old", { spec: { suspend: true } }),
      objects: ["Terraform/apps/old"],
    },
  ],
  ruledOut: [{ why: "nothing is suspended", scene: calm("09:01:00").terraform("apps/web") }],
  inconclusive: [
    { why: "the objects could not be read", scene: calm("10:10:00").without("Terraform") },
  ],
};
