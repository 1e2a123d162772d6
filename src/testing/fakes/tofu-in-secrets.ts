import { gunzipSync, gzipSync } from "node:zlib";
import type { Lease, Secret } from "../../api/core.ts";
import type { ObjectStore } from "../../ports/object-store.ts";
import type { StateId } from "../../ports/state.ts";

const call = { signal: new AbortController().signal };
const LOCK_INFO = "app.terraform.io/lock-info";

export interface HeldLock {
  readonly id: string;
  /** Such as runner@net-tf-runner. */
  readonly who: string;
  readonly operation?: string;
}

/**
 * What OpenTofu 1.12.6 does to a cluster with its backend "kubernetes", object for object: written
 * down from a real one, to which test/real/states-cluster.test.ts holds it.
 */
export class TofuInSecrets {
  readonly #store: ObjectStore;

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  async takeLock(state: StateId, { id, who, operation }: HeldLock): Promise<void> {
    const info = {
      ...{ ID: id, Operation: operation ?? "OperationTypeApply", Info: "", Who: who },
      ...{ Version: "1.12.6", Created: "2026-01-01T00:00:00.123456789Z", Path: "" },
    };
    const lease = await this.lease(state);
    if (lease?.spec?.holderIdentity !== undefined) throw new Error("The state is locked already");
    const spec = { ...lease?.spec, holderIdentity: id };
    const annotations = { [LOCK_INFO]: JSON.stringify(info) };
    if (lease === undefined) {
      const metadata = { ...metadataOf(state, "lock-"), annotations };
      const kind = { apiVersion: "coordination.k8s.io/v1", kind: "Lease" } as const;
      await this.#store.create({ ...kind, metadata, spec }, call);
    } else {
      const metadata = { ...lease.metadata, annotations };
      await this.#store.update({ ...lease, metadata, spec }, "main", call);
    }
  }

  async returnLock(state: StateId, id: string): Promise<void> {
    const lease = await this.lease(state);
    if (lease?.spec?.holderIdentity !== id) throw new Error(`Lock ${id} is not held`);
    const { holderIdentity: _, ...spec } = lease.spec;
    const { annotations: __, ...metadata } = lease.metadata;
    await this.#store.update({ ...lease, metadata, spec }, "main", call);
  }

  async write(state: StateId, text: string): Promise<void> {
    await this.put(state, gzipSync(text));
  }

  /** Whatever bytes under the state's key. */
  async put(state: StateId, bytes: Uint8Array): Promise<void> {
    const data = { tfstate: Buffer.from(bytes).toString("base64") };
    const secret = await this.secret(state);
    if (secret !== undefined) {
      await this.#store.update({ ...secret, data }, "main", call);
      return;
    }
    const metadata = { ...metadataOf(state, ""), annotations: { encoding: "gzip" } };
    const made: Secret = { apiVersion: "v1", kind: "Secret", type: "Opaque", metadata, data };
    await this.#store.create(made, call);
  }

  async read(state: StateId): Promise<string | undefined> {
    const text = (await this.secret(state))?.data?.tfstate;
    return text === undefined ? undefined : gunzipSync(Buffer.from(text, "base64")).toString();
  }

  async secret(state: StateId): Promise<Secret | undefined> {
    const { namespace = "", name } = metadataOf(state, "");
    return await this.#store.get({ kind: "Secret", namespace, name }, call);
  }

  async lease(state: StateId): Promise<Lease | undefined> {
    const { namespace = "", name } = metadataOf(state, "lock-");
    return await this.#store.get({ kind: "Lease", namespace, name }, call);
  }
}

function metadataOf({ namespace, name, workspace, secret }: StateId, prefix: string) {
  const suffix = secret?.suffix ?? name;
  return {
    namespace,
    name: `${prefix}tfstate-${workspace}-${suffix}`,
    labels: {
      ...{ "app.kubernetes.io/managed-by": "terraform", tfstate: "true" },
      ...{ tfstateSecretSuffix: suffix, tfstateWorkspace: workspace },
      ...secret?.labels,
    },
  };
}
