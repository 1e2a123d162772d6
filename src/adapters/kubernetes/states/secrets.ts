import type { Secret } from "../../../api/core.ts";
import { readStateHead, type StateHead } from "../../../domain/state-file.ts";
import type { Call } from "../../../ports/call.ts";
import { isStoreError, type ObjectStore } from "../../../ports/object-store.ts";
import { ENCODING, STATE_KEY, type StateNames } from "./names.ts";
import { packed, SECRET_BYTES_MAX, Unreadable, unpacked } from "./packed.ts";

export type Found =
  | { readonly content: Buffer; readonly head: StateHead }
  /** As the end of a sentence; quotes nothing of it. */
  | { readonly damage: string };

/** The current states, each in its Secret. */
export class StateSecrets {
  readonly #store: ObjectStore;

  constructor({ store }: { readonly store: ObjectStore }) {
    this.#store = store;
  }

  async get({ namespace, secret }: StateNames, call: Call): Promise<Secret | undefined> {
    return await this.#store.get({ kind: "Secret", namespace, name: secret }, call);
  }

  /**
   * Writes the state as OpenTofu would, in the place of `secret`, which must be there as it was
   * read. Undefined: done. Else why it cannot be written, as the end of a sentence.
   */
  async write(
    names: StateNames,
    secret: Secret | undefined,
    content: Uint8Array,
    call: Call,
  ): Promise<string | undefined> {
    const bytes = await packed(content);
    if (bytes.length > SECRET_BYTES_MAX) {
      return `it takes ${bytes.length} bytes, and a Secret holds ${SECRET_BYTES_MAX}`;
    }
    const data = { ...secret?.data, [STATE_KEY]: bytes.toString("base64") };
    try {
      if (secret !== undefined) await this.#store.update({ ...secret, data }, "main", call);
      else await this.#store.create({ ...emptySecret(names), data }, call);
      return undefined;
    } catch (error) {
      const changed = isStoreError(error, "Conflict") || isStoreError(error, "AlreadyExists");
      if (changed) return "somebody wrote it at the same time, and without the lock";
      const refused = isStoreError(error, "Invalid") || isStoreError(error, "Forbidden");
      if (refused) return `the API server does not take it: ${error.message}`;
      throw error;
    }
  }
}

function emptySecret({ namespace, secret: name, labels }: StateNames): Secret {
  const metadata = { namespace, name, labels: { ...labels }, annotations: { ...ENCODING } };
  return { apiVersion: "v1", kind: "Secret", type: "Opaque", metadata };
}

/** A Secret without the key is no state: so OpenTofu has it. */
export async function contentOf(secret: Secret | undefined): Promise<Found | undefined> {
  const text = secret?.data?.[STATE_KEY];
  if (text === undefined) return undefined;
  try {
    const content = await unpacked(Buffer.from(text, "base64"));
    const head = readStateHead(content);
    return "problem" in head ? { damage: head.problem } : { content, head };
  } catch (error) {
    if (error instanceof Unreadable) return { damage: error.message };
    throw error;
  }
}

export function damageText({ namespace, secret }: StateNames, damage: string): string {
  return (
    `Secret ${namespace}/${secret} holds under "${STATE_KEY}" no state that OpenTofu could read, ` +
    `${damage}; put a good copy there with "nigari state push"`
  );
}
