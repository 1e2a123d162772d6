import type { Dump } from "./dump.ts";
import { AS_OF_MS, CONTROLLER, SYSTEM } from "./world.ts";

/** Ways in which saved evidence is thinner, older or otherwise named than one would wish. */
export const thinnings = [
  "whole",
  "no-goroutines",
  "no-metrics",
  "no-events",
  "log-10min",
  "failed-pods-gone",
  "renamed",
  "image-by-digest",
  "console-log",
  "objects-and-metrics",
] as const;
export type Thinning = (typeof thinnings)[number];

type Item = Readonly<Record<string, unknown>>;

const acts: Readonly<Record<Thinning, (dump: Dump) => Dump>> = {
  whole: (dump) => dump,
  "no-goroutines": (dump) => ({ ...dump, goroutines: [] }),
  "no-metrics": (dump) => ({ ...dump, metrics: [] }),
  "no-events": (dump) => ({
    ...dump,
    kinds: dump.kinds.filter((kind) => kind !== "Event"),
    objects: dump.objects.filter((each) => each.kind !== "Event"),
  }),
  "log-10min": (dump) => ({ ...dump, logs: dump.logs.map(lastMinutes) }),
  "failed-pods-gone": (dump) => ({
    ...dump,
    objects: dump.objects.filter((each) => !isFailedPod(each)),
  }),
  renamed: (dump) => renamed(dump),
  "image-by-digest": (dump) => ({ ...dump, objects: dump.objects.map(byDigest) }),
  "console-log": (dump) => ({ ...dump, logs: dump.logs.map(inConsoleForm) }),
  "objects-and-metrics": (dump) => ({ ...dump, logs: [], goroutines: [], drops: undefined }),
};

export function thinned(dump: Dump, thinning: Thinning): Dump {
  return acts[thinning](dump);
}

/** A name of before as it is called after `renamed`. */
export function nameUnder(thinning: Thinning, object: string): string {
  return thinning === "renamed" ? newNames(object) : object;
}

type Log = Dump["logs"][number];

function lastMinutes(log: Log): Log {
  if (log.name !== CONTROLLER || log.previous) return log;
  const from = AS_OF_MS - 10 * 60_000;
  const lines = log.lines.filter((line) => timeOf(line) >= from);
  return { ...log, lines };
}

const timeOf = (line: string) => Date.parse(/"ts":"([^"]+)"/.exec(line)?.[1] ?? "");

function isFailedPod(each: Item): boolean {
  const { phase } = (each.status ?? {}) as { phase?: string };
  return each.kind === "Pod" && phase === "Failed";
}

/** Namespaces and the release get other names, wherever they stand. */
const newNames = (text: string) =>
  text
    .replaceAll(SYSTEM, "gitops")
    .replaceAll("tofu-controller-", "infra-reconciler-")
    .replace(/\b(apps|data|edge|payments|platform)\//g, "team-$1/")
    .replace(/"namespace":"(apps|data|edge|payments|platform)"/g, '"namespace":"team-$1"');

const newNamespace = (namespace: string) => newNames(`${namespace}/`).slice(0, -1);

function renamed(dump: Dump): Dump {
  const objects = JSON.parse(newNames(JSON.stringify(dump.objects))) as Dump["objects"];
  const text = (each: Dump["metrics"][number]) => ({
    ...each,
    namespace: newNamespace(each.namespace),
    pod: newNames(each.pod),
  });
  return {
    ...dump,
    objects,
    logs: dump.logs.map((log) => ({
      ...log,
      namespace: newNamespace(log.namespace),
      name: newNames(log.name),
      lines: log.lines.map(newNames),
    })),
    metrics: dump.metrics.map(text),
    goroutines: dump.goroutines.map(text),
    drops: dump.drops === undefined ? undefined : newNames(dump.drops),
  };
}

/** An image that says no version, as a digest does. */
function byDigest(each: Item): Item {
  if (each.kind !== "Pod") return each;
  const digest = "a".repeat(64);
  return JSON.parse(
    JSON.stringify(each).replace(
      /"image":"([^":@]+(?:\/[^":@]+)*):[^"@]+"/g,
      `"image":"$1@sha256:${digest}"`,
    ),
  ) as Item;
}

/** zap's console encoding of the same lines. */
function inConsoleForm(log: Log): Log {
  return { ...log, lines: log.lines.map(consoleLine) };
}

function consoleLine(line: string): string {
  if (!line.startsWith("{")) return line;
  const { ts, level, msg, ...fields } = JSON.parse(line) as Record<string, string>;
  const rest = Object.keys(fields).length === 0 ? "" : `\t${JSON.stringify(fields)}`;
  return `${ts}\t${level?.toUpperCase()}\t${msg}${rest}`;
}
