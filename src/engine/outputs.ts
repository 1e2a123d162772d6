import type { Secret } from "../api/core.ts";
import { keyOf } from "../api/kinds.ts";
import type { Terraform } from "../api/terraform.ts";
import type { OutputsSecretFact } from "../domain/facts.ts";
import type { Call } from "../ports/call.ts";
import { describeRef, isStoreError, type ObjectStore } from "../ports/object-store.ts";
import { sameJson } from "./canonical.ts";
import { labelValue } from "./object-names.ts";
import { isOwnedBy, ownedBy, ownerText } from "./owner.ts";

/**
 * The Secret of spec.writeOutputsToSecret. It belongs to the object wholly (data, labels and
 * annotations are what the spec and the outputs say), and a Secret of that name that belongs to
 * somebody else is never touched.
 */

/** Finds the Secret again after spec.writeOutputsToSecret.name was changed. */
const OUTPUTS_OF = "nigari.dev/outputs-of";

/** The outputs cannot be written, and the message says how to mend it. Holds no value. */
export class OutputsTrouble extends Error {
  override readonly name = "OutputsTrouble";
}

/** What is there now. Fails with StoreError. */
export async function outputsFact(
  terraform: Terraform,
  store: ObjectStore,
  call: Call,
): Promise<OutputsSecretFact> {
  const wanted = terraform.spec.writeOutputsToSecret;
  if (wanted === undefined) return { state: "not-wanted" };
  const secret = await store.get(outputsRef(terraform, wanted.name), call);
  if (secret === undefined) return { state: "absent" };
  if (!isOwnedBy(secret.metadata, terraform)) {
    return { state: "foreign", owner: ownerText(secret.metadata) };
  }
  return { state: "present", keys: Object.keys(secret.data ?? {}).sort() };
}

/**
 * Writes what `output -json` said to the Secret, and removes one left under a former name.
 * Fails with OutputsTrouble and StoreError.
 */
export async function writeOutputs(
  terraform: Terraform,
  outputsJson: Uint8Array,
  store: ObjectStore,
  call: Call,
): Promise<void> {
  const wanted = terraform.spec.writeOutputsToSecret;
  if (wanted === undefined) return;
  const data = outputsData(parseOutputs(outputsJson), wanted.outputs ?? []);
  const ref = outputsRef(terraform, wanted.name);
  const stored = await store.get(ref, call);
  if (stored === undefined) {
    await store.create(secretOf(terraform, wanted, data), call);
  } else if (!isOwnedBy(stored.metadata, terraform)) {
    throw new OutputsTrouble(
      `spec.writeOutputsToSecret.name: ${describeRef(ref)} belongs to somebody else ` +
        `(${ownerText(stored.metadata)}); choose another name or remove that Secret`,
    );
  } else {
    await replace(stored, secretOf(terraform, wanted, data), store, call);
  }
  await removeFormer(terraform, wanted.name, store, call);
}

/** Removes the Secret, if it is the object's. Fails with StoreError. */
export async function deleteOutputs(
  terraform: Terraform,
  store: ObjectStore,
  call: Call,
): Promise<void> {
  await removeFormer(terraform, undefined, store, call);
  const name = terraform.spec.writeOutputsToSecret?.name;
  if (name === undefined) return;
  const secret = await store.get(outputsRef(terraform, name), call);
  if (secret !== undefined && isOwnedBy(secret.metadata, terraform)) {
    await remove(secret, store, call);
  }
}

interface Output {
  readonly type: unknown;
  readonly value: unknown;
}

/** Numbers keep their digits: a double would round long ones. */
function parseOutputs(json: Uint8Array): ReadonlyMap<string, Output> {
  const exact = (_key: string, value: unknown, context?: { source?: string }) =>
    typeof value === "number" && context?.source !== undefined
      ? (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(context.source)
      : value;
  try {
    const parsed: unknown = JSON.parse(Buffer.from(json).toString("utf8"), exact);
    return new Map(Object.entries(mapIn(parsed)).map(([name, each]) => [name, outputIn(each)]));
  } catch {
    // The parser's own message would quote a piece of the text, which may be secret.
    throw new OutputsTrouble(
      "The outputs that the run left are no JSON object of outputs, each with its value; see " +
        "that NIGARI_TOFU names OpenTofu or Terraform itself",
    );
  }
}

function mapIn(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new TypeError("No map");
}

function outputIn(value: unknown): Output {
  const { type, value: own } = mapIn(value);
  if (own === undefined) throw new TypeError("No value");
  return { type, value: own };
}

/** Base64 data: strings as they are, everything else as JSON with its type beside it. */
function outputsData(outputs: ReadonlyMap<string, Output>, wanted: readonly string[]) {
  const data: Record<string, string> = {};
  const chosen = wanted.length === 0 ? [...outputs.keys()] : wanted;
  for (const text of chosen) {
    const colon = text.indexOf(":");
    const name = wanted.length === 0 || colon < 0 ? text : text.slice(0, colon);
    const key = wanted.length === 0 || colon < 0 ? text : text.slice(colon + 1);
    const output = outputs.get(name);
    if (output === undefined) {
      throw new OutputsTrouble(
        `spec.writeOutputsToSecret.outputs: output not found: ${name}; ` +
          "the module has no such output, so correct the name or add the output",
      );
    }
    if (typeof output.value === "string") {
      data[key] = toBase64(output.value);
    } else {
      data[key] = toBase64(JSON.stringify(output.value ?? null));
      data[`${key}__type`] = toBase64(JSON.stringify(output.type ?? null));
    }
  }
  return data;
}

type Wanted = NonNullable<Terraform["spec"]["writeOutputsToSecret"]>;

function secretOf(terraform: Terraform, wanted: Wanted, data: Record<string, string>): Secret {
  const metadata = {
    name: wanted.name,
    namespace: keyOf(terraform).namespace,
    labels: { ...wanted.labels, [OUTPUTS_OF]: labelValue(terraform.metadata.name) },
    annotations: { ...wanted.annotations },
    ownerReferences: [ownedBy(terraform, true)],
  };
  return { apiVersion: "v1", kind: "Secret", type: "Opaque", metadata, data };
}

async function replace(stored: Secret, next: Secret, store: ObjectStore, call: Call) {
  const { labels, annotations } = next.metadata;
  const same =
    sameJson(stored.data ?? {}, next.data ?? {}) &&
    sameJson(stored.metadata.labels ?? {}, labels ?? {}) &&
    sameJson(stored.metadata.annotations ?? {}, annotations ?? {});
  if (same) return;
  const metadata = { ...stored.metadata, ...next.metadata };
  await store.update<Secret>({ ...stored, metadata, data: next.data ?? {} }, "main", call);
}

async function removeFormer(
  terraform: Terraform,
  current: string | undefined,
  store: ObjectStore,
  call: Call,
) {
  const labels = { [OUTPUTS_OF]: labelValue(terraform.metadata.name) };
  const where = { namespace: keyOf(terraform).namespace, labels };
  for (const secret of (await store.list("Secret", where, call)).items) {
    const former = secret.metadata.name !== current && isOwnedBy(secret.metadata, terraform);
    if (former) await remove(secret, store, call);
  }
}

async function remove(secret: Secret, store: ObjectStore, call: Call) {
  const uid = secret.metadata.uid;
  try {
    await store.delete({ kind: "Secret", ...keyOf(secret) }, uid ? { uid } : {}, call);
  } catch (error) {
    if (!isStoreError(error, "NotFound")) throw error;
  }
}

function outputsRef(terraform: Terraform, name: string) {
  return { kind: "Secret" as const, namespace: keyOf(terraform).namespace, name };
}

function toBase64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}
