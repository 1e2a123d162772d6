import type { Diagnostic } from "../api/diagnostic.ts";
import { type AnyObject, type KindName, keyOf, type ObjectRef } from "../api/kinds.ts";
import { APPLIED_BY, MANIFEST } from "../api/names.ts";
import type { Call } from "../ports/call.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { ManifestSource, Manifests } from "../ports/manifests.ts";
import { describeRef, isStoreError, type ObjectStore } from "../ports/object-store.ts";
import { type Applied, applyObject } from "./apply.ts";
import { bounded, messageOf } from "./bounded.ts";
import { canonicalJson } from "./canonical.ts";

/**
 * Keeps the manifests of a source applied. Bad ones are told, the good ones applied all the same,
 * and of a bad one the last good object stays. An object whose manifest has vanished is told; it is
 * deleted only if `prune`, when every manifest could be read, and when it was away for some time:
 * half-way through a `git checkout` many files are missing.
 */
export interface ManifestSyncOptions {
  readonly source: ManifestSource;
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Whose manifests these are: a label's value that tells this source from every other. */
  readonly owner: string;
  readonly prune: boolean;
  /** From the end of one look to the next. */
  readonly pollMs: number;
  /** Called after a look that changed anything or found something new to tell. */
  readonly onReport?: (report: SyncReport) => void;
}

export interface SyncReport {
  readonly version: string;
  /** Objects that were written by this look. */
  readonly changed: readonly { readonly ref: ObjectRef; readonly applied: Applied }[];
  readonly pruned: readonly ObjectRef[];
  /** Applied before from this source, no longer in it, and not deleted. */
  readonly vanished: readonly ObjectRef[];
  readonly diagnostics: readonly Diagnostic[];
}

/** What others refer to comes first, so that they need not be told that it is missing. */
const ORDER: readonly KindName[] = [
  "Secret",
  "ConfigMap",
  "GitRepository",
  "OCIRepository",
  "Bucket",
  "Terraform",
];
const LOOK_MS = 120_000;
const STORE_CALL_MS = 10_000;
/** How long an object must be away before it is pruned. */
const AWAY_MS = 10_000;

export class ManifestSync {
  readonly #options: ManifestSyncOptions;
  /** When an object was first missed, by its name, on the monotonic clock. */
  readonly #missing = new Map<string, number>();
  #lastTold = "";

  constructor(options: ManifestSyncOptions) {
    this.#options = options;
  }

  /** Looks again and again until the signal fires. Never fails. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, pollMs } = this.#options;
    while (!signal.aborted) {
      await this.look({ signal });
      await clock.sleep(pollMs, signal);
    }
  }

  /** One look, for who wants to know that everything was applied once. Never fails. */
  async look(call: Call): Promise<SyncReport> {
    const { clock, source } = this.#options;
    const bound = { what: "Reading the manifests", ms: LOOK_MS, parent: call.signal };
    let manifests: Manifests;
    try {
      manifests = await bounded(clock, bound, (each) => source.read(each));
    } catch (error) {
      const summary = messageOf(error);
      manifests = { version: "", objects: [], diagnostics: [{ severity: "error", summary }] };
    }
    const report = await this.#apply(manifests, call);
    this.#tell(report, call);
    return report;
  }

  async #apply(manifests: Manifests, call: Call): Promise<SyncReport> {
    const { store, owner } = this.#options;
    const diagnostics = [...manifests.diagnostics];
    const changed: { ref: ObjectRef; applied: Applied }[] = [];
    for (const object of inOrder(manifests.objects)) {
      if (call.signal.aborted) break;
      const ref = refOf(object);
      try {
        const applied = await this.#bounded(call, (each) =>
          applyObject(store, placed(object, manifests.files?.get(object)), owner, each),
        );
        if (applied !== "unchanged") changed.push({ ref, applied });
      } catch (error) {
        const text = messageOf(error);
        const named = text.includes(describeRef(ref)) ? text : `${describeRef(ref)}: ${text}`;
        diagnostics.push({ severity: "error", summary: named });
      }
    }
    const { vanished, pruned } = await this.#sweep(manifests, diagnostics, call);
    return { version: manifests.version, changed, diagnostics, vanished, pruned };
  }

  /** What came from this source once and no longer stands in it. */
  async #sweep(manifests: Manifests, diagnostics: Diagnostic[], call: Call) {
    const [vanished, pruned]: [ObjectRef[], ObjectRef[]] = [[], []];
    const readable = manifests.diagnostics.every(({ severity }) => severity !== "error");
    // A manifest that cannot be read has not vanished; then nothing is known to have.
    if (!readable || call.signal.aborted) return { vanished, pruned };
    const present = new Set(manifests.objects.map((object) => describeRef(refOf(object))));
    const unclear = new Set(manifests.unclear ?? []);
    let leaving = 0;
    try {
      for (const object of await this.#owned(call)) {
        const ref = refOf(object);
        const name = describeRef(ref);
        if (object.metadata.deletionTimestamp !== undefined) leaving += 1;
        else if (present.has(name)) this.#missing.delete(name);
        else if (unclear.has(manifestOf(object))) {
          this.#missing.delete(name);
          diagnostics.push(overwritten(object));
        } else if (this.#mayPrune(name, present.size) && (ref.kind === "Terraform" || !leaving)) {
          await this.#prune(object, call);
          pruned.push(ref);
          if (ref.kind === "Terraform") leaving += 1;
        } else vanished.push(ref);
      }
    } catch (error) {
      diagnostics.push({ severity: "error", summary: messageOf(error) });
    }
    return { vanished, pruned };
  }

  #mayPrune(name: string, present: number): boolean {
    const now = this.#options.clock.monotonic();
    const since = this.#missing.get(name) ?? now;
    this.#missing.set(name, since);
    // A source without a single manifest is rather a wrong folder than the wish to delete all.
    return this.#options.prune && present > 0 && now - since >= AWAY_MS;
  }

  async #prune(object: AnyObject, call: Call): Promise<void> {
    const ref = refOf(object);
    const { uid } = object.metadata;
    try {
      const { store } = this.#options;
      const same = uid === undefined ? {} : { uid };
      await this.#bounded(call, (each) => store.delete(ref, same, each));
    } catch (error) {
      if (!isStoreError(error, "NotFound")) throw error;
    }
    this.#missing.delete(describeRef(ref));
  }

  async #owned(call: Call): Promise<AnyObject[]> {
    const { store, owner } = this.#options;
    const found: AnyObject[] = [];
    // Terraforms first: while one is on its way out it may need its source and Secrets to destroy.
    for (const kind of ORDER.toReversed()) {
      const labels = { [APPLIED_BY]: owner };
      const { items } = await this.#bounded(call, (each) => store.list(kind, { labels }, each));
      found.push(...items);
    }
    return found;
  }

  #bounded<T>(call: Call, work: (each: Call) => Promise<T>): Promise<T> {
    const bound = { what: "Applying a manifest", ms: STORE_CALL_MS, parent: call.signal };
    return bounded(this.#options.clock, bound, work);
  }

  #tell(report: SyncReport, call: Call): void {
    if (call.signal.aborted) return;
    const { log, onReport, prune } = this.#options;
    const { changed, pruned, vanished, diagnostics } = report;
    // What is merely still so was told before.
    const deleting = changed.filter(({ applied }) => applied === "deleting");
    const standing = canonicalJson({ vanished, diagnostics, deleting });
    const written = changed.length > deleting.length || pruned.length > 0;
    if (!written && standing === this.#lastTold) return;
    const news = standing !== this.#lastTold;
    this.#lastTold = standing;
    for (const { ref, applied } of changed) {
      log.info("Manifest applied", { object: describeRef(ref), outcome: applied });
    }
    for (const ref of pruned) log.info("Object pruned", { object: describeRef(ref) });
    for (const each of news ? diagnostics : []) log[levelOf(each)](withPlace(each));
    if (news && vanished.length > 0 && !prune) {
      const objects = vanished.map(describeRef).join(", ");
      log.warn("Manifests have vanished; nothing is deleted without --prune", { objects });
    }
    onReport?.(report);
  }
}

/** With the file it comes from, so that a later look knows where it stood. */
function placed(object: AnyObject, file: string | undefined): AnyObject {
  if (file === undefined) return object;
  const { metadata } = object;
  const annotations = { ...metadata.annotations, [MANIFEST]: file };
  return { ...object, metadata: { ...metadata, annotations } };
}

function manifestOf({ metadata }: AnyObject): string {
  return metadata.annotations?.[MANIFEST] ?? "";
}

/** A file that is there but holds something else now: by mistake, as far as anybody can know. */
function overwritten(object: AnyObject): Diagnostic {
  const summary =
    `${describeRef(refOf(object))}: its manifest stood in this file, which now holds something ` +
    "that is no manifest; the object is kept. Bring the manifest back, or delete the file to " +
    "have the object count as vanished";
  return { severity: "error", summary, file: manifestOf(object) };
}

function levelOf({ severity }: Diagnostic): "error" | "warn" {
  return severity === "error" ? "error" : "warn";
}

/** With the place in front, where editors look for it. */
function withPlace({ summary, detail, file, line, column }: Diagnostic): string {
  const where = [file, line, column].filter((part) => part !== undefined).join(":");
  const text = detail === undefined ? summary : `${summary}\n${detail}`;
  return where === "" ? text : `${where}: ${text}`;
}

function refOf(object: AnyObject): ObjectRef {
  return { kind: object.kind, ...keyOf(object) };
}

function inOrder(objects: readonly AnyObject[]): AnyObject[] {
  return objects.toSorted((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
}
