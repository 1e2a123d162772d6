import { write, writeFailedPass, writeQuietPass } from "../passes.ts";
import { REVISION, type World } from "../world.ts";
import type { Fault } from "./fault.ts";
import { dependents } from "./nodes.ts";

const awaitsApproval: Fault = {
  name: "a plan awaits approval",
  apply(world) {
    const key = world.key();
    const plan = `plan-main-${world.between(10_000, 99_999)}`;
    const seconds = world.between(60, 40_000);
    const message = `Plan generated: set approvePlan: "${plan}" to approve this plan.`;
    const ready = ["Unknown", message, world.ago(seconds), "TerraformPlannedWithChanges"] as const;
    world.object(key, ready, {
      spec: { approvePlan: "" },
      status: { plan: { pending: plan }, lastPlanAt: world.ago(seconds) },
    });
    write(world, key, ["should apply == false", "clean up dir: ok"], seconds);
    world.line(seconds, key, "Reconciliation is stopped to wait for manual operations");
    world.expect("tofu/awaits-approval", `Terraform/${key}`);
  },
};

const suspended: Fault = {
  name: "an object is suspended",
  apply(world) {
    const key = world.key();
    world.object(key, ["True", `No drift: ${REVISION}`, world.ago(90_000), "NoDrift"], {
      spec: { suspend: true },
      status: { lastAttemptedRevision: "main@sha1:0ld" },
    });
    world.expect("tofu/suspended", `Terraform/${key}`);
    if (world.chance(0.5)) dependents(world, key);
  },
};

const retryLimit: Fault = {
  name: "an object gave up",
  apply(world) {
    const key = world.key();
    const error = "error running Plan: rpc error: code = Internal desc = Error: Invalid provider";
    world.object(key, ["False", error, world.ago(7_000), "TFExecPlanFailed"], {
      status: {
        reconciliationFailures: 10,
        conditions: [
          condition(world, "Ready", "False", ["TFExecPlanFailed", error, 7_000]),
          condition(world, "Stalled", "True", [
            "RetryLimitReached",
            "Resource reached maximum number of retries (10/10)",
            6_990,
          ]),
        ],
      },
    });
    world.expect("tofu/retry-limit-reached", `Terraform/${key}`);
  },
};

const accessDenied: Fault = {
  name: "an object refers to what it may not",
  apply(world) {
    const key = world.key();
    const message = "cannot access GitRepository/other/code, cross-namespace references are off";
    world.object(key, ["False", message, world.ago(7_000), "AccessDenied"], {
      status: {
        conditions: [
          condition(world, "Ready", "False", ["AccessDenied", message, 7_000]),
          condition(world, "Stalled", "True", ["AccessDenied", message, 7_000]),
        ],
      },
    });
    world.expect("tofu/access-denied", `Terraform/${key}`);
  },
};

function condition(
  world: World,
  type: string,
  status: string,
  [reason, message, seconds]: readonly [string, string, number],
) {
  return { type, status, reason, message, lastTransitionTime: world.ago(seconds) };
}

/** Several ids of one provider at once: what was behind it is gone. */
const idsGone: Fault = {
  name: "a backing system was wiped",
  apply(world) {
    const key = world.key();
    const error =
      "error running Plan: rpc error: code = Internal desc = exit status 1\n\n" +
      "Error: Unable to read Mailbox\n\n  with mail_mailbox.main,\n  on main.tf line 3, in " +
      'resource "mail_mailbox" "main":\n\nMailbox not found with id 4711\n\n' +
      "Error: Unable to read Alias\n\n  with mail_alias.info,\n  on main.tf line 9, in " +
      'resource "mail_alias" "info":\n\nAlias not found with id 4712\n';
    failing(world, key, error);
    world.expect("tofu/resource-ids-gone", `Terraform/${key}`);
  },
};

const providerRefuses: Fault = {
  name: "a provider's credentials are refused",
  apply(world) {
    const key = world.key();
    const error =
      "error running Plan: rpc error: code = Internal desc = exit status 1\n\n" +
      "Error: Unable to read Mailbox\n\n  with mail_mailbox.main,\n  on main.tf line 3, in " +
      'resource "mail_mailbox" "main":\n\nUnable to read mailbox: 403 Forbidden\n';
    failing(world, key, error);
    world.expect("tofu/provider-access-denied", `Terraform/${key}`);
  },
};

/** A failure of the module that nobody knows as more than that. */
const plainFailure: Fault = {
  name: "a module is wrong",
  apply(world) {
    const error =
      "error running Init: rpc error: code = Internal desc = Error: Argument or block definition " +
      "required\n\n  on main.tf line 26:\n  26:  }\n";
    failing(world, world.key(), error);
  },
};

function failing(world: World, key: string, error: string): void {
  world.object(key, ["False", error, world.ago(25), "DriftDetectionFailed"], {
    status: { reconciliationFailures: world.between(2, 30) },
  });
  const failure = { stage: "drift-plan", line: "detected non drift error", error } as const;
  writeFailedPass(world, key, failure, 25);
}

/** Its last pass was skipped, and one condition still says that it is under way. */
const reconcilingStale: Fault = {
  name: "a condition is stale",
  apply(world) {
    const key = world.key();
    const seconds = world.between(70, 280);
    world.object(key, ["True", `No drift: ${REVISION}`, world.ago(4_000), "NoDrift"], {
      status: {
        conditions: [
          condition(world, "Ready", "True", ["NoDrift", `No drift: ${REVISION}`, 4_000]),
          condition(world, "Reconciling", "True", [
            "Progressing",
            "Fulfilling prerequisites",
            4_000,
          ]),
        ],
      },
    });
    world.line(seconds, key, ">> Started Generation: 1");
    world.line(seconds, key, "Skipping reconciliation");
    const unread = { "objects-and-metrics": "either" as const };
    world.expect("tofu/reconciling-stale", `Terraform/${key}`, unread);
  },
};

/** Its last pass ended long ago and nothing made it due again. */
const requeueLost: Fault = {
  name: "an object was never queued again",
  hasPast: true,
  apply(world) {
    const key = world.key();
    const seconds = world.between(1_500, 20_000);
    const ready = ["Unknown", "Reconciliation in progress", world.ago(seconds)] as const;
    world.object(key, ready);
    writeQuietPass(world, key, seconds - 2);
    world.expect("tofu/requeue-lost", `Terraform/${key}`, {
      "log-10min": "either",
      "objects-and-metrics": "either",
    });
  },
};

export const waitFaults: readonly Fault[] = [
  awaitsApproval,
  suspended,
  retryLimit,
  accessDenied,
  idsGone,
  providerRefuses,
  plainFailure,
  reconcilingStale,
  requeueLost,
];
