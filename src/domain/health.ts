import { CONDITION, REASON } from "../api/names.ts";
import type { RunStatus } from "../api/terraform.ts";
import type { HealthFact } from "./facts.ts";
import { change, type Outcome, type Pass, warning } from "./pass.ts";
import { failed } from "./run-results.ts";

/**
 * What the checks of spec.healthChecks make of a run that did its work. All well: HealthCheck says
 * so. Else the work stands as it is, but the run counts as failed and Ready is False: after the
 * retry pause a plan looks again, and without changes the checks are made again.
 *
 * May set: HealthCheck; Ready False HealthChecksFailed.
 */
export function withHealth(
  pass: Pass,
  run: RunStatus,
  health: readonly HealthFact[] | undefined,
  done: Outcome,
): Outcome {
  if ((pass.terraform.spec.healthChecks ?? []).length === 0 || run.destroy === true) {
    return { ...done, marks: { ...done.marks, health: { is: "absent" } } };
  }
  if (health === undefined) return done;
  const troubles = health.flatMap(({ trouble }) => (trouble === undefined ? [] : [trouble]));
  if (troubles.length > 0) return unhealthy(pass, run, troubles, done);
  return { ...done, marks: { ...done.marks, health: { is: "succeeded" } } };
}

function unhealthy(
  pass: Pass,
  run: RunStatus,
  troubles: readonly string[],
  done: Outcome,
): Outcome {
  const message = troubles.join("; ");
  const reason = REASON.healthChecksFailed;
  const failure = failed(pass, run, { stage: "health", reason, message });
  const { lastRun, reconciliationFailures, nextDueAt } = failure.fields;
  const { lastSuccessfulReconcileAt } = pass.fields;
  const old = pass.terraform.status?.conditions?.find(({ type }) => type === CONDITION.healthCheck);
  const news = troubles.filter((each) => old?.message.includes(each) !== true);
  return {
    ...done,
    why: `${done.why}; unhealthy: ${message}`,
    standing: failure.standing,
    fields: change(done.fields, {
      lastRun,
      reconciliationFailures,
      nextDueAt,
      lastSuccessfulReconcileAt,
    }),
    marks: { ...done.marks, health: { is: "failed", message } },
    after: [...news.map((each) => warning(reason, each)), ...(done.after ?? [])],
  };
}
