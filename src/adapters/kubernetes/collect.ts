import { controllersOf, sourceControllersOf } from "../../evidence/controllers.ts";
import { MANIFEST_KIND } from "../../evidence/manifest.ts";
import type { EvidenceObject, Gap } from "../../evidence/model.ts";
import { nodeView, type PodView, podView } from "../../evidence/pods.ts";
import { isRunner } from "../../evidence/runners.ts";
import { terraformView } from "../../evidence/terraforms.ts";
import type { Call } from "../../ports/call.ts";
import type { EvidenceSink } from "../../ports/evidence.ts";
import { ApiError } from "./api-error.ts";
import type { Connection } from "./connection.ts";
import { type Served, servedGroups } from "./list.ts";
import { type KindRead, readKind, readKindIn } from "./objects.ts";
import { type Resource, resources } from "./resources.ts";
import { inTurns, type Taken, TextReader } from "./texts.ts";

/** What was taken, for a person. */
export interface Collected {
  readonly takenAtMs: number;
  readonly files: readonly Taken[];
  readonly lacks: readonly Gap[];
  /** Requests that it took. */
  readonly calls: number;
}

/** Lists under way at once. */
const LISTS_AT_ONCE = 6;
/** Namespaces that are tried one by one where the whole cluster may not be listed. */
const NAMESPACES_MAX = 8;
/** Runners whose logs are read: those that have something to say. */
const SUSPICIOUS_MAX = 40;

/**
 * Reads what a doctor needs of a cluster and hands it on, redacted: fewer than 50 calls plus one
 * for each suspicious runner. What cannot be read is noted and the rest goes on; only a server
 * that cannot be reached at all is an ApiError.
 */
export async function collectEvidence(
  connection: Connection,
  options: { readonly namespace: string; now(): number },
  sink: EvidenceSink,
  call: Call,
): Promise<Collected> {
  const served = await servedGroups(connection, call);
  const reads = await readObjects(connection, served, options.namespace, call);
  const files: Taken[] = [];
  for (const read of reads) files.push(...(await putObjects(read, sink)));
  // The server's clock wrote the times in the objects; ours may be wrong.
  const nowMs = options.now();
  const takenAtMs = reads.find((each) => each.dateMs !== undefined)?.dateMs ?? nowMs;
  const texts = new TextReader(connection, sink, () => takenAtMs + options.now() - nowMs);
  await readTexts(texts, reads, call);
  files.push(...texts.taken);
  const lacks = [...reads.flatMap((each) => each.gaps), ...texts.gaps];
  await putManifest(sink, { takenAtMs, files, lacks, reads });
  return { takenAtMs, files, lacks, calls: connection.calls };
}

async function readObjects(
  connection: Connection,
  served: Served,
  namespace: string,
  call: Call,
): Promise<KindRead[]> {
  const reads = await inTurns(LISTS_AT_ONCE, resources, (resource) =>
    readKind(connection, resource, served, call),
  );
  if (reads.every((each) => !each.listed)) throw nothingRead(reads);
  const forbidden = reads.filter((each) => isForbidden(each) && each.resource.byNamespace);
  if (forbidden.length === 0) return reads;
  // Terraform objects first: they say which namespaces matter.
  const known = new Map<Resource, KindRead>();
  const [terraform] = forbidden.filter((each) => each.resource.kind === "Terraform");
  const named = namespacesIn(reads, namespace);
  if (terraform !== undefined) {
    const where = { served, namespaces: named };
    const read = await readKindIn(connection, terraform.resource, where, call);
    known.set(terraform.resource, read);
  }
  const namespaces = namespacesIn([...reads, ...known.values()], namespace);
  const others = forbidden.filter((each) => each !== terraform);
  const more = await inTurns(2, others, ({ resource }) =>
    readKindIn(connection, resource, { served, namespaces }, call),
  );
  for (const each of more) known.set(each.resource, each);
  return reads.map((each) => known.get(each.resource) ?? each);
}

const isForbidden = (read: KindRead) =>
  read.gaps.some((gap) => gap.why === "not-permitted" && gap.namespace === undefined);

/** Namespaces worth a try: those of Terraform objects, then the context's own, then Flux's. */
function namespacesIn(reads: readonly KindRead[], own: string): string[] {
  const items = (kind: string) => reads.find((each) => each.resource.kind === kind)?.items ?? [];
  const ofTerraforms = items("Terraform").map((each) => each.metadata.namespace ?? "");
  const ofPods = controllersOf(items("Pod").map(podView)).map(({ pod }) => pod.namespace);
  const all = items("Namespace").map((each) => each.metadata.name);
  const usual = ["flux-system", "kube-system"].filter(
    (name) => all.length === 0 || all.includes(name),
  );
  const found = [...ofTerraforms, ...ofPods, own, ...usual].filter((each) => each !== "");
  return [...new Set(found)].slice(0, NAMESPACES_MAX);
}

function nothingRead(reads: readonly KindRead[]): ApiError {
  const [gap] = reads.flatMap((each) => each.gaps);
  return new ApiError(gap?.why ?? "absent", `Nothing could be read: ${gap?.detail ?? ""}`);
}

/** One file of a kind, if it was listed. */
async function putObjects(read: KindRead, sink: EvidenceSink): Promise<Taken[]> {
  if (!read.listed) return [];
  const { kind, plural, metadataOnly } = read.resource;
  const path = `objects/${metadataOnly ? `${plural}-metadata` : plural}.json`;
  const origin = read.origins.join(", ");
  async function* bytes(): AsyncGenerator<Buffer> {
    yield Buffer.from(`{"apiVersion":"v1","kind":"${kind}List","items":[`);
    for (const [index, item] of read.items.entries()) {
      const { place, ...object } = item;
      yield Buffer.from(`${index === 0 ? "\n" : ",\n"}${JSON.stringify(object)}`);
    }
    yield Buffer.from("\n]}\n");
  }
  await sink.put({ path, origin, holds: "objects", bytes: bytes() });
  return [{ path, origin, atMs: read.dateMs, count: read.items.length }];
}

/** Logs and metrics of controllers, logs of the control plane and of suspicious runners. */
async function readTexts(texts: TextReader, reads: readonly KindRead[], call: Call): Promise<void> {
  const items = (kind: string) => reads.find((each) => each.resource.kind === kind)?.items ?? [];
  const nodes = items("Node").map(nodeView);
  const away = new Set(nodes.filter((node) => !node.ready).map((node) => node.name));
  const pods = items("Pod").map(podView);
  const controllers = controllersOf(pods);
  const sources = sourceControllersOf(pods);
  const tasks = [
    ...controllers.flatMap(({ pod, container }) => [
      () => texts.log(pod, container.name, { away }, call),
      () => texts.metrics(pod, container, { away }, call),
      () => texts.goroutines(pod, container, { away }, call),
      ...previous(pod).map((each) => () => texts.log(pod, each, { away, previous: true }, call)),
    ]),
    ...sources.flatMap((pod) => [
      ...pod.containers.map((each) => () => texts.log(pod, each.name, { away }, call)),
      ...previous(pod).map((each) => () => texts.log(pod, each, { away, previous: true }, call)),
    ]),
    ...controlPlanePods(pods).map(
      (pod) => () => texts.log(pod, pod.containers[0]?.name ?? "", { away, recent: true }, call),
    ),
    () => texts.apiServerMetrics(call),
    ...suspicious(pods, items("Terraform")).map(
      (pod) => () => texts.log(pod, runnerOf(pod), { away, recent: true }, call),
    ),
  ];
  await inTurns(LISTS_AT_ONCE, tasks, (task) => task());
}

/** Containers of a pod that had a life before this one. */
function previous(pod: PodView): string[] {
  return pod.containers.filter((each) => each.restartCount > 0).map((each) => each.name);
}

/** At most three of each: they say the same. */
function controlPlanePods(pods: readonly PodView[]): PodView[] {
  return ["etcd", "kube-apiserver"].flatMap((program) =>
    pods
      .filter((pod) => pod.namespace === "kube-system" && pod.labels.component === program)
      .slice(0, 3),
  );
}

/** Runners that failed, that start again and again or not at all, or whose object is not well. */
function suspicious(pods: readonly PodView[], terraforms: readonly EvidenceObject[]): PodView[] {
  const views = terraforms.map(terraformView);
  const well = new Set(
    views.filter((each) => each.ready?.status === "True").map((each) => each.key),
  );
  const weight = (pod: PodView) => {
    if (pod.containers.some((each) => each.restartCount > 0)) return 0;
    return pod.phase === "Running" ? 2 : 1;
  };
  return pods
    .filter((pod) => isRunner(pod))
    .filter((pod) => {
      const object = `${pod.namespace}/${pod.owner?.name ?? pod.name.replace(/-tf-runner$/, "")}`;
      return weight(pod) < 2 || !well.has(object);
    })
    .toSorted((one, two) => weight(one) - weight(two) || (one.key < two.key ? -1 : 1))
    .slice(0, SUSPICIOUS_MAX);
}

const runnerOf = (pod: PodView) =>
  (pod.containers.find((each) => each.name === "tf-runner") ?? pod.containers[0])?.name ?? "";

interface Findings {
  readonly takenAtMs: number;
  readonly files: readonly Taken[];
  readonly lacks: readonly Gap[];
  readonly reads: readonly KindRead[];
}

async function putManifest(sink: EvidenceSink, found: Findings): Promise<void> {
  const manifest = {
    kind: MANIFEST_KIND,
    version: 1,
    takenAt: new Date(found.takenAtMs).toISOString(),
    kinds: found.reads.filter((each) => each.listed).map((each) => each.resource.kind),
    dropsRecorded: false,
    has: found.files.map(({ path, origin, atMs, count }) => ({
      ...{ path, origin, count },
      readAt: new Date(atMs ?? found.takenAtMs).toISOString(),
    })),
    lacks: found.lacks,
  };
  const bytes = (async function* () {
    yield Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
  })();
  await sink.put({ path: "manifest.json", origin: "collect", holds: "manifest", bytes });
}
