import {
  type CounterName,
  counters,
  type Gauge,
  gauges,
  type HistogramName,
  histograms,
  type Labels,
  type Meters,
} from "../../ports/meters.ts";

/** Meters that keep everything in memory and write it as Prometheus text. */
export interface Registry extends Meters {
  /** The text exposition format, version 0.0.4, with these gauges in it. */
  text(now: readonly Gauge[]): string;
}

interface Series {
  readonly labels: Labels;
  /** Of a counter its value; of a histogram the sum of what was observed. */
  sum: number;
  /** Of a histogram: how many fell into each bucket, and at last those beyond all. */
  readonly counts: number[];
}

/**
 * Written here and not taken from a library: two kinds of series and a text format of five rules,
 * against 20 MiB of memory (adr/0009).
 */
export function createRegistry(): Registry {
  const byName = new Map<string, Map<string, Series>>();

  function series(name: string, labels: Labels, buckets: number): Series {
    const all = byName.get(name) ?? new Map<string, Series>();
    byName.set(name, all);
    const key = labelText(labels);
    const found = all.get(key) ?? { labels, sum: 0, counts: new Array<number>(buckets).fill(0) };
    all.set(key, found);
    return found;
  }

  return {
    add(name, labels, amount = 1) {
      series(name, labels, 0).sum += amount;
    },
    observe(name, labels, ms) {
      const { buckets } = histograms[name];
      const seconds = ms / 1_000;
      const found = series(name, labels, buckets.length + 1);
      found.sum += seconds;
      const at = buckets.findIndex((bound) => seconds <= bound);
      const bucket = at < 0 ? buckets.length : at;
      found.counts[bucket] = (found.counts[bucket] ?? 0) + 1;
    },
    drop(labels) {
      const wanted = Object.entries(labels);
      for (const all of byName.values()) {
        for (const [key, each] of all) {
          if (wanted.every(([name, value]) => each.labels[name] === value)) all.delete(key);
        }
      }
    },
    text(now) {
      const lines = [
        ...entries(counters).flatMap((name) => counterLines(name, byName.get(name))),
        ...entries(histograms).flatMap((name) => histogramLines(name, byName.get(name))),
        ...entries(gauges).flatMap((name) =>
          gaugeLines(
            name,
            now.filter((gauge) => gauge.name === name),
          ),
        ),
      ];
      return `${lines.join("\n")}\n`;
    },
  };
}

function entries<T extends object>(table: T): (keyof T & string)[] {
  return Object.keys(table) as (keyof T & string)[];
}

type Kept = ReadonlyMap<string, Series> | undefined;

function counterLines(name: CounterName, all: Kept): string[] {
  const values = [...(all ?? [])].map(([labels, { sum }]) => sample(name, labels, sum));
  return values.length === 0 ? [] : [...head(name, "counter", counters[name]), ...values];
}

function histogramLines(name: HistogramName, all: Kept): string[] {
  const { help, buckets } = histograms[name];
  const values = [...(all ?? [])].flatMap(([labels, { sum, counts }]) => {
    const comma = labels === "" ? "" : ",";
    let count = 0;
    const lines = counts.map((each, at) => {
      count += each;
      const bound = buckets[at];
      const text = bound === undefined ? "+Inf" : String(bound);
      return sample(`${name}_bucket`, `${labels}${comma}le="${text}"`, count);
    });
    return [...lines, sample(`${name}_sum`, labels, sum), sample(`${name}_count`, labels, count)];
  });
  return values.length === 0 ? [] : [...head(name, "histogram", help), ...values];
}

function gaugeLines(name: keyof typeof gauges, now: readonly Gauge[]): string[] {
  // Processor time only grows, and its name says so.
  const type = name.endsWith("_total") ? "counter" : "gauge";
  const values = now.map(({ labels, value }) => sample(name, labelText(labels), value));
  return values.length === 0 ? [] : [...head(name, type, gauges[name]), ...values];
}

function head(name: string, type: string, help: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

function sample(name: string, labels: string, value: number): string {
  return `${name}${labels === "" ? "" : `{${labels}}`} ${value}`;
}

function labelText(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(",");
}

function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}

/** Memory, processor time and age of this process, as every Prometheus client tells them. */
export function processGauges(): Gauge[] {
  const { user, system } = process.cpuUsage();
  const value = {
    process_resident_memory_bytes: process.memoryUsage.rss(),
    process_cpu_seconds_total: (user + system) / 1_000_000,
    process_start_time_seconds: Date.now() / 1_000 - process.uptime(),
  };
  return entries(value).map((name) => ({ name, labels: {}, value: value[name] }));
}
