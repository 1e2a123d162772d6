import { RUN_LABEL } from "../../api/cluster-names.ts";
import { keyText, type ObjectKey } from "../../api/kinds.ts";
import type { Stage } from "../../api/terraform.ts";
import type { Call } from "../../ports/call.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ClusterAdmin, ClusterObject } from "../../ports/cluster.ts";
import { type ObjectStore, StoreError } from "../../ports/object-store.ts";
import type { LogLine, LogOptions, RunLogs } from "../../ports/runs.ts";
import { readPodLine } from "../../protocol/pod-output.ts";
import { ApiError } from "./api-error.ts";
import type { Connection, Request } from "./connection.ts";
import { storeError } from "./store-error.ts";
import { lines } from "./watch.ts";

export interface PodLogPorts {
  readonly connection: Connection;
  readonly admin: ClusterAdmin;
  readonly store: ObjectStore;
  readonly clock: Pick<Clock, "sleep">;
}

/** A kubelet that does not answer keeps a request waiting for longer. */
const READ_MS = 8_000;
/** A log is followed for so long with one request. */
const FOLLOW_MS = 3_600_000;
const LOOK_AGAIN_MS = 2_000;
const CONTAINER = "tf-runner";

/**
 * Logs of an object's runs as its runners' pods print them, as long as those are there; of a run
 * that was collected the status has kept the last word. Nothing is written here.
 */
export class PodLogs implements RunLogs {
  readonly #ports: PodLogPorts;

  constructor(ports: PodLogPorts) {
    this.#ports = ports;
  }

  async append(): Promise<void> {
    throw new StoreError("Invalid", "Lines of a log are written by runners alone");
  }

  async read(key: ObjectKey, options: LogOptions, call: Call): Promise<LogLine[]> {
    const pods = (await this.#pods(key, call)).filter(({ runId }) => isAsked(runId, options));
    const found = await this.#lastWord(key, pods, options, call);
    for (const pod of pods) {
      for await (const line of this.#linesOf(pod, { follow: false, skip: 0 }, call)) {
        found.push(line);
      }
    }
    const { tail } = options;
    return tail === undefined ? found : found.slice(-tail);
  }

  async *follow(key: ObjectKey, options: LogOptions, call: Call): AsyncIterable<LogLine> {
    const told = new Map<string, number>();
    for (const line of await this.#lastWord(key, await this.#pods(key, call), options, call)) {
      yield line;
    }
    while (!call.signal.aborted) {
      const pods = (await this.#pods(key, call)).filter(({ runId }) => isAsked(runId, options));
      for (const pod of pods) {
        let skip = told.get(pod.uid) ?? 0;
        for await (const line of this.#linesOf(pod, { follow: true, skip }, call)) {
          told.set(pod.uid, ++skip);
          yield line;
        }
      }
      await this.#ports.clock.sleep(LOOK_AGAIN_MS, call.signal);
    }
  }

  /** Runners of the object, the oldest first. */
  async #pods({ namespace, name }: ObjectKey, call: Call): Promise<RunnerPod[]> {
    const labels = `infra.contrib.fluxcd.io/terraform=${namespace}`;
    const pods = await this.#ports.admin.list("Pod", { namespace, labels }, call);
    return pods
      .filter((pod) => isOwnedBy(pod, name))
      .map((pod) => ({
        namespace,
        name: pod.metadata.name,
        uid: pod.metadata.uid ?? "",
        runId: pod.metadata.labels?.[RUN_LABEL] ?? "",
        createdAt: pod.metadata.creationTimestamp ?? "",
      }))
      .sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
  }

  /** What the status has kept of the last run, where its pod is gone. */
  async #lastWord(
    key: ObjectKey,
    pods: readonly RunnerPod[],
    options: LogOptions,
    call: Call,
  ): Promise<LogLine[]> {
    const object = await this.#ports.store.get({ kind: "Terraform", ...key }, call);
    const last = object?.status?.lastRun;
    if (last === undefined || !isAsked(last.id, options)) return [];
    if (pods.some(({ runId }) => runId === last.id)) return [];
    const { id: runId, finishedAt: at, stage, operation, outcome, message } = last;
    const says = `nigari: ${operation} ${outcome}; its pod is gone, and this is what is kept`;
    return [says, ...message.trim().split("\n")].map((text) => ({ at, runId, stage, text }));
  }

  /** A pod that is gone by now, or has not begun, has no lines. */
  async *#linesOf(
    pod: RunnerPod,
    { follow, skip }: { readonly follow: boolean; readonly skip: number },
    call: Call,
  ): AsyncIterable<LogLine> {
    const query = new URLSearchParams({ container: CONTAINER, timestamps: "true" });
    if (follow) query.set("follow", "true");
    const path = `/api/v1/namespaces/${pod.namespace}/pods/${pod.name}/log?${query}`;
    const limitMs = follow ? FOLLOW_MS : READ_MS;
    // A log is text; asking for anything else is refused.
    const request: Request = { path, limitMs, accept: "text/plain, */*" };
    let stage: Stage = "launch";
    let count = 0;
    try {
      for await (const line of lines(this.#ports.connection.pieces(request, call))) {
        const { at, text } = stamped(line);
        const told = readPodLine(text);
        if (told.is === "journal" && told.event?.type === "stage") stage = told.event.stage;
        if (told.is === "journal") continue;
        count += 1;
        const said = told.is === "log" ? told.text : text;
        if (count > skip) yield { at, runId: pod.runId || pod.name, stage, text: said };
      }
    } catch (error) {
      if (call.signal.aborted && follow) return;
      if (hasNoLog(error)) return;
      throw storeError(`Log of pod ${keyText(pod)}`, error, call);
    }
  }
}

interface RunnerPod extends ObjectKey {
  readonly uid: string;
  /** Empty for one of tofu-controller's. */
  readonly runId: string;
  readonly createdAt: string;
}

function isAsked(runId: string, options: LogOptions): boolean {
  return options.runId === undefined || options.runId === runId;
}

function isOwnedBy({ metadata }: ClusterObject, name: string): boolean {
  return (metadata.ownerReferences ?? []).some(
    (owner) => owner.kind === "Terraform" && owner.name === name,
  );
}

function stamped(line: string): { at: string; text: string } {
  const space = line.indexOf(" ");
  const at = line.slice(0, space);
  return Number.isNaN(Date.parse(at))
    ? { at: "", text: line }
    : { at, text: line.slice(space + 1) };
}

/** Of a container that has not begun, or whose pod is gone. */
function hasNoLog(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 404 || error.status === 400);
}
