import { createHmac } from "node:crypto";
import type { ConfigMap, Secret } from "../api/core.ts";
import { keyText } from "../api/kinds.ts";
import { REASON, type Reason } from "../api/names.ts";
import type { EnvVar } from "../api/terraform.ts";
import type { Call } from "../ports/call.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import { canonicalJson } from "./canonical.ts";

export type InputKind = "Secret" | "ConfigMap";
export type ValueSource = NonNullable<EnvVar["valueFrom"]>;

/** Trouble of the object, not of the machine. */
export class InputTrouble extends Error {
  override readonly name = "InputTrouble";
  readonly reason: Reason;
  constructor(message: string, reason: Reason = REASON.varsGenerationFailed) {
    super(message);
    this.reason = reason;
  }
}

export interface InputRef {
  readonly kind: InputKind;
  readonly name: string;
  /** The object's own if absent. */
  readonly namespace?: string | undefined;
}

/** The field that asks. */
export interface Asked {
  readonly field: string;
  /** Whether what it names may lack; undefined: the field has no way to say so. */
  readonly optional: boolean | undefined;
  /** Reason of a failure; that of variables if absent. */
  readonly reason?: Reason;
}

/** Reads each Secret and ConfigMap once a pass, and remembers which values are secret. */
export class InputReader {
  readonly sensitive = new Set<string>();
  /** A keyed digest of each object that was read, by `Kind namespace/name`; "" if it lacks. */
  readonly sources: Record<string, string> = {};
  readonly #namespace: string;
  readonly #ports: { readonly store: ObjectStore; readonly digestKey: Uint8Array };
  readonly #call: Call;
  readonly #read = new Map<string, ReadonlyMap<string, Buffer> | undefined>();

  constructor(
    namespace: string,
    ports: { readonly store: ObjectStore; readonly digestKey: Uint8Array },
    call: Call,
  ) {
    this.#namespace = namespace;
    this.#ports = ports;
    this.#call = call;
  }

  /** One key of one object; undefined if it lacks and may. */
  async single(from: ValueSource, field: string): Promise<string | undefined> {
    const kind = from.secretKeyRef === undefined ? "ConfigMap" : "Secret";
    const ref = from.secretKeyRef ?? from.configMapKeyRef;
    const at = `${field}.valueFrom`;
    if (ref === undefined) {
      const message = "only secretKeyRef and configMapKeyRef can be read; use one of them or value";
      throw new InputTrouble(`${at}: ${message}`);
    }
    const asked = { field: at, optional: ref.optional ?? false };
    return (await this.key({ kind, name: ref.name }, ref.key, asked))?.toString("utf8");
  }

  /** The bytes of one key of one object; undefined if it lacks and may. */
  async key(ref: InputRef, key: string, asked: Asked): Promise<Buffer | undefined> {
    const value = (await this.data(ref, asked))?.get(key);
    if (value !== undefined) {
      this.taken(ref.kind, value);
      return value;
    }
    if (asked.optional) return undefined;
    throw this.missing(ref, key, asked);
  }

  /** Everything in one object; undefined if it lacks and may. */
  async data(ref: InputRef, asked: Asked): Promise<ReadonlyMap<string, Buffer> | undefined> {
    const { kind, name, namespace = this.#namespace } = ref;
    const where = keyText({ namespace, name });
    const id = `${kind} ${where}`;
    if (!this.#read.has(id)) {
      const data = decoded(await this.#ports.store.get({ kind, namespace, name }, this.#call));
      this.#read.set(id, data);
      this.sources[id] = data === undefined ? "" : this.#digestOf(data);
    }
    const data = this.#read.get(id);
    if (data !== undefined || asked.optional) return data;
    throw new InputTrouble(
      `${asked.field}: ${id} does not exist; create it, correct the name, or ${mend(asked)}`,
      asked.reason,
    );
  }

  /** Notes a value as handed on, and answers it as text. */
  taken(kind: InputKind, value: Buffer): string {
    const text = value.toString("utf8");
    if (kind === "Secret") for (const part of secretParts(text)) this.sensitive.add(part);
    return text;
  }

  missing(ref: InputRef, key: string, asked: Asked): InputTrouble {
    const { kind, name, namespace = this.#namespace } = ref;
    return new InputTrouble(
      `${asked.field}: ${kind} ${keyText({ namespace, name })} has no key "${key}"; ` +
        `add the key to it, correct the name, or ${mend(asked)}`,
      asked.reason,
    );
  }

  /** Short, for it only tells that something changed. */
  #digestOf(data: ReadonlyMap<string, Buffer>): string {
    const entries = [...data].map(([key, value]) => [key, value.toString("base64")]);
    return keyedDigest(this.#ports.digestKey, Object.fromEntries(entries)).slice(0, 16);
  }
}

/**
 * What identifies values without telling them: whoever reads a status but has not the engine's key
 * cannot try out which password gives this digest.
 */
export function keyedDigest(key: Uint8Array, value: unknown): string {
  return createHmac("sha256", key).update(canonicalJson(value)).digest("hex");
}

function mend({ optional }: Asked): string {
  return optional === undefined ? "remove the field" : "set optional: true";
}

/** Log lines are masked one by one, so the longer lines of a value count by themselves. */
function secretParts(value: string): string[] {
  const lines = value.split("\n").map((line) => line.trim());
  return [
    value,
    value.trim(),
    ...lines.filter((line) => lines.length > 1 && line.length >= 8),
  ].filter((part) => part !== "");
}

function decoded(object: Secret | ConfigMap | undefined): ReadonlyMap<string, Buffer> | undefined {
  if (object === undefined) return undefined;
  const plain = object.kind === "ConfigMap" ? (object.data ?? {}) : {};
  const base64 = object.kind === "ConfigMap" ? (object.binaryData ?? {}) : (object.data ?? {});
  return new Map([
    ...Object.entries(base64).map(([key, value]) => [key, Buffer.from(value, "base64")] as const),
    ...Object.entries(plain).map(([key, value]) => [key, Buffer.from(value, "utf8")] as const),
  ]);
}
