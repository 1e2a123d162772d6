import { describe, expect, test } from "vitest";
import { readSample } from "../../evidence/metrics-text.ts";
import {
  CONTROLLER,
  counters,
  type Gauge,
  type GaugeName,
  gauges,
  histograms,
  QUEUE,
} from "../../ports/meters.ts";
import { createRegistry, processGauges } from "./meters.ts";

describe("the text", () => {
  test("of counters and gauges, with what would break it escaped", () => {
    const registry = createRegistry();
    registry.add("nigari_runs_started_total", { operation: "plan" });
    registry.add("nigari_runs_started_total", { operation: "plan" }, 2);
    const labels = { stage: 'a"b\\c\nd', verdict: "alive" };
    expect(registry.text([{ name: "nigari_runs", labels, value: 3 }])).toBe(
      [
        "# HELP nigari_runs_started_total Runs that were begun.",
        "# TYPE nigari_runs_started_total counter",
        'nigari_runs_started_total{operation="plan"} 3',
        `# HELP nigari_runs ${gauges.nigari_runs}`,
        "# TYPE nigari_runs gauge",
        'nigari_runs{stage="a\\"b\\\\c\\nd",verdict="alive"} 3',
        "",
      ].join("\n"),
    );
  });

  test("of a histogram counts each bucket with all below it", () => {
    const registry = createRegistry();
    for (const ms of [0.5, 1, 30, 700_000]) {
      registry.observe("workqueue_work_duration_seconds", QUEUE, ms);
    }
    const text = registry.text([]);
    const labels = '{controller="terraform",name="terraform"';
    const series = (rest: string) => `workqueue_work_duration_seconds_${rest.replace("{", labels)}`;
    expect(text).toContain(series('bucket{,le="0.001"} 2'));
    expect(text).toContain(series('bucket{,le="0.025"} 2'));
    expect(text).toContain(series('bucket{,le="0.05"} 3'));
    expect(text).toContain(series('bucket{,le="10"} 3'));
    expect(text).toContain(series('bucket{,le="+Inf"} 4'));
    expect(text).toContain(series("sum{} 700.0315"));
    expect(text).toContain(series("count{} 4"));
  });

  test("forgets what is gone, and nothing else", () => {
    const registry = createRegistry();
    const of = (name: string) => ({ kind: "Terraform", name, namespace: "default" });
    registry.observe("gotk_reconcile_duration_seconds", of("a"), 5);
    registry.observe("gotk_reconcile_duration_seconds", of("b"), 5);
    registry.drop(of("a"));
    expect(registry.text([])).not.toContain('name="a"');
    expect(registry.text([])).toContain('name="b"');
  });
});

test("the buckets of Flux are ten, from 10 ms to half an hour", () => {
  const { buckets } = histograms.gotk_reconcile_duration_seconds;
  expect(buckets).toHaveLength(10);
  expect(buckets[0]).toBeCloseTo(0.01);
  expect(buckets[9]).toBeCloseTo(1_800);
});

test("the doctor reads what it knows of a controller in our text too", () => {
  const registry = createRegistry();
  registry.add("controller_runtime_reconcile_total", { ...CONTROLLER, result: "success" });
  const value = (name: GaugeName): Gauge => ({ name, labels: QUEUE, value: 1 });
  const all = (Object.keys(gauges) as GaugeName[]).map(value);
  const names = registry
    .text(all)
    .split("\n")
    .flatMap((line) => readSample(line)?.name ?? []);
  expect([...new Set(names)].sort()).toEqual([
    "controller_runtime_active_workers",
    "controller_runtime_max_concurrent_reconciles",
    "controller_runtime_reconcile_total",
    "leader_election_master_status",
    "process_start_time_seconds",
    "workqueue_depth",
    "workqueue_longest_running_processor_seconds",
    "workqueue_unfinished_work_seconds",
  ]);
});

test("names and help are as Prometheus wants them", () => {
  const all = { ...counters, ...gauges, ...histograms };
  for (const [name, facts] of Object.entries(all)) {
    const help = typeof facts === "string" ? facts : facts.help;
    expect(name).toMatch(/^[a-z][a-z0-9_]*$/);
    expect(help, name).toMatch(/^[A-Z0-9][^\\\n]*\.$/);
  }
  for (const name of Object.keys(counters)) expect(name).toMatch(/_total$/);
});

test("the process tells of itself", () => {
  const found = Object.fromEntries(processGauges().map(({ name, value }) => [name, value]));
  expect(found.process_resident_memory_bytes).toBeGreaterThan(10_000_000);
  expect(found.process_cpu_seconds_total).toBeGreaterThan(0);
  expect(found.process_start_time_seconds).toBeLessThanOrEqual(Date.now() / 1_000);
});
