import { randomBytes } from "node:crypto";
import type { Call } from "../../ports/call.ts";
import { isStoreError, type ObjectStore } from "../../ports/object-store.ts";

const KEY_BYTES = 32;
const NAME = "nigari-digest-key";
const FIELD = "key";

/**
 * The key that this cluster's digests of inputs are made with, shared by the replicas: kept in a
 * Secret of the controller's namespace, made if it is not there. One that is damaged is replaced:
 * all that comes of it is a new plan of each object. Fails with StoreError.
 */
export async function clusterDigestKey(
  store: ObjectStore,
  namespace: string,
  call: Call,
): Promise<Uint8Array> {
  const ref = { kind: "Secret", namespace, name: NAME } as const;
  for (;;) {
    const found = await store.get(ref, call);
    const kept = Buffer.from(found?.data?.[FIELD] ?? "", "base64");
    if (kept.length === KEY_BYTES) return kept;
    const data = { [FIELD]: randomBytes(KEY_BYTES).toString("base64") };
    const metadata = found?.metadata ?? { name: NAME, namespace };
    const secret = { apiVersion: "v1", kind: "Secret", metadata, type: "Opaque", data } as const;
    try {
      await (found === undefined ? store.create(secret, call) : store.update(secret, "main", call));
    } catch (error) {
      // Another replica was faster, and its key is as good.
      if (!isStoreError(error, "AlreadyExists") && !isStoreError(error, "Conflict")) throw error;
    }
  }
}
