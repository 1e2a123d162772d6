import type { Secret } from "../../../api/core.ts";
import type { RescuedState } from "../../../domain/facts.ts";
import type { StateHead } from "../../../domain/state-file.ts";
import { isCoveredBy } from "../../../domain/state-guards.ts";
import type { Call } from "../../../ports/call.ts";
import type { Clock } from "../../../ports/clock.ts";
import { isStoreError, type ObjectStore } from "../../../ports/object-store.ts";
import type { StateNames } from "./names.ts";
import { digestOf, packed, SECRET_BYTES_MAX, Unreadable, unpacked } from "./packed.ts";

/**
 * States that a run could not write, each in a Secret `tfstate-rescue-<run>` that belongs to
 * nobody, so that nothing collects it. One too large for a Secret lies in several: further pieces
 * are written first, so that what the label finds is whole. No name is ever written twice with
 * other content.
 */

const PREFIX = "nigari.dev/rescued";
/** Label: of which state; the value is the name of its Secret, or a digest of a longer one. */
const STATE_LABEL = `${PREFIX}-state`;
const IS_RESCUED = { [PREFIX]: "true" } as const;
const ANNOTATION = {
  state: `${PREFIX}-state`,
  run: `${PREFIX}-run`,
  serial: `${PREFIX}-serial`,
  lineage: `${PREFIX}-lineage`,
  at: `${PREFIX}-at`,
  /** SHA-256, hex, of the state. */
  digest: `${PREFIX}-digest`,
  bytes: `${PREFIX}-bytes`,
  pieces: `${PREFIX}-pieces`,
} as const;

export interface Rescued {
  readonly id: string;
  readonly runId: string;
  readonly serial: number;
  readonly lineage: string;
  readonly at: string;
  readonly digest: string;
  /** Of the state, unpacked. */
  readonly sizeBytes: number;
  readonly secret: Secret;
}
export interface NewRescued {
  readonly runId: string;
  readonly head: StateHead;
  readonly content: Uint8Array;
}

export class RescuedStates {
  readonly #store: ObjectStore;
  readonly #clock: Pick<Clock, "now">;

  constructor({ store, clock }: { store: ObjectStore; clock: Pick<Clock, "now"> }) {
    this.#store = store;
    this.#clock = clock;
  }

  /** The newest first. */
  async list(names: StateNames, call: Call): Promise<Rescued[]> {
    const labels = { [STATE_LABEL]: labelOf(names.secret) };
    const where = { namespace: names.namespace, labels };
    const { items } = await this.#store.list("Secret", where, call);
    return items
      .filter((each) => each.metadata.annotations?.[ANNOTATION.state] === names.secret)
      .map(rescuedOf)
      .sort((a, b) => (a.at < b.at ? 1 : -1));
  }

  /** Those of every state. */
  async all(namespace: string | undefined, call: Call): Promise<Rescued[]> {
    const where = { labels: IS_RESCUED, ...(namespace === undefined ? {} : { namespace }) };
    const { items } = await this.#store.list("Secret", where, call);
    return items.map(rescuedOf);
  }

  /** Keeps it, and answers its id. Again: the same. */
  async keep(names: StateNames, kept: NewRescued, call: Call): Promise<string> {
    const before = await this.list(names, call);
    const digest = digestOf(kept.content);
    const same = before.find((each) => each.digest === digest);
    if (same !== undefined) return same.id;
    const plain = nameOf(kept.runId);
    const isUsed = before.some(({ id }) => id === plain);
    const id = isUsed ? `${plain}-${digest.slice(0, 8)}` : plain;
    const bytes = await packed(kept.content);
    const pieces = Math.max(1, Math.ceil(bytes.length / SECRET_BYTES_MAX));
    for (let index = pieces - 1; index >= 0; index -= 1) {
      const piece = bytes.subarray(index * SECRET_BYTES_MAX, (index + 1) * SECRET_BYTES_MAX);
      const secret =
        index === 0
          ? this.#first(names, { ...kept, id, digest, pieces }, piece)
          : furtherPiece(names, pieceName({ id, digest }, index), piece);
      await this.#create(secret, call);
    }
    const { lineage, serial } = kept.head;
    const newer = { digest, serial, lineage, runId: kept.runId };
    for (const each of before) if (isCoveredBy(each, newer)) await this.drop(each, call);
    return id;
  }

  /** Fails with Unreadable. */
  async read(rescued: Rescued, call: Call): Promise<Uint8Array> {
    const parts = [dataOf(rescued.secret)];
    for (const ref of furtherPieces(rescued)) {
      const piece = await this.#store.get(ref, call);
      if (piece === undefined) throw new Unreadable(`its piece ${ref.name} is missing`);
      parts.push(dataOf(piece));
    }
    const content = await unpacked(Buffer.concat(parts));
    if (digestOf(content) === rescued.digest) return content;
    throw new Unreadable("it does not have the digest that was noted");
  }

  async drop(rescued: Rescued, call: Call): Promise<void> {
    const { namespace = "default", name } = rescued.secret.metadata;
    const all = [{ kind: "Secret", namespace, name } as const, ...furtherPieces(rescued)];
    for (const ref of all) {
      try {
        await this.#store.delete(ref, {}, call);
      } catch (error) {
        if (!isStoreError(error, "NotFound")) throw error;
      }
    }
  }

  #first(
    { namespace, secret }: StateNames,
    kept: NewRescued & { readonly id: string; readonly digest: string; readonly pieces: number },
    piece: Buffer,
  ): Secret {
    const { id, digest, pieces, runId, head } = kept;
    const annotations = {
      [ANNOTATION.state]: secret,
      [ANNOTATION.run]: runId,
      [ANNOTATION.serial]: String(head.serial),
      [ANNOTATION.lineage]: head.lineage,
      [ANNOTATION.at]: new Date(this.#clock.now()).toISOString(),
      [ANNOTATION.digest]: digest,
      [ANNOTATION.bytes]: String(kept.content.length),
      [ANNOTATION.pieces]: String(pieces),
    };
    const labels = { ...IS_RESCUED, [STATE_LABEL]: labelOf(secret) };
    return secretOf({ namespace, name: id, labels, annotations }, piece);
  }

  /** One of this name is this very piece, from an attempt that was cut off. */
  async #create(secret: Secret, call: Call): Promise<void> {
    try {
      await this.#store.create(secret, call);
    } catch (error) {
      const isThere = isStoreError(error, "AlreadyExists") && secret.metadata.labels === undefined;
      if (!isThere) throw error;
    }
  }
}

function secretOf(metadata: Secret["metadata"], piece: Buffer): Secret {
  const data = { tfstate: piece.toString("base64") };
  return { apiVersion: "v1", kind: "Secret", type: "Opaque", metadata, data };
}

function furtherPiece({ namespace }: StateNames, name: string, piece: Buffer): Secret {
  return secretOf({ namespace, name }, piece);
}

function furtherPieces({ secret, id, digest }: Rescued) {
  const { namespace = "default", annotations } = secret.metadata;
  const pieces = Number(annotations?.[ANNOTATION.pieces] ?? "1");
  return Array.from({ length: Math.max(0, pieces - 1) }, (_, index) => {
    return { kind: "Secret", namespace, name: pieceName({ id, digest }, index + 1) } as const;
  });
}

function pieceName({ id, digest }: Pick<Rescued, "id" | "digest">, index: number): string {
  return `${id}-${digest.slice(0, 8)}-${index}`;
}

function rescuedOf(secret: Secret): Rescued {
  const of = (name: keyof typeof ANNOTATION) =>
    secret.metadata.annotations?.[ANNOTATION[name]] ?? "";
  return {
    id: secret.metadata.name,
    runId: of("run"),
    serial: Number(of("serial")),
    lineage: of("lineage"),
    at: of("at"),
    digest: of("digest"),
    sizeBytes: Number(of("bytes")),
    secret,
  };
}

/** As the engine is told of it. */
export function rescuedFact({ id, runId, serial, at }: Rescued): RescuedState {
  return { id, runId, serial, at };
}

/** Name of the Secret of the state that it is one of. */
export function stateOf(secret: Secret): string | undefined {
  return secret.metadata.annotations?.[ANNOTATION.state];
}

function nameOf(runId: string): string {
  if (/^[a-z0-9][-a-z0-9]{0,99}$/.test(runId)) return `tfstate-rescue-${runId}`;
  return `tfstate-rescue-${digestOf(new TextEncoder().encode(runId)).slice(0, 16)}`;
}

function labelOf(secret: string): string {
  if (secret.length <= 63) return secret;
  return digestOf(new TextEncoder().encode(secret)).slice(0, 32);
}

function dataOf(secret: Secret): Buffer {
  return Buffer.from(secret.data?.tfstate ?? "", "base64");
}
