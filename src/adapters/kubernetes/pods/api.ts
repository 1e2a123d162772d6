import { COLLECT_FINALIZER, RUN_LABEL } from "../../../api/cluster-names.ts";
import type { Call } from "../../../ports/call.ts";
import type { Clock } from "../../../ports/clock.ts";
import { RunnerError, type RunnerErrorCode } from "../../../ports/runner.ts";
import { ApiError, messageOf } from "../api-error.ts";
import type { Connection, Request } from "../connection.ts";
import { askPatiently } from "../patience.ts";
import type { Manifest } from "./manifest.ts";
import { CONTAINER } from "./names.ts";
import type { Pod } from "./pod.ts";

const REQUEST_MS = 10_000;
const LOG_MS = 20_000;
/** More than a kubelet keeps of one container in one file. */
const LOG_MAX_BYTES = 64 << 20;
const CHANGES_MAX = 5;
const MERGE = "application/merge-patch+json";
const METADATA_ONLY =
  "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;q=0.1";

/** Where one pod or Secret of a run is. */
export interface Place {
  readonly namespace: string;
  readonly name: string;
}

/** Metadata of a Secret; its data never leaves the API server. */
export interface SecretHead {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

/** What is asked of the API server for runs. Every request has a bound; errors are RunnerError. */
export class PodApi {
  readonly #connection: Connection;
  readonly #clock: Pick<Clock, "sleep">;

  constructor(connection: Connection, clock: Pick<Clock, "sleep">) {
    this.#connection = connection;
    this.#clock = clock;
  }

  /** The pod as it was made, or as it is if it was made before. */
  async createPod(manifest: Manifest, at: Place, call: Call): Promise<Pod> {
    const path = pods(at.namespace);
    const request = { method: "POST", path, body: JSON.stringify(manifest) } as const;
    try {
      return (await this.#ask(`Pod ${textOf(at)}`, request, call)) as Pod;
    } catch (error) {
      if (apiStatus(error) !== 409) throw refusal(error, at);
      return (await this.#ask(`Pod ${textOf(at)}`, { path: `${path}/${at.name}` }, call)) as Pod;
    }
  }

  /** Changes a Secret's data and annotations, or makes it. */
  async putSecret(manifest: Manifest, at: Place, call: Call): Promise<void> {
    const path = secrets(at.namespace);
    const body = JSON.stringify(manifest);
    try {
      await this.#ask(`Secret ${textOf(at)}`, { method: "POST", path, body }, call);
    } catch (error) {
      if (apiStatus(error) !== 409) throw error;
      await this.patchSecret(at, manifest, call);
    }
  }

  async patchSecret(at: Place, patch: object, call: Call): Promise<void> {
    const path = `${secrets(at.namespace)}/${at.name}`;
    const request = { ...merge(patch), path };
    await this.#ask(`Secret ${textOf(at)}`, request, call);
  }

  async deleteSecret(at: Place, call: Call): Promise<void> {
    const path = `${secrets(at.namespace)}/${at.name}`;
    await this.#unlessGone(`Secret ${textOf(at)}`, { method: "DELETE", path }, call);
  }

  /** Lets the scheduler have the pod. */
  async openGates(pod: Pod, gates: Pod["spec"]["schedulingGates"], call: Call): Promise<Pod> {
    const { namespace, name, uid } = pod.metadata;
    const at = { namespace, name };
    const patch = { metadata: { uid }, spec: { schedulingGates: gates ?? null } };
    const request = { ...merge(patch), path: `${pods(namespace)}/${name}` };
    return (await this.#ask(`Pod ${textOf(at)}`, request, call)) as Pod;
  }

  /** Ends the pod's containers as fast as its kubelet can; the object stays while it is held. */
  async deletePod(at: Place, uid: string, call: Call): Promise<void> {
    const body = JSON.stringify({
      ...{ apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds: 0 },
      preconditions: { uid },
    });
    const path = `${pods(at.namespace)}/${at.name}`;
    try {
      await this.#unlessGone(`Pod ${textOf(at)}`, { method: "DELETE", path, body }, call);
    } catch (error) {
      // Another pod of that name is none of ours.
      if (apiStatus(error) !== 409) throw error;
    }
  }

  /** Lets go of the pod's object. Others' finalizers are left to them. */
  async letGo(at: Place, uid: string, call: Call): Promise<void> {
    const path = `${pods(at.namespace)}/${at.name}`;
    const what = `Pod ${textOf(at)}`;
    for (let change = 1; ; change += 1) {
      const pod = (await this.#unlessGone(what, { path }, call)) as Pod | undefined;
      const held = pod?.metadata.finalizers ?? [];
      if (pod?.metadata.uid !== uid || !held.includes(COLLECT_FINALIZER)) return;
      const finalizers = held.filter((each) => each !== COLLECT_FINALIZER);
      const { resourceVersion } = pod.metadata;
      const patch = { metadata: { finalizers, resourceVersion, uid } };
      try {
        await this.#unlessGone(what, { ...merge(patch), path }, call);
        return;
      } catch (error) {
        if (apiStatus(error) !== 409 || change === CHANGES_MAX) throw error;
      }
    }
  }

  /** All that the runner's container has printed; undefined if it is nowhere any more. */
  async log(at: Place, call: Call): Promise<string | undefined> {
    const path = `${pods(at.namespace)}/${at.name}/log?container=${CONTAINER}`;
    try {
      return await this.#connection.stream({ path, limitMs: LOG_MS }, textFrom, call);
    } catch (error) {
      const status = error instanceof ApiError ? error.status : undefined;
      if (status === 404 || status === 400) return undefined;
      throw runnerError(`The output of pod ${textOf(at)}`, error, call);
    }
  }

  /** Every Secret that was made for a run. */
  async runSecrets(namespace: string | undefined, call: Call): Promise<SecretHead[]> {
    const found: SecretHead[] = [];
    for (let page = ""; ; ) {
      const query = new URLSearchParams({ labelSelector: RUN_LABEL, limit: "500" });
      if (page !== "") query.set("continue", page);
      const path = `${secrets(namespace)}?${query}`;
      const list = (await this.#ask("Secrets of runs", { path, accept: METADATA_ONLY }, call)) as {
        readonly metadata?: { readonly continue?: string };
        readonly items?: readonly SecretHead[] | null;
      };
      found.push(...(list.items ?? []));
      page = list.metadata?.continue ?? "";
      if (page === "") return found;
    }
  }

  async #unlessGone(what: string, request: Asked, call: Call): Promise<unknown> {
    try {
      return await this.#ask(what, request, call);
    } catch (error) {
      if (apiStatus(error) === 404) return undefined;
      throw error;
    }
  }

  async #ask(what: string, request: Asked, call: Call): Promise<unknown> {
    const ask = () => this.#connection.json({ ...request, limitMs: REQUEST_MS }, call);
    try {
      return (await askPatiently(this.#clock, ask, call)).value;
    } catch (error) {
      throw runnerError(what, error, call);
    }
  }
}

type Asked = Omit<Request, "limitMs">;

function pods(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/pods`;
}

function secrets(namespace: string | undefined): string {
  return namespace === undefined ? "/api/v1/secrets" : `/api/v1/namespaces/${namespace}/secrets`;
}

function merge(patch: object) {
  return { method: "PATCH", body: JSON.stringify(patch), contentType: MERGE } as const;
}

function textOf({ namespace, name }: Place): string {
  return `${namespace}/${name}`;
}

async function textFrom(body: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of body) {
    size += piece.length;
    if (size > LOG_MAX_BYTES) break;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

/** HTTP status of the answer that an error comes from. */
export function apiStatus(error: unknown): number | undefined {
  const cause = error instanceof RunnerError ? error.cause : error;
  return cause instanceof ApiError ? cause.status : undefined;
}

/** Whether a pod was refused because its namespace's quota has no room. */
export function isQuota(error: unknown): boolean {
  const cause = error instanceof RunnerError ? error.cause : undefined;
  return cause instanceof ApiError && cause.status === 403 && QUOTA.test(cause.message);
}

const QUOTA = /exceeded quota: .*/;

function runnerError(what: string, error: unknown, call: Call): RunnerError {
  if (call.signal.aborted) {
    const message = `${what}: the API server did not answer in time`;
    return new RunnerError("DeadlineExceeded", message, { cause: error });
  }
  const message = messageOf(error);
  return new RunnerError(codeOf(error), `${what}: ${message}`, { cause: error });
}

function codeOf(error: unknown): RunnerErrorCode {
  if (!(error instanceof ApiError)) return "Internal";
  if (error.why === "timed-out") return "DeadlineExceeded";
  return error.why === "unreachable" ? "Unavailable" : "Internal";
}

/** Why a pod could not be made, as the end of "The runner cannot be started: …". */
function refusal(error: unknown, { namespace }: Place): unknown {
  const { cause } = error as { readonly cause?: unknown };
  if (!(cause instanceof ApiError)) return error;
  const said = cause.message.replace(/^\d+: /, "");
  const words = (text: string) => new RunnerError("Internal", text, { cause });
  const [quota] = (cause.status === 403 ? QUOTA.exec(said) : undefined) ?? [];
  if (quota !== undefined) {
    return words(`the quota of namespace ${namespace} has no room for its pod (${quota})`);
  }
  if (cause.status === 403) {
    return words(`the API server does not admit its pod (${said}); see RBAC and admission`);
  }
  if (cause.status === 422 || cause.status === 400) {
    return words(`spec.runnerPodTemplate makes no valid pod (${said})`);
  }
  return error;
}
