import type { Secret } from "../../api/core.ts";
import type { Call } from "../../ports/call.ts";
import type { Clock } from "../../ports/clock.ts";
import { isStoreError, type ObjectStore } from "../../ports/object-store.ts";
import { type Certificate, type LeafRequest, makeAuthority, makeLeaf } from "./certificates.ts";

const DAY_MS = 24 * 3_600_000;

/** How long an authority is valid, and how long its leaves are: no apply takes longer. */
export const AUTHORITY_LIFE_MS = 365 * DAY_MS;
export const LEAF_LIFE_MS = 30 * DAY_MS;
/** A younger one takes over while the old one can still sign whole leaves. */
const SUCCESSION_MS = AUTHORITY_LIFE_MS - 2 * LEAF_LIFE_MS;
/** A new one is shown for so long before it signs: what runners trust is handed on by kubelets. */
export const SHOWN_FIRST_MS = 3_600_000;
/** How long another replica may go on signing with the one it read. */
const CACHED_MS = 600_000;
const DATA_KEY = "authorities.json";

export interface AuthorityOptions {
  /** The controller's own namespace: no tenant can read Secrets there. */
  readonly namespace: string;
  readonly name: string;
}

export interface AuthorityPorts {
  readonly store: ObjectStore;
  readonly clock: Pick<Clock, "now">;
}

interface Stored extends Certificate {
  /** When a younger one was made to take over; soon it signs nothing any more. */
  readonly supersededAtMs?: number;
  readonly madeAtMs?: number;
}

/** The Secret of the authority cannot be used. The message says what a person does. */
export class AuthorityError extends Error {
  override readonly name = "AuthorityError";
}

/**
 * Signs the certificates by which controllers and runners know each other. The keys lie in one
 * Secret, which all replicas share; whoever is first makes it. An authority that was succeeded is
 * trusted until the last leaf that it can have signed has ended, so no runner is ever cut off.
 */
export class Authority {
  readonly #options: AuthorityOptions;
  readonly #ports: AuthorityPorts;
  #read: { readonly authorities: readonly Stored[]; readonly atMs: number } | undefined;

  constructor(options: AuthorityOptions, ports: AuthorityPorts) {
    this.#options = options;
    this.#ports = ports;
  }

  async leaf(request: Omit<LeafRequest, "lifeMs">, call: Call): Promise<Certificate> {
    const nowMs = this.#ports.clock.now();
    const signer = signerOf(await this.#authorities(call), nowMs);
    if (signer === undefined) throw new AuthorityError("There is no authority");
    return await makeLeaf(signer, { ...request, lifeMs: LEAF_LIFE_MS }, nowMs);
  }

  /** PEM of every authority whose leaves may be alive, the newest first. */
  async trusted(call: Call): Promise<string> {
    return (await this.#authorities(call)).map(({ certificate }) => certificate).join("");
  }

  async #authorities(call: Call): Promise<readonly Stored[]> {
    const nowMs = this.#ports.clock.now();
    // A wall clock that was set back must not make the copy look fresh for ever.
    const ageMs = Math.abs(nowMs - (this.#read?.atMs ?? Number.NEGATIVE_INFINITY));
    if (this.#read !== undefined && ageMs < CACHED_MS) return this.#read.authorities;
    const authorities = await this.#current(nowMs, call);
    this.#read = { authorities, atMs: nowMs };
    return authorities;
  }

  async #current(nowMs: number, call: Call): Promise<readonly Stored[]> {
    const { store } = this.#ports;
    for (;;) {
      const secret = await store.get({ kind: "Secret", ...this.#options }, call);
      const stored = secret === undefined ? [] : this.#parse(secret);
      const next = await succeed(stored, nowMs);
      if (next === stored) return stored;
      try {
        await this.#write(secret, next, call);
        return next;
      } catch (error) {
        // Another replica was faster: what it made counts.
        if (!isStoreError(error, "Conflict") && !isStoreError(error, "AlreadyExists")) throw error;
      }
    }
  }

  async #write(secret: Secret | undefined, next: readonly Stored[], call: Call): Promise<void> {
    const { store } = this.#ports;
    const data = { [DATA_KEY]: Buffer.from(JSON.stringify(next)).toString("base64") };
    if (secret !== undefined) {
      await store.update({ ...secret, data: { ...secret.data, ...data } }, "main", call);
      return;
    }
    const metadata = { ...this.#options };
    await store.create({ apiVersion: "v1", kind: "Secret", metadata, type: "Opaque", data }, call);
  }

  #parse({ data }: Secret): readonly Stored[] {
    const text = Buffer.from(data?.[DATA_KEY] ?? "", "base64").toString("utf8");
    try {
      const stored = JSON.parse(text) as unknown;
      if (Array.isArray(stored) && stored.every(isStored)) return stored;
    } catch {
      // Said below; the text itself holds keys and is shown to nobody.
    }
    const { namespace, name } = this.#options;
    throw new AuthorityError(
      `Secret ${namespace}/${name} holds no authority under key ${DATA_KEY}; restore it, or ` +
        "delete it when no run is under way: runners of before cannot be reached then",
    );
  }
}

function isStored(value: unknown): value is Stored {
  const { certificate, key, notBeforeMs, notAfterMs } = (value ?? {}) as Partial<Stored>;
  return (
    typeof certificate === "string" &&
    typeof key === "string" &&
    typeof notBeforeMs === "number" &&
    typeof notAfterMs === "number"
  );
}

/** The same list if nothing is to be done; else with a younger one, without those that ended. */
async function succeed(stored: readonly Stored[], nowMs: number): Promise<readonly Stored[]> {
  const alive = stored.filter((each) => endOf(each) > nowMs);
  const [newest, ...older] = alive;
  if (newest !== undefined && nowMs < newest.notBeforeMs + SUCCESSION_MS) {
    return alive.length === stored.length ? stored : alive;
  }
  const younger = await makeAuthority("nigari", nowMs, AUTHORITY_LIFE_MS);
  const before = newest === undefined ? [] : [{ ...newest, supersededAtMs: nowMs }, ...older];
  return [{ ...younger, madeAtMs: nowMs }, ...before];
}

/** The newest that everybody has been shown, or the only one. */
function signerOf(authorities: readonly Stored[], nowMs: number): Stored | undefined {
  const shown = authorities.find(({ madeAtMs }) => nowMs - (madeAtMs ?? 0) >= SHOWN_FIRST_MS);
  return shown ?? authorities.at(-1);
}

/** When nothing signed by it can be valid any more. */
function endOf({ supersededAtMs, notAfterMs }: Stored): number {
  if (supersededAtMs === undefined) return notAfterMs;
  const signsUntilMs = supersededAtMs + SHOWN_FIRST_MS + CACHED_MS;
  return Math.min(notAfterMs, signsUntilMs + LEAF_LIFE_MS);
}
