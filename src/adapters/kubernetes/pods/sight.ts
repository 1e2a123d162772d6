import { RUN_LABEL } from "../../../api/cluster-names.ts";
import { timeText } from "../../../domain/time.ts";
import type { Call } from "../../../ports/call.ts";
import type { Clock, Random } from "../../../ports/clock.ts";
import type { Log } from "../../../ports/log.ts";
import { RunnerError } from "../../../ports/runner.ts";
import { RunNews } from "../../../protocol/run-news.ts";
import { ApiError, messageOf } from "../api-error.ts";
import type { Connection } from "../connection.ts";
import { WatchCache } from "../watch-cache.ts";
import type { PodApi } from "./api.ts";
import { type ProvenEnd, provenEnd } from "./evidence.ts";
import { GREETED, POD_UID } from "./names.ts";
import { type NodeView, nodeView, type Pod } from "./pod.ts";
import { bootIdAtSign, type KeptTrace, keptOf, traceOfPod, traceOfSecret } from "./traces.ts";

export interface SightPorts {
  readonly connection: Connection;
  readonly api: PodApi;
  readonly namespace: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** A sign of life is looked at so often, and a trace that could not be written is tried again. */
const SIGN_MS = 1_000;
const WRITE_MS = 5_000;
const AGAIN_MS = 500;

/** All runs that the cluster knows of, as they are seen: pods, nodes, and traces of both. */
export class Sight {
  readonly #ports: SightPorts;
  readonly #pods: WatchCache<Pod>;
  readonly #nodes: WatchCache<NodeView>;
  readonly #traces = new Map<string, KeptTrace>();
  readonly #ends = new Map<string, ProvenEnd & { readonly at: string }>();
  readonly #signs = new Map<string, { own: string | undefined; atMs: number }>();
  /** Uids of pods that are on their way out: what is still told of them is old. */
  readonly #leaving = new Set<string>();
  readonly #news = new RunNews();
  readonly #gated: (pod: Pod) => void;

  /** `gated` is told of each pod as it comes to be or changes. */
  constructor(ports: SightPorts, gated: (pod: Pod) => void) {
    this.#ports = ports;
    this.#gated = gated;
    const { namespace } = ports;
    const path = namespace === undefined ? "/api/v1/pods" : `/api/v1/namespaces/${namespace}/pods`;
    this.#pods = new WatchCache<Pod>(
      {
        path,
        query: { labelSelector: RUN_LABEL },
        keep: (raw) => raw as Pod,
        changed: (now, before) => this.#podChanged(now, before),
      },
      ports,
    );
    this.#nodes = new WatchCache<NodeView>(
      {
        path: "/api/v1/nodes",
        query: {},
        keep: nodeView,
        changed: (now, before) => this.#nodeChanged(now, before),
      },
      ports,
    );
  }

  /** Lists everything, again and again until it succeeds; then keeps it true. */
  async start(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#ports;
    while (!signal.aborted) {
      try {
        // Nodes first, so that no pod is looked at without its node.
        await this.#nodes.list({ signal });
        await this.#readTraces({ signal });
        await this.#pods.list({ signal });
        break;
      } catch (error) {
        if (signal.aborted) return;
        const missing = error instanceof ApiError && error.status === 403;
        const mend = missing ? "; see the ClusterRole of the controller" : "";
        log.warn(`Runners cannot be looked for yet${mend}`, { error: messageOf(error) });
        await clock.sleep(AGAIN_MS, signal);
      }
    }
    void this.#nodes.run(signal);
    void this.#pods.run(signal);
  }

  runs(): string[] {
    return [...this.#traces.keys()];
  }

  trace(runId: string): KeptTrace | undefined {
    return this.#traces.get(runId);
  }

  seen(trace: KeptTrace): { pod: Pod | undefined; node: NodeView | undefined } {
    const pod = this.#pods.get(`${trace.namespace}/${trace.pod}`);
    const own = pod?.metadata.uid === trace.podUid ? pod : undefined;
    return { pod: own, node: trace.node === undefined ? undefined : this.#nodes.get(trace.node) };
  }

  pods(): Pod[] {
    return this.#pods.values();
  }

  /** The run's end, if it is proven; what was proven once stays so. */
  end({ runId }: Pick<KeptTrace, "runId">): (ProvenEnd & { readonly at: string }) | undefined {
    const known = this.#ends.get(runId);
    const trace = this.#traces.get(runId);
    if (known !== undefined || trace === undefined) return known;
    const { pod, node } = this.seen(trace);
    const found = provenEnd(trace, pod, node);
    if (found === undefined) return undefined;
    const end = { ...found, at: found.at ?? timeText(this.#ports.clock.now()) };
    this.#ends.set(runId, end);
    return end;
  }

  /** What the answer to a write of our own has told. */
  put(pod: Pod): void {
    this.#pods.put(pod);
  }

  /** The Secret of a run was written with these annotations. */
  written(runId: string, secret: Readonly<Record<string, string>>): void {
    const trace = this.#traces.get(runId);
    if (trace === undefined) return;
    this.#traces.set(runId, { ...trace, secret: { ...trace.secret, ...secret } });
  }

  /** The runner has answered. That is noted before it can be given its order. */
  async greeted(runId: string, bootId: string, call: Call): Promise<void> {
    // Whoever was given up meanwhile gets no order any more.
    if (this.end({ runId }) !== undefined) {
      throw new RunnerError("Unavailable", `The pod of run ${runId} is on its way out`);
    }
    this.#signs.set(runId, { own: bootId, atMs: this.#ports.clock.monotonic() });
    const next = this.#placed(runId, bootId, true);
    if (next === undefined || next.secret[GREETED] === "true") return;
    await this.#write(next, call);
  }

  /** The runner lives: where it is is noted, for as long as that is certain. */
  sign(runId: string): void {
    const nowMs = this.#ports.clock.monotonic();
    const last = this.#signs.get(runId);
    if (last !== undefined && nowMs - last.atMs < SIGN_MS) return;
    this.#signs.set(runId, { own: last?.own, atMs: nowMs });
    const next = this.#placed(runId, last?.own, false);
    if (next === undefined || next.secret[POD_UID] === undefined) return;
    const isNew = Object.entries(keptOf(next)).some(([name, value]) => next.secret[name] !== value);
    if (!isNew) return;
    const { clock, log } = this.#ports;
    const signal = clock.deadline("Noting where a runner is", WRITE_MS);
    this.#write(next, { signal }).catch((error: unknown) =>
      log.debug("It cannot be noted where a runner is", { error: messageOf(error) }),
    );
  }

  /** From here on nothing that is still told of its pod is news. */
  leaving(trace: KeptTrace): void {
    if (this.seen(trace).pod !== undefined) this.#leaving.add(trace.podUid);
  }

  forget(runId: string): void {
    this.#traces.delete(runId);
    this.#ends.delete(runId);
    this.#signs.delete(runId);
  }

  changes(signal: AbortSignal): AsyncIterable<string> {
    return this.#news.listen(this.runs(), signal);
  }

  /** The trace with what is known of the runner's place while it gives a sign. */
  #placed(runId: string, own: string | undefined, greeted: boolean): KeptTrace | undefined {
    const trace = this.#traces.get(runId);
    if (trace === undefined) return undefined;
    const { pod, node } = this.seen(trace);
    const nowMs = this.#ports.clock.now();
    const found = pod === undefined ? undefined : bootIdAtSign({ own, nowMs }, pod, node);
    const next = {
      ...trace,
      bootId: found ?? trace.bootId,
      greeted: trace.greeted || greeted,
    };
    this.#traces.set(runId, next);
    return next;
  }

  async #write(trace: KeptTrace, call: Call): Promise<void> {
    const at = { namespace: trace.namespace, name: trace.pod };
    const annotations = keptOf(trace);
    await this.#ports.api.patchSecret(at, { metadata: { annotations } }, call);
    this.written(trace.runId, annotations);
  }

  async #readTraces(call: Call): Promise<void> {
    const { api, namespace } = this.#ports;
    for (const secret of await api.runSecrets(namespace, call)) {
      const trace = traceOfSecret(secret);
      if (trace !== undefined) this.#traces.set(trace.runId, trace);
    }
  }

  #podChanged(now: Pod | undefined, before: Pod | undefined): void {
    const pod = now ?? before;
    const found = pod === undefined ? undefined : traceOfPod(pod);
    if (pod === undefined || found === undefined) return;
    if (this.#leaving.has(found.podUid)) {
      if (now === undefined) this.#leaving.delete(found.podUid);
      return;
    }
    const known = this.#traces.get(found.runId);
    if (now === undefined && known === undefined) return;
    // A second pod of the same run is never made by us, and proves nothing about the first.
    if (known !== undefined && known.podUid !== found.podUid) return;
    const node = pod.spec.nodeName ?? known?.node;
    this.#traces.set(found.runId, { ...(known ?? found), node });
    this.end(found);
    if (now === undefined) this.#lost(found, pod);
    else this.#gated(now);
    this.#news.tell(found.runId);
  }

  /** Its object has gone while it was still needed: its last state may have been a proof. */
  #lost(found: KeptTrace, pod: Pod): void {
    if (this.#ends.has(found.runId)) return;
    const trace = this.#traces.get(found.runId) ?? found;
    const end = provenEnd(trace, pod, undefined);
    const { clock, log } = this.#ports;
    if (end !== undefined) {
      this.#ends.set(found.runId, { ...end, at: end.at ?? timeText(clock.now()) });
      return;
    }
    const fields = { run: found.runId, pod: `${found.namespace}/${found.pod}` };
    log.warn("A pod's object was removed while its runner may still run", fields);
  }

  #nodeChanged(now: NodeView | undefined, before: NodeView | undefined): void {
    if (JSON.stringify(now) === JSON.stringify(before)) return;
    const name = now?.name ?? before?.name;
    for (const trace of this.#traces.values()) {
      if (trace.node === name) this.#news.tell(trace.runId);
    }
  }
}
