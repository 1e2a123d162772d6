import { RUN_LABEL } from "../../../api/cluster-names.ts";
import type { Call } from "../../../ports/call.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Log } from "../../../ports/log.ts";
import { messageOf } from "../api-error.ts";
import type { PodApi } from "./api.ts";
import type { Certificates } from "./certificate.ts";
import { CERTIFICATE_GATE, CONTAINER } from "./names.ts";
import type { Pod } from "./pod.ts";
import type { Sight } from "./sight.ts";
import { keptOf, traceOfPod } from "./traces.ts";

export interface GatePorts {
  readonly api: PodApi;
  readonly certificates: Certificates;
  readonly sight: Sight;
  readonly clock: Clock;
  readonly log: Log;
}

/** How often it is looked which certificates are due, and which pods still wait for theirs. */
const LOOK_MS = 10_000;
const OPEN_MS = 10_000;

/**
 * Gives each pod the certificate that is bound to its uid, and then lets it be placed. What a
 * controller that died has begun is ended; a certificate that is near its end, or was made before
 * the authorities changed, is made anew in its place, from where its kubelet hands it on.
 */
export class Gates {
  readonly #ports: GatePorts;
  readonly #opening = new Map<string, Promise<void>>();
  #isUp = false;

  constructor(ports: GatePorts) {
    this.#ports = ports;
  }

  /** Looks now and then until the signal fires. Never fails. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, sight } = this.#ports;
    this.#isUp = true;
    while (!signal.aborted) {
      for (const pod of sight.pods()) {
        this.opens(pod);
        await this.#renew(pod, signal).catch((error: unknown) => this.#tell(pod, error));
      }
      await clock.sleep(LOOK_MS, signal);
    }
  }

  /** A pod that was seen: one that waits is served. */
  opens(pod: Pod): void {
    if (!this.#isUp || !isGated(pod)) return;
    const signal = this.#ports.clock.deadline("Making a pod's certificate", OPEN_MS);
    this.open(pod, { signal }).catch((error: unknown) => this.#tell(pod, error));
  }

  /** Safe to do again. Fails with RunnerError, and with the errors of the authority. */
  async open(pod: Pod, call: Call): Promise<void> {
    if (!isGated(pod)) return;
    const { uid } = pod.metadata;
    let opening = this.#opening.get(uid);
    if (opening === undefined) {
      opening = this.#open(pod, call).finally(() => this.#opening.delete(uid));
      this.#opening.set(uid, opening);
    }
    await opening;
  }

  async #open(pod: Pod, call: Call): Promise<void> {
    await this.#put(pod, call);
    const others = pod.spec.schedulingGates?.filter(({ name }) => name !== CERTIFICATE_GATE) ?? [];
    const gates = others.length === 0 ? undefined : others;
    this.#ports.sight.put(await this.#ports.api.openGates(pod, gates, call));
  }

  async #renew(pod: Pod, parent: AbortSignal): Promise<void> {
    const { certificates, sight, clock } = this.#ports;
    const trace = sight.trace(pod.metadata.labels?.[RUN_LABEL] ?? "");
    if (trace === undefined || isGated(pod) || sight.end(trace) !== undefined) return;
    const signal = clock.deadline("Renewing a pod's certificate", OPEN_MS, parent);
    if (await certificates.isDue(trace.secret, { signal })) await this.#put(pod, { signal });
  }

  async #put(pod: Pod, call: Call): Promise<void> {
    const { api, certificates, sight } = this.#ports;
    const seen = traceOfPod(pod);
    if (seen === undefined) return;
    const trace = sight.trace(seen.runId) ?? seen;
    const { runId, namespace, podUid } = trace;
    const issued = await certificates.issue(runId, podUid, call);
    const annotations = { ...keptOf(trace), ...issued.annotations };
    const at = { namespace, name: trace.pod };
    const manifest = {
      ...{ apiVersion: "v1", kind: "Secret", type: "kubernetes.io/tls", data: issued.data },
      metadata: {
        ...at,
        labels: { [RUN_LABEL]: runId, "app.kubernetes.io/name": CONTAINER },
        annotations,
        ownerReferences: ownersOf(pod),
      },
    };
    await api.putSecret(manifest, at, call);
    sight.written(runId, annotations);
  }

  #tell(pod: Pod, error: unknown): void {
    const message = messageOf(error);
    const name = `${pod.metadata.namespace}/${pod.metadata.name}`;
    this.#ports.log.warn("A pod has no certificate yet", { pod: name, error: message });
  }
}

function isGated({ metadata, spec }: Pod): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  return spec.schedulingGates?.some(({ name }) => name === CERTIFICATE_GATE) ?? false;
}

/** The pod and what owns it: the Secret stays as long as either is there, and goes with both. */
function ownersOf({ metadata }: Pod) {
  const { name, uid, ownerReferences = [] } = metadata;
  return [
    { apiVersion: "v1", kind: "Pod", name, uid },
    ...ownerReferences.map(({ controller: _, ...owner }) => owner),
  ];
}
