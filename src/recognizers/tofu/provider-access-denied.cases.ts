import { calm, failed, type RecognizerCases } from "../case.ts";

const denied = (code: string) =>
  `error running Plan: Error: Unable to read user: ${code}\n  with idp_user.anna,`;

export const providerAccessDeniedCases: RecognizerCases = {
  recognized: [
    {
      why: "the provider answers 403",
      scene: calm("10:10:00").terraform(
        "apps/login",
        failed("TFExecPlanFailed", denied("403 Forbidden"), "10:09:40"),
      ),
      objects: ["Terraform/apps/login"],
      facts: { providers: ["idp"] },
    },
    {
      why: "its token has ended; the log has the whole text",
      scene: calm("10:10:00")
        .terraform("apps/login", failed("TFExecPlanFailed", denied("unauthorized"), "10:09:40"))
        .log([["10:09:40", "apps/login", "error running plan", denied("401 Unauthorized")]]),
      objects: ["Terraform/apps/login"],
    },
  ],
  ruledOut: [
    {
      why: "the provider let it in",
      scene: calm("10:10:00").terraform(
        "apps/login",
        failed(
          "TFExecPlanFailed",
          "error running Plan: Error: Invalid value for variable",
          "10:09:40",
        ),
      ),
    },
  ],
  inconclusive: [
    { why: "the objects could not be read", scene: calm("10:10:00").without("Terraform") },
  ],
};
