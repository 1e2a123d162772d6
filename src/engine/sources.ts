import type { GitRepository, Secret } from "../api/core.ts";
import { parseDuration } from "../api/duration.ts";
import { keyOf, keyText, type ObjectKey, parseKey } from "../api/kinds.ts";
import { CONDITION, REASON, REQUESTED_AT } from "../api/names.ts";
import { secondText } from "../domain/time.ts";
import {
  ArtifactError,
  type ArtifactKeeper,
  type GitResult,
  type GitSource,
} from "../ports/artifacts.ts";
import type { Call } from "../ports/call.ts";
import { isStoreError } from "../ports/object-store.ts";
import { clearArtifacts } from "./artifact-fetches.ts";
import { bounded, messageOf } from "./bounded.ts";
import { sameJson } from "./canonical.ts";
import { type ConditionText, conditionsOf } from "./conditions.ts";
import { Informer, type InformerPorts } from "./informer.ts";
import { WorkQueue } from "./queue.ts";

export interface SourcesPorts extends InformerPorts {
  readonly git: GitSource;
  /** Where the archives lie; undefined: nobody clears them out. */
  readonly keeper?: ArtifactKeeper;
}

/** Looks that may go on at once: more than one, for a host that does not answer takes long. */
const WORKERS = 4;
const STORE_MS = 10_000;
/** Beyond spec.timeout, which the fetch itself keeps. */
const FETCH_MARGIN_MS = 15_000;
const TIMEOUT_MS = 60_000;
const INTERVAL_MIN_MS = 1_000;
const RETRY_FIRST_MS = 5_000;
const RETRY_MAX_MS = 300_000;

type Status = NonNullable<GitRepository["status"]>;

/**
 * What source-controller does in a cluster, for GitRepository objects: looks at each at its
 * interval, when it changes and when it is asked to, and keeps its artifact and conditions in its
 * status. A look that fails leaves the last artifact as it is.
 */
export class Sources {
  readonly #ports: SourcesPorts;
  readonly #queue: WorkQueue;
  readonly #repositories: Informer<"GitRepository">;
  readonly #secrets: Informer<"Secret">;

  constructor(ports: SourcesPorts) {
    this.#ports = ports;
    const { clock, random } = ports;
    const backoff = { backoffBaseMs: RETRY_FIRST_MS, backoffCapMs: RETRY_MAX_MS };
    this.#queue = new WorkQueue({ clock, random, ...backoff });
    this.#repositories = new Informer("GitRepository", ports, {
      changed: (after, before) => this.#changed(after, before),
      removed: (object) => this.#queue.drop(keyText(keyOf(object))),
    });
    this.#secrets = new Informer("Secret", ports, {
      changed: (secret) => this.#secretChanged(secret),
      removed: () => {},
      // Values are read when a look needs them, and not kept.
      keep: ({ metadata }) => ({ apiVersion: "v1", kind: "Secret", metadata }),
    });
  }

  /** Works until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#repositories.run(signal),
      this.#secrets.run(signal),
      this.#clear(signal),
      ...Array.from({ length: WORKERS }, () => this.#work(signal)),
    ]);
  }

  /** What this class wrote itself calls for no look. */
  #changed(after: GitRepository, before: GitRepository | undefined): void {
    const { metadata } = after;
    const asked = (object?: GitRepository) => object?.metadata.annotations?.[REQUESTED_AT];
    const same =
      before?.metadata.generation === metadata.generation && asked(before) === asked(after);
    if (!same) this.#queue.add(keyText(keyOf(after)), "urgent");
  }

  /** A person who mends a Secret need not wait for the next try. */
  #secretChanged(secret: Secret): void {
    const { namespace, name } = keyOf(secret);
    for (const repository of this.#repositories.objects()) {
      const key = keyOf(repository);
      const uses = repository.spec.secretRef?.name === name && key.namespace === namespace;
      if (uses && !isReady(repository)) this.#queue.add(keyText(key), "urgent");
    }
  }

  async #work(signal: AbortSignal): Promise<void> {
    for (;;) {
      const key = await this.#queue.take(signal);
      if (key === undefined) return;
      try {
        const nextMs = await this.#look(parseKey(key), signal);
        this.#queue.forget(key);
        if (nextMs !== undefined) this.#queue.addAfter(key, nextMs);
      } catch (error) {
        if (isStoreError(error, "Conflict")) this.#queue.add(key);
        else if (!signal.aborted) this.#failed(key, error);
      }
      this.#queue.done(key);
    }
  }

  #failed(key: string, error: unknown): void {
    const retryMs = Math.round(this.#queue.retry(key));
    const fields = { object: key, error: messageOf(error), retryMs };
    this.#ports.log.warn("A source cannot be fetched", fields);
  }

  /** Milliseconds to the next look; undefined: only a change calls for one. */
  async #look(key: ObjectKey, parent: AbortSignal): Promise<number | undefined> {
    const { store } = this.#ports;
    const ref = { kind: "GitRepository", ...key } as const;
    const read = await this.#store(parent, (call) => store.get(ref, call));
    if (read === undefined || read.metadata.deletionTimestamp !== undefined) return undefined;
    if (read.spec.suspend === true) return undefined;
    const repository = isNew(read) ? await this.#say(read, progressing(read), parent) : read;
    try {
      const result = await this.#fetch(repository, parent);
      const before = repository.status?.artifact;
      await this.#say(repository, this.#fetched(repository, result), parent);
      if (before?.revision !== result.revision) {
        const fields = { object: keyText(key), revision: result.revision };
        this.#ports.log.info("New artifact", fields);
      }
    } catch (error) {
      if (parent.aborted || isStoreError(error, "Conflict")) throw error;
      await this.#say(repository, failed(repository, error), parent);
      throw error;
    }
    const intervalMs = parseDuration(repository.spec.interval) ?? TIMEOUT_MS;
    return Math.max(intervalMs, INTERVAL_MIN_MS);
  }

  async #fetch(repository: GitRepository, parent: AbortSignal): Promise<GitResult> {
    const { clock, git } = this.#ports;
    const credentials = await this.#credentials(repository, parent);
    const timeoutMs = parseDuration(repository.spec.timeout ?? "") ?? TIMEOUT_MS;
    const what = `Fetching GitRepository ${keyText(keyOf(repository))}`;
    const bound = { what, ms: timeoutMs + FETCH_MARGIN_MS, parent };
    return await bounded(clock, bound, (call) => git.fetch({ repository, credentials }, call));
  }

  async #credentials(
    repository: GitRepository,
    parent: AbortSignal,
  ): Promise<Readonly<Record<string, string>> | undefined> {
    const { store } = this.#ports;
    const name = repository.spec.secretRef?.name;
    if (name === undefined) return undefined;
    const { namespace } = keyOf(repository);
    const ref = { kind: "Secret", namespace, name } as const;
    const secret = await this.#store(parent, (call) => store.get(ref, call));
    if (secret === undefined) {
      throw new SecretMissing(
        `GitRepository ${keyText(keyOf(repository))}: Secret ${namespace}/${name} of ` +
          "spec.secretRef does not exist; make it, or mend the name",
        false,
      );
    }
    return Object.fromEntries(
      Object.entries(secret.data ?? {}).map(([key, value]) => [
        key,
        Buffer.from(value, "base64").toString("utf8"),
      ]),
    );
  }

  #fetched(repository: GitRepository, result: GitResult): Change {
    const { revision, digest, url, sizeBytes: size } = result;
    const before = repository.status?.artifact;
    const same = before?.revision === revision && before.digest === digest && before.url === url;
    const lastUpdateTime = same ? before.lastUpdateTime : undefined;
    const message = `stored artifact for revision '${revision}'`;
    const good = { status: "True", reason: REASON.succeeded, message } as const;
    return {
      artifact: {
        url,
        revision,
        digest,
        size,
        lastUpdateTime: lastUpdateTime ?? secondText(this.#ports.clock.now()),
      },
      conditions: [
        { type: CONDITION.ready, ...good },
        { type: CONDITION.artifactInStorage, ...good },
      ],
    };
  }

  /** Writes the status if it says anything new; answers with the object as it is then. */
  async #say(
    repository: GitRepository,
    { artifact, conditions }: Change,
    parent: AbortSignal,
  ): Promise<GitRepository> {
    const { store, clock } = this.#ports;
    const { generation, annotations } = repository.metadata;
    const handled = annotations?.[REQUESTED_AT];
    const before = repository.status;
    const under = conditions.some(({ type }) => type === CONDITION.reconciling);
    const status: Status = {
      ...before,
      conditions: conditionsOf(before?.conditions, conditions, { nowMs: clock.now(), generation }),
      ...(generation === undefined || under ? {} : { observedGeneration: generation }),
      ...(handled === undefined || under ? {} : { lastHandledReconcileAt: handled }),
      ...(artifact === undefined ? {} : { artifact }),
    };
    if (sameJson(status, before)) return repository;
    const next = { ...repository, status };
    return await this.#store(parent, (call) => store.update(next, "status", call));
  }

  /** A run, a plan that waits or a destroy may need an artifact long after its source moved on. */
  async #textsInUse(call: Call): Promise<string[]> {
    const { store } = this.#ports;
    const lists = await Promise.all([
      store.list("GitRepository", {}, call),
      store.list("Terraform", {}, call),
    ]);
    return lists.flatMap(({ items }) => items.map(({ status }) => JSON.stringify(status ?? {})));
  }

  async #clear(signal: AbortSignal): Promise<void> {
    const { clock, keeper, log } = this.#ports;
    if (keeper === undefined) return;
    await clearArtifacts({ keeper, clock, log }, (call) => this.#textsInUse(call), signal);
  }

  #store<T>(parent: AbortSignal, work: (call: { signal: AbortSignal }) => Promise<T>): Promise<T> {
    const bound = { what: "Reading or writing a source", ms: STORE_MS, parent };
    return bounded(this.#ports.clock, bound, work);
  }
}

interface Change {
  /** Undefined: the last one stays. */
  readonly artifact?: Status["artifact"];
  readonly conditions: readonly ConditionText[];
}

class SecretMissing extends ArtifactError {}

/** Nothing is known yet of the spec as it stands, so that somebody may wait for a word. */
function isNew({ metadata, status }: GitRepository): boolean {
  return status?.observedGeneration !== metadata.generation;
}

function isReady({ status }: GitRepository): boolean {
  return status?.conditions?.find(({ type }) => type === CONDITION.ready)?.status === "True";
}

function progressing(repository: GitRepository): Change {
  const message = `fetching ${keyText(keyOf(repository))}`;
  const said = { reason: REASON.progressing, message };
  return {
    conditions: [
      { type: CONDITION.reconciling, status: "True", ...said },
      { type: CONDITION.ready, status: "Unknown", ...said },
      ...inStorage(repository),
    ],
  };
}

function failed(repository: GitRepository, error: unknown): Change {
  const reason =
    error instanceof SecretMissing ? REASON.authenticationFailed : REASON.gitOperationFailed;
  const said = { reason, message: messageOf(error) };
  return {
    conditions: [
      { type: CONDITION.ready, status: "False", ...said },
      { type: CONDITION.fetchFailed, status: "True", ...said },
      ...inStorage(repository),
    ],
  };
}

/** The last artifact is still there, whatever became of this look. */
function inStorage({ status }: GitRepository): ConditionText[] {
  if (status?.artifact === undefined) return [];
  const message = `stored artifact for revision '${status.artifact.revision}'`;
  return [{ type: CONDITION.artifactInStorage, status: "True", reason: REASON.succeeded, message }];
}
