import type { ControllerView, LeadershipView } from "./controllers.ts";
import type { GoroutineDump, MetricSet, Place } from "./model.ts";
import type { Stage } from "./terraforms.ts";

/** How a controller's workers are used, by its own metrics. */
export interface WorkersView {
  readonly controller: ControllerView | undefined;
  readonly active: number;
  readonly maximum: number;
  /** Age of the pass that has run longest. */
  readonly longestMs: number | undefined;
  /** Ages of all running passes together. */
  readonly unfinishedMs: number | undefined;
  /** Keys that wait in the queue, keys of running passes that queue again among them. */
  readonly depth: number;
  readonly place: Place;
}

/** Of the controllers that lead; of all that give metrics if it is not known who leads. */
export function workersOf(
  metrics: readonly MetricSet[],
  leadership: LeadershipView | undefined,
): WorkersView[] {
  return metrics.flatMap((set) => {
    const leader = leadership?.leaders.find(
      ({ controller: { pod } }) =>
        pod.name === set.pod && (set.namespace ?? pod.namespace) === pod.namespace,
    );
    if (leader === undefined && leadership !== undefined && leadership.leaders.length > 0)
      return [];
    const view = workersView(set, leader?.controller);
    return view === undefined ? [] : [view];
  });
}

function workersView(
  set: MetricSet,
  controller: ControllerView | undefined,
): WorkersView | undefined {
  const own = set.samples.filter((each) => each.labels.controller === "terraform");
  const value = (name: string) => own.find((each) => each.name === name)?.value;
  const active = value("controller_runtime_active_workers");
  if (active === undefined) return undefined;
  const milliseconds = (name: string) => {
    const seconds = value(name);
    return seconds === undefined ? undefined : seconds * 1_000;
  };
  const depths = own.filter((each) => each.name === "workqueue_depth");
  return {
    controller,
    active,
    maximum: value("controller_runtime_max_concurrent_reconciles") ?? controller?.concurrent ?? 4,
    longestMs: milliseconds("workqueue_longest_running_processor_seconds"),
    unfinishedMs: milliseconds("workqueue_unfinished_work_seconds"),
    depth: depths.reduce((sum, each) => sum + each.value, 0),
    place: set.place,
  };
}

/** Goroutines that stand in a call to a runner, or in the download of an artifact. */
export interface CallsView {
  readonly byMethod: ReadonlyMap<string, number>;
  readonly downloads: number;
  readonly place: Place;
}

export function callsOf(dumps: readonly GoroutineDump[]): CallsView | undefined {
  const dump = dumps.find((each) =>
    each.stacks.some(({ frames }) => frames.some((frame) => RECONCILE.test(frame))),
  );
  if (dump === undefined) return undefined;
  const byMethod = new Map<string, number>();
  let downloads = 0;
  for (const { count, frames } of dump.stacks) {
    if (!frames.some((frame) => RECONCILE.test(frame))) continue;
    const method = frames.map((frame) => CALL.exec(frame)?.[1]).find((each) => each !== undefined);
    if (method !== undefined) byMethod.set(method, (byMethod.get(method) ?? 0) + count);
    else if (frames.some((frame) => /retryablehttp|downloadAndUpload|download/.test(frame))) {
      downloads += count;
    }
  }
  return { byMethod, downloads, place: dump.place };
}

const RECONCILE = /controllers\.\(\*TerraformReconciler\)\./;
const CALL = /runner\.\(\*runnerClient\)\.(\w+)/;

/** The stage that a call of the runner belongs to. */
export const stageOfCall: Readonly<Record<string, Stage>> = {
  UploadAndExtract: "setup",
  WriteBackendConfig: "setup",
  Init: "setup",
  SelectWorkspace: "setup",
  CleanupDir: "setup",
  Plan: "plan",
  Apply: "apply",
  Destroy: "destroy",
  Output: "outputs",
};
