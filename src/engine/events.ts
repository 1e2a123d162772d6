import type { Event } from "../api/core.ts";
import { keyOf, keyText } from "../api/kinds.ts";
import type { Terraform } from "../api/terraform.ts";
import { secondText } from "../domain/time.ts";
import type { Announcer } from "../ports/announcer.ts";
import type { Call } from "../ports/call.ts";
import type { Clock, Random } from "../ports/clock.ts";
import { isStoreError, type ObjectStore } from "../ports/object-store.ts";
import { objectName } from "./object-names.ts";

/** Events kept of one object; the oldest go first. */
const PER_OBJECT_MAX = 50;
/** Characters kept of a message: what the API server takes. */
const MESSAGE_MAX = 1_024;
/** An event said again within this time is counted, later it is a new one. */
const REPEAT_MS = 600_000;
/** Shorter secrets are left: hiding every "1" hides what the event says. */
const MASKED_LENGTH_MIN = 4;
const COMPONENT = "tf-controller";

export interface EventPorts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly announcer?: Announcer;
}

export interface EventText {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

interface Said {
  readonly name: string;
  readonly text: string;
  readonly atMs: number;
}

/**
 * Events as Kubernetes keeps them: one that is said again is counted, not repeated; of each object
 * the newest are kept. What it remembers is only for that; after a restart it begins anew.
 */
export class Events {
  readonly #store: ObjectStore;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #announcer: Announcer | undefined;
  readonly #expire: boolean;
  readonly #byObject = new Map<string, Said[]>();

  /** `expire`: the store forgets them by itself. */
  constructor(ports: EventPorts, { expire = false } = {}) {
    this.#store = ports.store;
    this.#clock = ports.clock;
    this.#random = ports.random;
    this.#announcer = ports.announcer;
    this.#expire = expire;
  }

  /** Learns which events there are, so that their number stays bounded over restarts. */
  async load(call: Call): Promise<void> {
    if (this.#expire) return;
    const { items } = await this.#store.list("Event", {}, call);
    const when = (event: Event) => Date.parse(event.lastTimestamp ?? "") || 0;
    for (const event of items.sort((a, b) => when(a) - when(b))) {
      if (event.source?.component !== COMPONENT) continue;
      const { name = "", namespace = "default" } = event.involvedObject;
      const said = this.#said(keyText({ namespace, name }));
      said.push({ name: event.metadata.name, text: textOf(event), atMs: when(event) });
    }
  }

  /** Fails with StoreError; what was said is then said again at the next occasion. */
  async say(
    terraform: Terraform,
    event: EventText,
    sensitive: readonly string[],
    call: Call,
  ): Promise<void> {
    const message = masked(event.message, sensitive).slice(0, MESSAGE_MAX);
    this.#announcer?.announce({ object: terraform, ...event, message });
    const said = this.#said(keyText(keyOf(terraform)));
    const text = textOf({ ...event, message });
    const nowMs = this.#clock.now();
    const known = said.find((each) => each.text === text && nowMs - each.atMs < REPEAT_MS);
    if (known !== undefined && (await this.#count(terraform, known.name, call))) {
      said.splice(said.indexOf(known), 1);
      said.push({ ...known, atMs: nowMs });
      return;
    }
    const name = objectName(`${terraform.metadata.name}.${this.#random.hex(8)}`);
    await this.#store.create(this.#eventOf(terraform, { ...event, message }, name), call);
    said.push({ name, text, atMs: nowMs });
    await this.#forgetOld(terraform, said, call);
  }

  /** The object is gone; its events stay for people, and count no more. */
  drop(key: string): void {
    this.#byObject.delete(key);
  }

  #said(key: string): Said[] {
    const found = this.#byObject.get(key) ?? [];
    this.#byObject.set(key, found);
    return found;
  }

  /** False if it is no longer there. */
  async #count(terraform: Terraform, name: string, call: Call): Promise<boolean> {
    const { namespace } = keyOf(terraform);
    const event = await this.#store.get({ kind: "Event", namespace, name }, call);
    if (event === undefined) return false;
    const count = (event.count ?? 1) + 1;
    const lastTimestamp = secondText(this.#clock.now());
    await this.#store.update({ ...event, count, lastTimestamp }, "main", call);
    return true;
  }

  #eventOf(terraform: Terraform, event: EventText, name: string): Event {
    const at = secondText(this.#clock.now());
    const { namespace, name: object } = keyOf(terraform);
    const { uid, resourceVersion } = terraform.metadata;
    return {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name, namespace },
      involvedObject: {
        apiVersion: terraform.apiVersion,
        kind: terraform.kind,
        namespace,
        name: object,
        ...(uid === undefined ? {} : { uid }),
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      },
      ...event,
      count: 1,
      firstTimestamp: at,
      lastTimestamp: at,
      source: { component: COMPONENT },
      reportingComponent: COMPONENT,
    };
  }

  async #forgetOld(terraform: Terraform, said: Said[], call: Call): Promise<void> {
    const { namespace } = keyOf(terraform);
    while (said.length > PER_OBJECT_MAX) {
      const name = said.shift()?.name ?? "";
      if (this.#expire) continue;
      try {
        await this.#store.delete({ kind: "Event", namespace, name }, {}, call);
      } catch (error) {
        if (!isStoreError(error, "NotFound")) throw error;
      }
    }
  }
}

function textOf(event: { type?: string; reason?: string; message?: string }): string {
  return JSON.stringify([event.type, event.reason, event.message]);
}

function masked(text: string, sensitive: readonly string[]): string {
  return sensitive
    .filter((secret) => secret.length >= MASKED_LENGTH_MIN)
    .reduce((rest, secret) => rest.replaceAll(secret, "***"), text);
}
