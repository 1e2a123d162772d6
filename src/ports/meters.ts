/**
 * Where the engine counts what it does. Names are Prometheus' own; those of controller-runtime and
 * of Flux stand for what they stand for there, so that dashboards and the doctor read them alike.
 */
export interface Meters {
  /** Adds to a counter; 1 if not said otherwise. */
  add(name: CounterName, labels: Labels, amount?: number): void;
  /** Adds a duration in milliseconds to a histogram, which keeps seconds. */
  observe(name: HistogramName, labels: Labels, ms: number): void;
  /** Forgets every series with these labels: what they were about is gone. */
  drop(labels: Labels): void;
}

export type Labels = Readonly<Record<string, string>>;

/** Meters that keep nothing. */
export const noMeters: Meters = { add() {}, observe() {}, drop() {} };

/** One number at this moment. */
export interface Gauge {
  readonly name: GaugeName;
  readonly labels: Labels;
  readonly value: number;
}

/** Labels of the one controller and of its queue, as controller-runtime writes them. */
export const CONTROLLER: Labels = { controller: "terraform" };
export const QUEUE: Labels = { controller: "terraform", name: "terraform" };

export const counters = {
  controller_runtime_reconcile_total: "Passes by result.",
  controller_runtime_reconcile_errors_total: "Passes that failed.",
  controller_runtime_reconcile_panics_total: "Passes that failed by a bug.",
  workqueue_adds_total: "Keys that were put on the queue.",
  workqueue_retries_total: "Keys that were put on the queue after a failure.",
  rest_client_requests_total: "Requests to the API server, by code, method and host.",
  nigari_runs_started_total: "Runs that were begun.",
  nigari_run_outcomes_total: "Runs whose outcome is known, by what came of them.",
  nigari_run_verdicts_total: "Changes of what is believed of a runner.",
  nigari_store_failures_total: "Reads and writes that the object store did not answer.",
} as const;
export type CounterName = keyof typeof counters;

export interface HistogramFacts {
  readonly help: string;
  /** Upper bounds in seconds. */
  readonly buckets: readonly number[];
}

/** From 1 ms to 10 s, for what is short. */
const SHORT = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** From a tenth of a second to two hours. */
const LONG = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 1_800, 3_600, 7_200];
/** Ten from 10 ms to 30 min, each so many times the one before. */
const FLUX = Array.from({ length: 10 }, (_, at) => 0.01 * (1_800 / 0.01) ** (at / 9));

export const histograms = {
  controller_runtime_reconcile_time_seconds: { help: "How long passes took.", buckets: SHORT },
  workqueue_queue_duration_seconds: { help: "How long keys waited.", buckets: SHORT },
  workqueue_work_duration_seconds: { help: "How long keys were worked on.", buckets: SHORT },
  gotk_reconcile_duration_seconds: { help: "How long passes of an object took.", buckets: FLUX },
  nigari_stage_duration_seconds: { help: "How long a run was in a stage.", buckets: LONG },
  nigari_recovery_duration_seconds: {
    help: "From a runner being unreachable or dead until its object goes on.",
    buckets: LONG,
  },
} as const satisfies Readonly<Record<string, HistogramFacts>>;
export type HistogramName = keyof typeof histograms;

export const gauges = {
  controller_runtime_active_workers: "Passes that go on.",
  controller_runtime_max_concurrent_reconciles: "Passes that may go on at once.",
  workqueue_depth: "Keys that are ready and wait.",
  workqueue_unfinished_work_seconds: "Ages of all passes that go on, together.",
  workqueue_longest_running_processor_seconds: "Age of the pass that has gone on longest.",
  leader_election_master_status: "1 while this engine leads.",
  gotk_reconcile_condition: "Ready of each object: 1 for the status that it has.",
  gotk_suspend_status: "1 for an object that is suspended.",
  nigari_runs: "Runs that objects have, by stage and by what is believed of the runner.",
  nigari_run_slots: "Runs that may go on at once.",
  nigari_run_slots_taken: "Run slots in use.",
  nigari_event_loop_lag_seconds: "How late this process was in the last ten seconds, in all.",
  process_resident_memory_bytes: "Memory in use.",
  process_cpu_seconds_total: "Processor time used.",
  process_start_time_seconds: "When the process started, in seconds since 1970.",
} as const;
export type GaugeName = keyof typeof gauges;
