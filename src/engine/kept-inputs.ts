import { gunzipSync, gzipSync } from "node:zlib";
import type { Secret } from "../api/core.ts";
import { keyOf } from "../api/kinds.ts";
import type { Terraform } from "../api/terraform.ts";
import type { Call } from "../ports/call.ts";
import { describeRef, isStoreError, type ObjectStore } from "../ports/object-store.ts";
import type { OrderedFile } from "../ports/runner.ts";
import { backendOf } from "./backend.ts";
import { digestOfInputs, type InputPorts, type Inputs } from "./inputs.ts";
import { objectName } from "./object-names.ts";
import { isOwnedBy, ownedBy } from "./owner.ts";

/**
 * The inputs of the last good run, kept for a destroy that comes when they cannot be read any more:
 * in a Secret beside the object and owned by it. "tried" are those of the apply that began last;
 * they become "good" once it has succeeded.
 */

/** No object of the store may be much larger. */
const PACKED_BYTES_MAX = 1_048_576;
const UNPACKED_BYTES_MAX = 64 * 1_048_576;

export type Keep = "tried" | "good";
/** What is kept. The backend is the spec's own; digest and sources are made anew. */
type Kept = Pick<
  Inputs,
  "variables" | "env" | "backendConfig" | "files" | "cliConfig" | "sensitive"
>;

/** The inputs cannot be kept, now or later. */
export class CannotKeep extends Error {
  override readonly name = "CannotKeep";
}

/**
 * Keeps the inputs of this digest. `inputs` are those of now, if they could be read: they may be
 * others by the time that an apply has succeeded. Fails with StoreError or CannotKeep.
 */
export async function keepInputs(
  terraform: Terraform,
  keep: { readonly digest: string; readonly as: Keep; readonly inputs: Inputs | undefined },
  store: ObjectStore,
  call: Call,
): Promise<void> {
  const secret = await ownSecret(terraform, store, call);
  const { digest, as, inputs } = keep;
  const noted = secret?.metadata.annotations ?? {};
  if (noted[annotation(as)] === digest) return;
  const tried = noted[annotation("tried")] === digest ? secret?.data?.tried : undefined;
  const packed = inputs?.digest === digest ? pack(inputs) : tried;
  if (packed === undefined) return;
  const next = {
    annotations: { ...noted, [annotation(as)]: digest },
    data: { ...secret?.data, [as]: packed },
  };
  if (secret === undefined) {
    await clearAway(terraform, store, call);
    await store.create(newSecret(terraform, next), call);
    return;
  }
  const { annotations, data } = next;
  await store.update(
    { ...secret, metadata: { ...secret.metadata, annotations }, data },
    "main",
    call,
  );
}

/**
 * What was kept, as inputs of the object as it is now; the good ones, or those tried if none were
 * ever good. Undefined: none, or they cannot be read back. Fails with StoreError.
 */
export async function loadKeptInputs(
  terraform: Terraform,
  { store, door, options }: InputPorts,
  call: Call,
): Promise<Inputs | undefined> {
  const data = (await ownSecret(terraform, store, call))?.data ?? {};
  const kept = unpack(data.good) ?? unpack(data.tried);
  if (kept === undefined) return undefined;
  const parts = { ...kept, backend: backendOf(terraform, door) };
  return { ...parts, digest: digestOfInputs(parts, terraform, options.digestKey), sources: {} };
}

/** Removes them. Fails with StoreError. */
export async function forgetInputs(
  terraform: Terraform,
  store: ObjectStore,
  call: Call,
): Promise<void> {
  const secret = await ownSecret(terraform, store, call);
  const uid = secret?.metadata.uid;
  if (secret === undefined || uid === undefined) return;
  try {
    await store.delete({ kind: "Secret", ...keyOf(secret) }, { uid }, call);
  } catch (error) {
    if (!isStoreError(error, "NotFound") && !isStoreError(error, "Conflict")) throw error;
  }
}

const annotation = (as: Keep) => `nigari.dev/inputs-${as}`;

function refOf(terraform: Terraform) {
  const { namespace, name } = keyOf(terraform);
  return { kind: "Secret", namespace, name: objectName(`tfinputs-${name}`) } as const;
}

/** Only that of this very object: another one had the same name before, or somebody else has it. */
async function ownSecret(
  terraform: Terraform,
  store: ObjectStore,
  call: Call,
): Promise<Secret | undefined> {
  const found = await store.get(refOf(terraform), call);
  return found !== undefined && isOwnedBy(found.metadata, terraform) ? found : undefined;
}

/** What an object of the same name has left is of no use any more. */
async function clearAway(terraform: Terraform, store: ObjectStore, call: Call): Promise<void> {
  const found = await store.get(refOf(terraform), call);
  if (found === undefined) return;
  const owners = found.metadata.ownerReferences ?? [];
  if (!owners.some(({ kind, name }) => kind === "Terraform" && name === terraform.metadata.name)) {
    throw new CannotKeep(`${describeRef(refOf(terraform))} is not Nigari's; rename or delete it`);
  }
  const { uid } = found.metadata;
  await store.delete(refOf(terraform), uid === undefined ? {} : { uid }, call);
}

function newSecret(
  terraform: Terraform,
  { annotations, data }: { annotations: Record<string, string>; data: Record<string, string> },
): Secret {
  const { namespace, name } = refOf(terraform);
  const ownerReferences = [ownedBy(terraform, false)];
  const metadata = { namespace, name, annotations, ownerReferences };
  return { apiVersion: "v1", kind: "Secret", type: "Opaque", metadata, data };
}

function pack(inputs: Inputs): string {
  const { variables, env, backendConfig, cliConfig, sensitive } = inputs;
  const files = inputs.files.map(({ content, ...file }) => {
    return { ...file, content: Buffer.from(content).toString("base64") };
  });
  const text = JSON.stringify({ variables, env, backendConfig, cliConfig, sensitive, files });
  const packed = gzipSync(text);
  if (packed.length <= PACKED_BYTES_MAX) return packed.toString("base64");
  throw new CannotKeep(`They take ${packed.length} bytes, and ${PACKED_BYTES_MAX} are kept`);
}

function unpack(packed: string | undefined): Kept | undefined {
  if (packed === undefined) return undefined;
  try {
    const bytes = gunzipSync(Buffer.from(packed, "base64"), {
      maxOutputLength: UNPACKED_BYTES_MAX,
    });
    // Written by `pack` and nobody else; what is broken fails in one of these lines.
    const kept = JSON.parse(bytes.toString("utf8")) as Omit<Kept, "files"> & {
      readonly files: readonly (Omit<OrderedFile, "content"> & { readonly content: string })[];
    };
    const files = kept.files.map(({ content, ...file }) => {
      return { ...file, content: Buffer.from(content, "base64") };
    });
    return { ...kept, cliConfig: kept.cliConfig, files };
  } catch {
    return undefined;
  }
}
