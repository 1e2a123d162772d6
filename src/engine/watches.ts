import type { ConfigMap, Secret } from "../api/core.ts";
import { type KindName, keyOf, keyText } from "../api/kinds.ts";
import type { Terraform } from "../api/terraform.ts";
import { dependsOn } from "../domain/dependants.ts";
import { timeOf } from "../domain/time.ts";
import { Informer, type InformerPorts } from "./informer.ts";
import { sweepMs } from "./limits.ts";
import type { Priority } from "./queue.ts";
import { References } from "./references.ts";
import { type Source, sourceChanged, wakesDependants, wantsPass } from "./triggers.ts";

/** An object so late has been lost by the queue, or the machine slept. */
const LATE_MS = 5_000;

/** Inputs that are changed together, such as by one kubectl apply, make one run. */
const TOGETHER_MS = 500;

/**
 * How a pass is asked for; `afterMs`: then, or sooner if one comes anyway; `late`: the object was
 * due, and nobody asked.
 */
type Ask = (key: string, how?: { priority?: Priority; afterMs?: number; late?: boolean }) => void;

/** Watches everything that can make an object want a pass, and asks for that pass. */
export class Watches {
  readonly #ports: InformerPorts;
  readonly #ask: Ask;
  readonly #references = new References();
  readonly #terraforms: Informer<"Terraform">;
  #sweptAtMs: number;
  readonly #others: { run(signal: AbortSignal): Promise<void> }[];

  constructor(ports: InformerPorts, ask: Ask) {
    this.#ports = ports;
    this.#ask = ask;
    this.#sweptAtMs = ports.clock.monotonic();
    this.#terraforms = new Informer("Terraform", ports, {
      changed: (after, before) => this.#terraformChanged(after, before),
      removed: (object) => this.#terraformRemoved(object),
    });
    this.#others = [
      this.#sources("GitRepository"),
      this.#sources("OCIRepository"),
      this.#sources("Bucket"),
      this.#inputs("Secret"),
      this.#inputs("ConfigMap"),
    ];
  }

  /** Resolves once all objects are known. */
  async start(signal: AbortSignal): Promise<void> {
    await this.#terraforms.start(signal);
  }

  terraforms(): Iterable<Terraform> {
    return this.#terraforms.objects();
  }

  /** Milliseconds since objects that are due were last looked for. */
  sweptMs(): number {
    return this.#ports.clock.monotonic() - this.#sweptAtMs;
  }

  /** Watches until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    const all = [this.#terraforms, ...this.#others];
    await Promise.all([...all.map((each) => each.run(signal)), this.#sweep(signal)]);
  }

  /** Finds objects that are due and that nobody asked for. */
  async #sweep(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ports;
    while (!signal.aborted) {
      await clock.sleep(sweepMs(), signal);
      this.#sweptAtMs = clock.monotonic();
      for (const terraform of this.#terraforms.objects()) {
        const dueMs = timeOf(terraform.status?.nextDueAt);
        const late = dueMs !== undefined && dueMs + LATE_MS < clock.now();
        if (late) this.#ask(keyText(keyOf(terraform)), { late });
      }
    }
  }

  #terraformChanged(after: Terraform, before: Terraform | undefined): void {
    const key = keyText(keyOf(after));
    if (before?.metadata.generation !== after.metadata.generation) this.#references.put(after);
    const priority = wantsPass(after, before);
    if (priority !== undefined) this.#ask(key, { priority });
    if (wakesDependants(after, before)) this.#askUsers("Terraform", key);
  }

  #terraformRemoved(object: Terraform): void {
    const key = keyText(keyOf(object));
    this.#references.remove(key);
    this.#ask(key);
    this.#askUsers("Terraform", key);
    // One of them may have waited for this object to go before it goes itself.
    for (const dependency of dependsOn(object)) this.#ask(dependency, { priority: "urgent" });
  }

  #askUsers(kind: KindName, key: string, afterMs = 0): void {
    for (const user of this.#references.usersOf(kind, key)) this.#ask(user, { afterMs });
  }

  #sources<K extends Source["kind"]>(kind: K) {
    const ask = (object: Source) => this.#askUsers(kind, keyText(keyOf(object)));
    const listener = {
      changed: (after: Source, before: Source | undefined) => {
        if (sourceChanged(after, before)) ask(after);
      },
      removed: ask,
    };
    return new Informer<Source["kind"]>(kind, this.#ports, listener);
  }

  /**
   * A cluster has many of them. Of those that objects refer to, or own, it is kept that they are
   * there; nothing of the others, and no value of any, for a pass reads what it needs.
   */
  #kept(kind: "Secret" | "ConfigMap", object: Secret | ConfigMap): Secret | ConfigMap | undefined {
    const { name, namespace = "default", uid, resourceVersion, ownerReferences } = object.metadata;
    const owners = (ownerReferences ?? []).filter((owner) => owner.kind === "Terraform");
    const used = this.#references.usersOf(kind, keyText({ namespace, name })).length > 0;
    if (!used && owners.length === 0) return undefined;
    return {
      apiVersion: "v1",
      kind,
      metadata: {
        ...{ name, namespace, ownerReferences: owners },
        ...(uid === undefined ? {} : { uid }),
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      },
    };
  }

  #inputs(kind: "Secret" | "ConfigMap") {
    const ask = (object: Secret | ConfigMap) =>
      this.#askUsers(kind, keyText(keyOf(object)), TOGETHER_MS);
    const removed = (object: Secret | ConfigMap) => {
      ask(object);
      for (const owner of object.metadata.ownerReferences ?? []) {
        // An outputs Secret that somebody removed is written again.
        const { namespace } = keyOf(object);
        if (owner.kind === "Terraform") this.#ask(keyText({ namespace, name: owner.name }));
      }
    };
    const listener = {
      changed: ask,
      removed,
      keep: (object: Secret | ConfigMap) => this.#kept(kind, object),
      metadataOnly: true,
    };
    return new Informer<"Secret" | "ConfigMap">(kind, this.#ports, listener);
  }
}
