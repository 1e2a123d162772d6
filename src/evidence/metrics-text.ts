import type { MetricSample } from "./model.ts";

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** Series that recognizers read; a controller exports hundreds of others. */
const wanted = new Set([
  "controller_runtime_active_workers",
  "controller_runtime_max_concurrent_reconciles",
  "controller_runtime_reconcile_total",
  "workqueue_depth",
  "workqueue_longest_running_processor_seconds",
  "workqueue_unfinished_work_seconds",
  "leader_election_master_status",
  "process_start_time_seconds",
  "etcd_server_has_leader",
  "etcd_server_leader_changes_seen_total",
  "apiserver_request_terminations_total",
  "apiserver_request_aborts_total",
  "etcd_request_errors_total",
]);

/** One line of Prometheus text: a sample that somebody reads, or undefined. */
export function readSample(line: string): MetricSample | undefined {
  if (line.length > 4_000 || line.startsWith("#")) return undefined;
  const found = SAMPLE.exec(line);
  if (found === null) return undefined;
  const [, name = "", labels, value = ""] = found;
  if (!wanted.has(name)) return undefined;
  const number = value === "+Inf" ? Number.POSITIVE_INFINITY : Number(value);
  if (Number.isNaN(number)) return undefined;
  return { name, labels: labels === undefined ? {} : labelsOf(labels), value: number };
}

function labelsOf(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const [, key = "", value = ""] of text.matchAll(LABEL)) labels[key] = value;
  return labels;
}
