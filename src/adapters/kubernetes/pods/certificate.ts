import { createHash } from "node:crypto";
import type { Call } from "../../../ports/call.ts";
import type { Clock } from "../../../ports/clock.ts";
import {
  CONTROLLER_IDENTITY,
  runnerIdentity,
  type TlsIdentity,
} from "../../../protocol/mutual-tls.ts";
import type { Authority } from "../authority.ts";

/** A leaf is replaced when so much of its life is left: time enough for a kubelet to hand it on. */
const RENEWED_AT = 1 / 3;
/** Annotations of the Secret: when the leaf is due, and which authorities it came with. */
export const RENEW_AT = "nigari.dev/renew-at";
export const TRUSTED = "nigari.dev/trusted";

/** What stands in the Secret of a pod, and when it is to be made anew. */
export interface IssuedCertificate {
  readonly data: Readonly<Record<"tls.crt" | "tls.key" | "ca.crt", string>>;
  readonly annotations: Readonly<Record<typeof RENEW_AT | typeof TRUSTED, string>>;
}

/** The certificates of pods, and the controller's own. */
export class Certificates {
  readonly #authority: Pick<Authority, "leaf" | "trusted">;
  readonly #clock: Pick<Clock, "now">;
  #own: { readonly identity: TlsIdentity; readonly dueMs: number } | undefined;

  constructor(authority: Pick<Authority, "leaf" | "trusted">, clock: Pick<Clock, "now">) {
    this.#authority = authority;
    this.#clock = clock;
  }

  async issue(runId: string, podUid: string, call: Call): Promise<IssuedCertificate> {
    const identity = runnerIdentity(runId, podUid);
    const leaf = await this.#authority.leaf({ purpose: "server", identity }, call);
    const trusted = await this.#authority.trusted(call);
    return {
      data: {
        "tls.crt": base64(leaf.certificate),
        "tls.key": base64(leaf.key),
        "ca.crt": base64(trusted),
      },
      annotations: {
        [RENEW_AT]: new Date(this.#dueMs(leaf)).toISOString(),
        [TRUSTED]: digest(trusted),
      },
    };
  }

  /** Whether a Secret with these annotations is to be made anew. */
  async isDue(
    annotations: Readonly<Record<string, string>> | undefined,
    call: Call,
  ): Promise<boolean> {
    const dueMs = Date.parse(annotations?.[RENEW_AT] ?? "");
    if (!(this.#clock.now() < dueMs)) return true;
    return annotations?.[TRUSTED] !== digest(await this.#authority.trusted(call));
  }

  /** By which the controller is known; the authorities are those of now. */
  async own(call: Call): Promise<TlsIdentity> {
    const trusted = await this.#authority.trusted(call);
    if (this.#own === undefined || this.#clock.now() >= this.#own.dueMs) {
      const request = { purpose: "client", identity: CONTROLLER_IDENTITY } as const;
      const leaf = await this.#authority.leaf(request, call);
      const identity = { certificate: leaf.certificate, key: leaf.key, trusted };
      this.#own = { identity, dueMs: this.#dueMs(leaf) };
    }
    return { ...this.#own.identity, trusted };
  }

  #dueMs({ notAfterMs }: { readonly notAfterMs: number }): number {
    return notAfterMs - (notAfterMs - this.#clock.now()) * RENEWED_AT;
  }
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}
