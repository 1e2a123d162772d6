import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { StartOrder } from "../../protocol/messages.ts";
import { type InitPlace, PreparedFolders, preparedKey } from "./prepared.ts";
import { ProviderStore } from "./providers.ts";
import { tidyCache } from "./tidy.ts";

export interface InitCacheOptions {
  /** The cache that all runs of this machine share (NIGARI_CACHE). */
  readonly folder: string;
  /** A plug-in folder for this run alone. */
  readonly plugins: string;
  readonly order: StartOrder;
  readonly place: InitPlace;
  /** Told what does not work; a line for the run's log. */
  readonly say: (line: string) => void;
}

/**
 * What one run takes from the shared cache and gives back to it. Nothing of it is needed: whatever
 * goes wrong in here costs an init or a download, and never a run.
 */
export class InitCache {
  readonly #options: InitCacheOptions;
  readonly #store: ProviderStore;
  readonly #prepared: PreparedFolders;
  readonly #key: string | undefined;
  readonly #lockBefore: string;

  private constructor(options: InitCacheOptions, key: string | undefined, lockBefore: string) {
    this.#options = options;
    this.#store = new ProviderStore(join(options.folder, "providers"));
    this.#prepared = new PreparedFolders(join(options.folder, "prepared"), this.#store);
    this.#key = key;
    this.#lockBefore = lockBefore;
  }

  /** Call it when everything lies in its place and before init. */
  static async open(options: InitCacheOptions): Promise<InitCache> {
    const { order, place } = options;
    const key = await preparedKey(order, place).catch(() => undefined);
    const lock = await readFile(join(place.cwd, ".terraform.lock.hcl"), "utf8").catch(() => "");
    return new InitCache(options, key, lock);
  }

  /** True: the folder is as init would leave it. */
  async restore(): Promise<boolean> {
    const { place, order } = this.#options;
    if (this.#key === undefined) return false;
    return await this.#prepared.restore(this.#key, place.cwd, order.operation);
  }

  /** Variables for init. A plug-in cache that somebody else has chosen is his to answer for. */
  async environment(): Promise<Record<string, string>> {
    const { place, plugins } = this.#options;
    if (place.env.TF_PLUGIN_CACHE_DIR !== undefined) return {};
    try {
      await this.#store.seed(plugins, this.#lockBefore);
    } catch {
      // Then more is downloaded.
    }
    return {
      TF_PLUGIN_CACHE_DIR: plugins,
      // A module without a lock file may use what is there: the lock file it gets lives as long as
      // the run does, so it need not hold for other machines.
      TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE: "1",
    };
  }

  /** Gives back what init has made. Never fails. */
  async keep(): Promise<void> {
    const { folder, plugins, order, place, say } = this.#options;
    try {
      await this.#store.adopt(plugins);
      const init = { upgrade: order.upgrade, lockBefore: this.#lockBefore };
      if (this.#key !== undefined) await this.#prepared.keep(this.#key, place.cwd, init);
      await tidyCache(folder);
    } catch (error) {
      // A full disk, say. What was not put in its place does not count.
      say(`what init has made is not kept: ${error instanceof Error ? error.message : error}`);
    }
  }

  /** What was restored did not do: init is to run, here and next time. */
  async drop(): Promise<void> {
    const { cwd } = this.#options.place;
    if (this.#key !== undefined) await this.#prepared.drop(this.#key);
    await rm(join(cwd, ".terraform"), { recursive: true, force: true });
    const lock = join(cwd, ".terraform.lock.hcl");
    await rm(lock, { force: true });
    if (this.#lockBefore !== "") await writeFile(lock, this.#lockBefore, { mode: 0o600 });
  }
}
