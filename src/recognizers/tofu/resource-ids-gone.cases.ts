import { calm, failed, type RecognizerCases } from "../case.ts";

const gone = (address: string, id: string) =>
  `Error: Unable to read user: not found with id ${id}\n  with ${address},\n  on main.tf line 3`;

export const resourceIdsGoneCases: RecognizerCases = {
  recognized: [
    {
      why: "two ids of one provider are gone at once",
      scene: calm("10:10:00").terraform(
        "apps/login",
        failed(
          "DriftDetectionFailed",
          `error running Plan: ${gone("idp_user.anna", "4711")}\n${gone("idp_user.ben", "4712")}`,
          "10:09:40",
        ),
      ),
      objects: ["Terraform/apps/login"],
      facts: { ids: ["4711", "4712"], providers: ["idp"] },
    },
    {
      why: "two objects of one provider miss an id each; the log has the text",
      scene: calm("10:10:00")
        .terraform(
          "apps/login",
          failed(
            "TFExecPlanFailed",
            `error running Plan: ${gone("idp_user.anna", "1")}`,
            "10:09:40",
          ),
        )
        .terraform(
          "apps/mail",
          failed(
            "TFExecPlanFailed",
            `error running Plan: ${gone("idp_role.box", "2")}`,
            "10:09:41",
          ),
        )
        .log([
          [
            "10:09:41",
            "apps/mail",
            "Reconciliation failed after 1s, next try in 30s",
            "exit status 1",
          ],
        ]),
      objects: ["Terraform/apps/login", "Terraform/apps/mail"],
    },
  ],
  ruledOut: [
    {
      why: "one id may be one deleted resource",
      scene: calm("10:10:00").terraform(
        "apps/login",
        failed("TFExecPlanFailed", `error running Plan: ${gone("idp_user.anna", "1")}`, "10:09:40"),
      ),
    },
    {
      why: "the plan fails for something else",
      scene: calm("10:10:00").terraform(
        "apps/login",
        failed("TFExecPlanFailed", "error running Plan: exit status 1", "10:09:40"),
      ),
    },
  ],
  inconclusive: [
    { why: "the objects could not be read", scene: calm("10:10:00").without("Terraform") },
  ],
};
