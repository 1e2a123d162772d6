import { setTimeout as sleep } from "node:timers/promises";
import type { EngineClient } from "../../adapters/engine-client/client.ts";
import type { Terraform } from "../../api/terraform.ts";

/** What an object said, and when it was heard; of a clock that never jumps, in milliseconds. */
export interface Heard {
  readonly object: Terraform;
  readonly atMs: number;
}

interface Waiting {
  readonly name: string;
  readonly holds: (object: Terraform | undefined) => boolean;
  readonly done: (heard: Heard) => void;
}

const AGAIN_MS = 10;
const gone = { kind: "Terraform" } as Terraform;

/** Hears every change of every Terraform object as it is stored, across the engine's deaths. */
export class Listener {
  readonly #client: EngineClient;
  readonly #ended = new AbortController();
  readonly #objects = new Map<string, Terraform>();
  readonly #waiting = new Set<Waiting>();
  #listening: Promise<void> = Promise.resolve();

  constructor(client: EngineClient) {
    this.#client = client;
  }

  begin(): void {
    this.#listening = this.#listen();
  }
  async end(): Promise<void> {
    this.#ended.abort();
    await this.#listening;
  }

  object(name: string): Terraform | undefined {
    return this.#objects.get(name);
  }

  /** The first time that `holds`, from now on; at once if it does already. */
  when(
    name: string,
    holds: (object: Terraform | undefined) => boolean,
    limit: { readonly what: string; readonly ms: number },
  ): Promise<Heard> {
    const found = this.#objects.get(name);
    if (holds(found)) return Promise.resolve({ object: found ?? gone, atMs: performance.now() });
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        this.#waiting.delete(waiting);
        const now = JSON.stringify(this.#objects.get(name)?.status, null, 2);
        reject(new Error(`${name}: not within ${limit.ms} ms: ${limit.what}; its status: ${now}`));
      }, limit.ms);
      const done = (heard: Heard) => {
        clearTimeout(late);
        resolve(heard);
      };
      const waiting: Waiting = { name, holds, done };
      this.#waiting.add(waiting);
    });
  }

  async #listen(): Promise<void> {
    const { signal } = this.#ended;
    const { store } = this.#client;
    while (!signal.aborted) {
      try {
        const { resourceVersion, items } = await store.list("Terraform", {}, { signal });
        const names = new Set(items.map(({ metadata }) => metadata.name));
        for (const name of this.#objects.keys()) if (!names.has(name)) this.#heard(name, undefined);
        for (const item of items) this.#heard(item.metadata.name, item);
        for await (const event of store.watch("Terraform", { resourceVersion }, { signal })) {
          if (event.type === "ADDED" || event.type === "MODIFIED") {
            this.#heard(event.object.metadata.name, event.object);
          } else if (event.type === "DELETED") {
            this.#heard(event.object.metadata.name, undefined);
          }
        }
      } catch {
        // No engine answers at the moment.
      }
      await sleep(AGAIN_MS);
    }
  }

  #heard(name: string, object: Terraform | undefined): void {
    const atMs = performance.now();
    if (object === undefined) this.#objects.delete(name);
    else this.#objects.set(name, object);
    for (const waiting of this.#waiting) {
      if (waiting.name !== name || !waiting.holds(object)) continue;
      this.#waiting.delete(waiting);
      waiting.done({ object: object ?? gone, atMs });
    }
  }
}
