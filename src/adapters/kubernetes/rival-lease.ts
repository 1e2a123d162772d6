import { OWN_IDENTITY, UPSTREAM_LEASE } from "../../api/cluster-names.ts";
import type { Call } from "../../ports/call.ts";
import { type Lead, type Leadership, NotLeader, type Rival } from "../../ports/leadership.ts";
import { createLeaseLeadership, type LeasePorts, type Waiting } from "./lease-leadership.ts";

/** Between the end of one holding and the next try. */
const AGAIN_MS = 1_000;

export interface RivalOptions {
  readonly namespace: string;
  /** Begins with OWN_IDENTITY. */
  readonly identity: string;
}

/**
 * Holds tofu-controller's own Lease as long as it can, so that one that is scaled up again waits;
 * and while one holds it, says so. Several Nigari, such as shards, do not hold each other back:
 * between them their own Leases decide.
 */
export class RivalLease implements Rival {
  readonly #namespace: string;
  readonly #leadership: Leadership;
  readonly #ports: LeasePorts;
  readonly #firstLook = Promise.withResolvers<void>();
  #heldBack: string | undefined;
  #listeners = new Set<() => void>();

  constructor({ namespace, identity }: RivalOptions, ports: LeasePorts) {
    this.#namespace = namespace;
    this.#ports = ports;
    this.#heldBack = `It is not known yet who holds ${this.#text()}`;
    const waiting = (seen: Waiting) => this.#say(this.#wordsOn(seen));
    const options = { namespace, name: UPSTREAM_LEASE, identity, waiting };
    this.#leadership = createLeaseLeadership(options, ports);
  }

  heldBack(): string | undefined {
    return this.#heldBack;
  }

  async *changes({ signal }: Call): AsyncIterable<void> {
    let told = this.#heldBack;
    while (!signal.aborted) {
      if (told === this.#heldBack) await this.#nextChange(signal);
      if (signal.aborted || told === this.#heldBack) continue;
      told = this.#heldBack;
      yield;
    }
  }

  /** Resolves once it has been looked who holds the Lease, or when the signal fires. */
  async known(signal: AbortSignal): Promise<void> {
    const fired = new Promise<void>((resolve) => {
      if (signal.aborted) return resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await Promise.race([this.#firstLook.promise, fired]);
  }

  /** Takes the Lease and holds it, again and again, until the signal fires; then lets go of it. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const lead = await this.#leadership.acquire({ signal });
        this.#say(undefined);
        await untilOver(lead, signal);
        if (signal.aborted) await lead.release();
        else this.#say(`${this.#text()} was lost: ${wordsOf(lead.lost.reason)}`);
      } catch (error) {
        if (!(error instanceof NotLeader)) throw error;
      }
      await this.#ports.clock.sleep(AGAIN_MS, signal);
    }
  }

  #wordsOn(seen: Waiting): string | undefined {
    if (seen.for === "answer") {
      return `It is not known who holds ${this.#text()}: ${seen.trouble}; nothing is started`;
    }
    if (seen.identity.startsWith(OWN_IDENTITY)) return undefined;
    return (
      `Another controller, ${seen.identity}, holds ${this.#text()}; nothing is started while it ` +
      "does. Scale tofu-controller to zero, and this goes on by itself"
    );
  }

  #text(): string {
    return `Lease ${this.#namespace}/${UPSTREAM_LEASE}`;
  }

  #say(heldBack: string | undefined): void {
    this.#firstLook.resolve();
    if (heldBack === this.#heldBack) return;
    this.#heldBack = heldBack;
    for (const tell of [...this.#listeners]) tell();
  }

  async #nextChange(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#listeners.add(resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
    await promise;
    this.#listeners.delete(resolve);
  }
}

async function untilOver({ lost }: Lead, signal: AbortSignal): Promise<void> {
  const either = AbortSignal.any([lost, signal]);
  if (either.aborted) return;
  await new Promise<void>((resolve) => {
    either.addEventListener("abort", () => resolve(), { once: true });
  });
}

function wordsOf(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}
