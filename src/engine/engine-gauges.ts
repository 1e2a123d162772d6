import { keyOf } from "../api/kinds.ts";
import { CONDITION } from "../api/names.ts";
import type { Terraform } from "../api/terraform.ts";
import type { RunFact } from "../domain/facts.ts";
import type { EngineLoad } from "../ports/engine.ts";
import { CONTROLLER, type Gauge, type GaugeName, type Labels, QUEUE } from "../ports/meters.ts";
import type { QueueAges, QueueSize } from "./queue.ts";

export interface EngineMoment {
  readonly size: QueueSize;
  readonly ages: QueueAges;
  readonly workers: number;
  readonly load: EngineLoad;
  readonly runs: readonly RunFact[];
  readonly terraforms: Iterable<Terraform>;
  readonly lagMs: number;
}

/** What the engine is like at this moment, as numbers. */
export function engineGauges(moment: EngineMoment): Gauge[] {
  const { size, ages, workers, load, lagMs } = moment;
  const one = (name: GaugeName, labels: Labels, value: number): Gauge => ({ name, labels, value });
  const sumMs = ages.runningMs.reduce((sum, ms) => sum + ms, 0);
  return [
    one("controller_runtime_active_workers", CONTROLLER, size.running),
    one("controller_runtime_max_concurrent_reconciles", CONTROLLER, workers),
    one("workqueue_depth", QUEUE, size.ready),
    one("workqueue_unfinished_work_seconds", QUEUE, sumMs / 1_000),
    one(
      "workqueue_longest_running_processor_seconds",
      QUEUE,
      Math.max(0, ...ages.runningMs) / 1_000,
    ),
    one("leader_election_master_status", { name: "nigari" }, 1),
    one("nigari_run_slots", {}, load.slots.all),
    one("nigari_run_slots_taken", {}, load.slots.taken),
    one("nigari_event_loop_lag_seconds", {}, lagMs / 1_000),
    ...runGauges(moment.runs),
    ...[...moment.terraforms].flatMap(objectGauges),
  ];
}

function runGauges(runs: readonly RunFact[]): Gauge[] {
  const counts = new Map<string, { labels: Labels; value: number }>();
  for (const { stage, verdict } of runs) {
    const labels = { stage, verdict };
    const found = counts.get(`${stage} ${verdict}`);
    if (found === undefined) counts.set(`${stage} ${verdict}`, { labels, value: 1 });
    else found.value += 1;
  }
  return [...counts.values()].map((each) => ({ name: "nigari_runs", ...each }));
}

const STATUSES = ["True", "False", "Unknown"] as const;

function objectGauges(terraform: Terraform): Gauge[] {
  const { namespace, name } = keyOf(terraform);
  const labels = { kind: "Terraform", name, namespace };
  const conditions = terraform.status?.conditions ?? [];
  const ready = conditions.find(({ type }) => type === CONDITION.ready)?.status ?? "Unknown";
  return [
    {
      name: "gotk_suspend_status",
      labels,
      value: terraform.spec.suspend === true ? 1 : 0,
    },
    ...STATUSES.map(
      (status): Gauge => ({
        name: "gotk_reconcile_condition",
        labels: { ...labels, type: CONDITION.ready, status },
        value: status === ready ? 1 : 0,
      }),
    ),
  ];
}
