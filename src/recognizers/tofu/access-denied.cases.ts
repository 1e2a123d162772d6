import { calm, failed, type RecognizerCases } from "../case.ts";

const MESSAGE =
  "cannot access GitRepository/ops/code, cross-namespace references have been disabled";

export const accessDeniedCases: RecognizerCases = {
  recognized: [
    {
      why: "its source lies in another namespace",
      scene: calm("10:10:00").terraform("apps/web", {
        ...failed("AccessDenied", MESSAGE, "10:00:00"),
        conditions: { Stalled: ["True", MESSAGE, "10:00:00", "AccessDenied"] },
      }),
      objects: ["Terraform/apps/web"],
    },
    {
      why: "what it depends on lies in another namespace, and only Ready says so",
      scene: calm("10:10:00").terraform(
        "apps/web",
        failed("AccessDenied", "cannot access ops/net, cross-namespace references", "10:00:00"),
      ),
      objects: ["Terraform/apps/web"],
    },
  ],
  ruledOut: [{ why: "nothing is refused", scene: calm("09:02:00").terraform("apps/web") }],
  inconclusive: [
    { why: "the objects could not be read", scene: calm("10:10:00").without("Terraform") },
  ],
};
