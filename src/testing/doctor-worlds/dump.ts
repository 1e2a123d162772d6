import { evidenceKinds } from "../../evidence/kinds.ts";
import { MANIFEST_KIND } from "../../evidence/manifest.ts";
import type { Evidence, GoroutineDump, MetricSet, PacketDrop } from "../../evidence/model.ts";
import type { Scene, SceneText } from "../../evidence/scene.ts";
import type { FakeCluster } from "../fakes/api-server.ts";

/** Evidence in the form in which a cluster gives it: objects, and text as programs wrote it. */
export interface Dump {
  readonly objects: readonly Readonly<Record<string, unknown>>[];
  /** Kinds that were listed. */
  readonly kinds: readonly string[];
  readonly logs: readonly SceneText[];
  readonly metrics: readonly DumpText[];
  readonly goroutines: readonly DumpText[];
  /** Hubble's flows; undefined if nobody recorded. */
  readonly drops: string | undefined;
  readonly atMs: number;
}
export interface DumpText {
  readonly namespace: string;
  readonly pod: string;
  readonly text: string;
}

/** A scene as a dump. */
export function dumpOf(scene: Scene): Dump {
  const evidence = scene.evidence();
  return {
    objects: evidence.objects.map(({ place: _, ...object }) => object),
    kinds: evidence.kinds,
    logs: scene.texts,
    metrics: evidence.metrics.map((set) => ({ ...podOf(set), text: metricsText(set) })),
    goroutines: evidence.goroutines.map((each) => ({ ...podOf(each), text: stacksText(each) })),
    drops: dropsText(evidence),
    atMs: scene.asOfMs,
  };
}

const podOf = ({ namespace = "ops", pod }: MetricSet | GoroutineDump) => ({ namespace, pod });

function metricsText({ samples }: MetricSet): string {
  const lines = samples.map(({ name, labels, value }) => {
    const own = Object.entries(labels).map(([key, text]) => `${key}="${text}"`);
    return `# TYPE ${name} gauge\n${name}{${own.join(",")}} ${value}`;
  });
  return `${lines.join("\n")}\n`;
}

function stacksText({ stacks }: GoroutineDump): string {
  const all = stacks.flatMap(({ count, waitMinutes, frames }) => {
    const wait = waitMinutes === undefined ? "" : `, ${waitMinutes} minutes`;
    const body = frames.map((frame) => `${frame}(0xc000)\n\t/src/x.go:1 +0x1`).join("\n");
    return Array.from({ length: count }, () => `goroutine 1 [select${wait}]:\n${body}\n`);
  });
  return all.join("\n");
}

function dropsText({ drops, dropsRecorded }: Evidence): string | undefined {
  if (!dropsRecorded) return undefined;
  return drops.map((drop) => `${JSON.stringify({ flow: flowOf(drop) })}\n`).join("");
}

function flowOf(drop: PacketDrop) {
  const end = ({ identity, namespace, pod, labels }: PacketDrop["source"]) => ({
    ...{ identity, namespace, pod_name: pod },
    ...(labels === undefined
      ? {}
      : { labels: Object.entries(labels).map(([key, value]) => `k8s:${key}=${value}`) }),
  });
  return {
    ...{ time: drop.atMs === undefined ? undefined : new Date(drop.atMs).toISOString() },
    ...{ verdict: "DROPPED", drop_reason_desc: drop.reason.toUpperCase().replaceAll(" ", "_") },
    IP: { source: drop.source.ip, destination: drop.destination.ip },
    ...{ source: end(drop.source), destination: end(drop.destination) },
    ...(drop.direction === undefined ? {} : { traffic_direction: drop.direction.toUpperCase() }),
    l4: { [(drop.protocol ?? "tcp").toUpperCase()]: { destination_port: drop.port } },
  };
}

/** The files of a dump, as an archive of our own holds them. */
export function filesOf(dump: Dump): { readonly path: string; readonly text: string }[] {
  const objects = dump.kinds.map((kind) => {
    const items = dump.objects.filter((each) => each.kind === kind);
    const rows = items.map((each) => JSON.stringify(each)).join(",\n");
    const text = `{"apiVersion":"v1","kind":"${kind}List","items":[\n${rows}\n]}\n`;
    return { path: `objects/${evidenceKinds[kind] ?? kind.toLowerCase()}.json`, text };
  });
  const logs = dump.logs.map(({ namespace, name, container, previous, lines }) => {
    const own = container === undefined ? "" : `_${container}`;
    const path = `logs/${namespace}_${name}${own}${previous ? ".previous" : ""}.log`;
    return { path, text: lines.map((line) => `${line}\n`).join("") };
  });
  const texts = (end: string) => (each: DumpText) => ({
    path: `metrics/${each.namespace}_${each.pod}${end}.txt`,
    text: each.text,
  });
  return [
    ...objects,
    ...logs,
    ...dump.metrics.map(texts("")),
    ...dump.goroutines.map(texts(".goroutines")),
    ...(dump.drops === undefined ? [] : [{ path: "cilium/flows.json", text: dump.drops }]),
    { path: "manifest.json", text: `${JSON.stringify(manifestOf(dump), null, 2)}\n` },
  ];
}

const manifestOf = (dump: Dump) => ({
  ...{ kind: MANIFEST_KIND, version: 1, takenAt: new Date(dump.atMs).toISOString() },
  ...{ kinds: dump.kinds, dropsRecorded: dump.drops !== undefined, lacks: [] },
});

/** The same as a cluster that can be asked. */
export function clusterOf(dump: Dump): FakeCluster {
  const within = (path: string) => (each: DumpText) => ({
    ...{ namespace: each.namespace, pod: each.pod, path, text: each.text },
  });
  return {
    objects: dump.objects,
    logs: dump.logs.map(({ name, ...log }) => ({ ...log, pod: name })),
    inPods: [
      ...dump.metrics.map(within("/metrics")),
      ...dump.goroutines.map(within("/debug/pprof/goroutine")),
    ],
    nowMs: dump.atMs,
  };
}
