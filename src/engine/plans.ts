import { gunzipSync, gzipSync } from "node:zlib";
import type { ConfigMap, Secret } from "../api/core.ts";
import { keyOf } from "../api/kinds.ts";
import type { ObjectMeta } from "../api/meta.ts";
import type { Terraform } from "../api/terraform.ts";
import type { Call } from "../ports/call.ts";
import { isStoreError, type ObjectStore } from "../ports/object-store.ts";
import { sha256Hex } from "./canonical.ts";
import { labelValue, objectName } from "./object-names.ts";
import { isOwnedBy, ownedBy } from "./owner.ts";

/**
 * Saved plans, kept as tofu-controller keeps them so that its tools go on reading them: the plan
 * file gzipped in Secrets, its JSON beside it under the suffix ".json", its text in ConfigMaps.
 */

/** What is cut into several objects lies in pieces of this size, in bytes. */
const CHUNK_BYTES = 1_048_576;
/** No plan that is read may unfold to more than this. */
const PLAN_BYTES_MAX = 512 * CHUNK_BYTES;
const KEY = "tfplan";
const GROUP = "infra.contrib.fluxcd.io";
const LABEL = { name: `${GROUP}/plan-name`, workspace: `${GROUP}/plan-workspace` } as const;
const ANNOTATION = {
  planId: "savedPlan",
  encoding: "encoding",
  fullName: `${GROUP}/plan-full-name`,
  fullWorkspace: `${GROUP}/plan-full-workspace`,
  chunk: `${GROUP}/plan-chunk`,
  hash: `${GROUP}/plan-hash`,
} as const;

export interface PlanFiles {
  /** The plan file as tofu wrote it. */
  readonly binary: Uint8Array;
  /** What `show -json` says of it, if it is kept. */
  readonly json: Uint8Array | undefined;
  /** What `show` says of it, for people; masked. */
  readonly text: Uint8Array | undefined;
  /** The spec asks for the text in ConfigMaps too, where tofu-controller keeps it. */
  readonly textForAll?: boolean;
}

export type LoadedPlan =
  | { readonly state: "absent" }
  /** `digest` is the sha256 hex of the whole plan file. */
  | {
      readonly state: "loaded";
      readonly id: string;
      readonly binary: Uint8Array;
      readonly digest: string;
    }
  /** The message says what is wrong with it. */
  | { readonly state: "damaged"; readonly id: string | undefined; readonly message: string };

/** Replaces whatever plan the object had. Fails with StoreError. */
export async function savePlan(
  terraform: Terraform,
  plan: PlanFiles & { readonly id: string },
  store: ObjectStore,
  call: Call,
): Promise<void> {
  await deletePlan(terraform, store, call);
  const secrets = [
    ...secretsOf(terraform, { suffix: "", id: plan.id, content: plan.binary }),
    ...(plan.json === undefined
      ? []
      : secretsOf(terraform, { suffix: ".json", id: plan.id, content: plan.json })),
  ];
  if (plan.text !== undefined) {
    secrets.push(...secretsOf(terraform, { suffix: ".txt", id: plan.id, content: plan.text }));
  }
  for (const secret of secrets) await createFree(secret, store, call);
  if (plan.text === undefined || plan.textForAll !== true) return;
  const text = Buffer.from(plan.text).toString("utf8");
  for (const map of configMapsOf(terraform, plan.id, text)) await createFree(map, store, call);
}

/** The plan the object has, put together and checked. Fails with StoreError. */
export async function loadPlan(
  terraform: Terraform,
  store: ObjectStore,
  call: Call,
): Promise<LoadedPlan> {
  const secrets = await ownSecrets(terraform, "", store, call);
  const first = secrets[0];
  if (first === undefined) return { state: "absent" };
  const id = first.metadata.annotations?.[ANNOTATION.planId];
  try {
    const binary = assemble(secrets);
    return { state: "loaded", id: id ?? "", binary, digest: sha256Hex(binary) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { state: "damaged", id, message: `The saved plan cannot be read: ${message}` };
  }
}

/** Removes the object's plan in all its forms. Fails with StoreError. */
export async function deletePlan(
  terraform: Terraform,
  store: ObjectStore,
  call: Call,
): Promise<void> {
  const found = [
    ...(await ownSecrets(terraform, "", store, call)),
    ...(await ownSecrets(terraform, ".json", store, call)),
    ...(await ownSecrets(terraform, ".txt", store, call)),
    ...(await ownConfigMaps(terraform, store, call)),
  ];
  for (const object of found) {
    const ref = { kind: object.kind, ...keyOf(object) };
    try {
      await store.delete(ref, object.metadata.uid ? { uid: object.metadata.uid } : {}, call);
    } catch (error) {
      const gone = isStoreError(error, "NotFound") || isStoreError(error, "Conflict");
      if (!gone) throw error;
    }
  }
}

interface Form {
  readonly suffix: "" | ".json" | ".txt";
  readonly id: string;
  readonly content: Uint8Array;
}

function secretsOf(terraform: Terraform, form: Form): Secret[] {
  const packed = gzipSync(form.content);
  const chunks = chunksOf(packed);
  return chunks.map((chunk, index) => {
    const alone = chunks.length === 1;
    const hash = sha256Hex(alone ? form.content : chunk);
    const metadata = metadataOf(terraform, form, { index: alone ? undefined : index, hash });
    metadata.annotations = { ...metadata.annotations, [ANNOTATION.encoding]: "gzip" };
    const data = { [KEY]: Buffer.from(chunk).toString("base64") };
    return { apiVersion: "v1", kind: "Secret", type: "Opaque", metadata, data };
  });
}

function configMapsOf(terraform: Terraform, id: string, text: string): ConfigMap[] {
  const chunks = textChunksOf(text);
  const form = { suffix: "" as const, id };
  return chunks.map((chunk, index) => {
    const place = { index: chunks.length === 1 ? undefined : index, hash: sha256Hex(chunk) };
    const metadata = metadataOf(terraform, form, place);
    return { apiVersion: "v1", kind: "ConfigMap", metadata, data: { [KEY]: chunk } };
  });
}

function metadataOf(
  terraform: Terraform,
  form: Pick<Form, "suffix" | "id">,
  chunk: { readonly index: number | undefined; readonly hash: string },
): ObjectMeta {
  const { namespace, name } = keyOf(terraform);
  const workspace = workspaceOf(terraform);
  const end = chunk.index === undefined ? "" : `-${chunk.index}`;
  const numbered = chunk.index === undefined ? {} : { [ANNOTATION.chunk]: String(chunk.index) };
  return {
    namespace,
    name: objectName(`tfplan-${workspace}-${name}${form.suffix}${end}`),
    labels: labelsOf(terraform, form.suffix),
    annotations: {
      [ANNOTATION.planId]: form.id,
      [ANNOTATION.fullName]: `${name}${form.suffix}`,
      [ANNOTATION.fullWorkspace]: workspace,
      [ANNOTATION.hash]: chunk.hash,
      ...numbered,
    },
    ownerReferences: [ownedBy(terraform, false)],
  };
}

function labelsOf(terraform: Terraform, suffix: string): Record<string, string> {
  return {
    [LABEL.name]: labelValue(`${terraform.metadata.name}${suffix}`),
    [LABEL.workspace]: labelValue(workspaceOf(terraform)),
  };
}

function workspaceOf(terraform: Terraform): string {
  return terraform.spec.workspace ?? "default";
}

/**
 * Names of plans are ambiguous ("a-b" of workspace "c" and "b" of workspace "a-c…" meet): a name
 * that somebody else's plan has already is made unique. Plans are found by label, never by name.
 */
async function createFree(object: Secret | ConfigMap, store: ObjectStore, call: Call) {
  try {
    await store.create(object, call);
  } catch (error) {
    if (!isStoreError(error, "AlreadyExists")) throw error;
    const owner = object.metadata.ownerReferences?.[0]?.uid ?? "";
    const name = objectName(`${object.metadata.name}-${sha256Hex(owner).slice(0, 8)}`);
    await store.create({ ...object, metadata: { ...object.metadata, name } }, call);
  }
}

async function ownSecrets(terraform: Terraform, suffix: string, store: ObjectStore, call: Call) {
  const { namespace } = keyOf(terraform);
  const where = { namespace, labels: labelsOf(terraform, suffix) };
  const { items } = await store.list("Secret", where, call);
  return items.filter((each) => isOwnedBy(each.metadata, terraform)).sort(byChunk);
}

async function ownConfigMaps(terraform: Terraform, store: ObjectStore, call: Call) {
  const { namespace } = keyOf(terraform);
  const where = { namespace, labels: labelsOf(terraform, "") };
  const { items } = await store.list("ConfigMap", where, call);
  return items.filter((each) => isOwnedBy(each.metadata, terraform)).sort(byChunk);
}

function chunkIndex(object: Secret | ConfigMap): number {
  return Number(object.metadata.annotations?.[ANNOTATION.chunk] ?? "0");
}

function byChunk(a: Secret | ConfigMap, b: Secret | ConfigMap): number {
  return chunkIndex(a) - chunkIndex(b);
}

/** Throws in words if a piece is missing, belongs to another plan or has been changed. */
function assemble(secrets: readonly Secret[]): Uint8Array {
  const ids = new Set(secrets.map((each) => each.metadata.annotations?.[ANNOTATION.planId]));
  if (ids.size > 1) throw new Error("its pieces belong to different plans");
  const pieces = secrets.map((secret, index) => {
    if (chunkIndex(secret) !== index) throw new Error(`piece ${index} is missing`);
    return Buffer.from(secret.data?.[KEY] ?? "", "base64");
  });
  const alone = pieces.length === 1;
  const whole = Buffer.concat(pieces);
  const zipped = secrets[0]?.metadata.annotations?.[ANNOTATION.encoding] === "gzip";
  const content = zipped ? gunzipSync(whole, { maxOutputLength: PLAN_BYTES_MAX }) : whole;
  for (const [index, secret] of secrets.entries()) {
    const hash = secret.metadata.annotations?.[ANNOTATION.hash];
    const hashed = alone ? content : (pieces[index] ?? new Uint8Array());
    if (hash !== undefined && hash !== sha256Hex(hashed)) {
      throw new Error(`Secret ${secret.metadata.name} does not have the digest it names`);
    }
  }
  return content;
}

function chunksOf(content: Uint8Array): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let start = 0; start < content.length; start += CHUNK_BYTES) {
    chunks.push(content.subarray(start, start + CHUNK_BYTES));
  }
  return chunks;
}

/** Cuts text into chunks of bytes without cutting a character. */
function textChunksOf(text: string): string[] {
  const bytes = Buffer.from(text, "utf8");
  const chunks: string[] = [];
  let start = 0;
  do {
    let end = Math.min(start + CHUNK_BYTES, bytes.length);
    while (end < bytes.length && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
    chunks.push(bytes.toString("utf8", start, end));
    start = end;
  } while (start < bytes.length);
  return chunks;
}
