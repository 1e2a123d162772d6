import type { ConfigMap } from "../../api/core.ts";
import type { EngineWorld } from "./engine-world.ts";

const CALL_MS = 500;
const PAUSE_MS = 10;

/** Writes objects as fast as the engine acknowledges them, and knows which it did. */
export class Writer {
  readonly #world: EngineWorld;
  readonly #acknowledged: string[] = [];
  #count = 0;
  #going = false;
  #work: Promise<void> = Promise.resolve();

  constructor(world: EngineWorld) {
    this.#world = world;
  }

  get acknowledged(): readonly string[] {
    return this.#acknowledged;
  }

  begin(): void {
    this.#going = true;
    this.#work = this.#write();
  }
  async stop(): Promise<void> {
    this.#going = false;
    await this.#work;
  }

  /** Names of what was acknowledged and is not there. */
  async lost(): Promise<string[]> {
    const { client } = this.#world;
    const { items } = await client.store.list("ConfigMap", {}, this.#world.call());
    const names = new Set(items.map(({ metadata }) => metadata.name));
    return this.#acknowledged.filter((name) => !names.has(name));
  }

  async #write(): Promise<void> {
    const { client } = this.#world;
    while (this.#going) {
      this.#count += 1;
      const metadata = { namespace: "default", name: `kept-${this.#count}` };
      const map: ConfigMap = { apiVersion: "v1", kind: "ConfigMap", metadata };
      try {
        await client.store.create(map, this.#world.call(CALL_MS));
        this.#acknowledged.push(metadata.name);
      } catch {
        // Not acknowledged: it may be there or not.
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}
