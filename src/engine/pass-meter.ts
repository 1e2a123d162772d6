import type { ObjectKey } from "../api/kinds.ts";
import { CONTROLLER, type Meters, QUEUE } from "../ports/meters.ts";
import type { QueueObserver } from "./queue.ts";
import type { Next } from "./reconciler.ts";

/** Counts what the queue does, under controller-runtime's names. */
export function queueMeter(meters: Meters): QueueObserver {
  return {
    added: () => meters.add("workqueue_adds_total", QUEUE),
    retried: () => meters.add("workqueue_retries_total", QUEUE),
    taken: (ms) => meters.observe("workqueue_queue_duration_seconds", QUEUE, ms),
    done: (ms) => meters.observe("workqueue_work_duration_seconds", QUEUE, ms),
  };
}

/** Counts one pass of an object; when that is gone, its own series go too. */
export function countPass(
  meters: Meters,
  key: ObjectKey,
  { next, ms }: { readonly next: Next; readonly ms: number },
): void {
  const object = { kind: "Terraform", name: key.name, namespace: key.namespace };
  meters.add("controller_runtime_reconcile_total", { ...CONTROLLER, result: resultOf(next) });
  meters.observe("controller_runtime_reconcile_time_seconds", CONTROLLER, ms);
  if (next.after === "failure") {
    meters.add("controller_runtime_reconcile_errors_total", CONTROLLER);
    if (next.isBug === true) meters.add("controller_runtime_reconcile_panics_total", CONTROLLER);
  }
  if (next.after === "gone") meters.drop(object);
  else meters.observe("gotk_reconcile_duration_seconds", object, ms);
}

/** As controller-runtime calls it. */
function resultOf(next: Next): string {
  switch (next.after) {
    case "ms":
      return next.ms === undefined ? "success" : "requeue_after";
    case "conflict":
      return "requeue";
    case "failure":
      return "error";
    case "gone":
      return "success";
  }
}
