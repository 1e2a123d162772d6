import { randomUUID } from "node:crypto";
import {
  chmod,
  mkdir,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  utimes,
  writeFile,
} from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { lockedProviders } from "./lock-file.ts";
import {
  type FileMark,
  GARBAGE,
  holds,
  linkTree,
  marksOf,
  packageHash,
  publish,
  syncTree,
} from "./tree.ts";

/** Host, namespace, type, version and platform: how deep a package lies below its root. */
const DEPTH = 5;

/** A package as it was put into the store. */
export interface Package {
  /** As a dependency lock file has it. */
  readonly hash: string;
  readonly files: readonly FileMark[];
}

/**
 * Packages of providers, shared by all runs. A package is written once, put in place whole, and
 * never written again: no run hands this folder to OpenTofu, which overwrites packages in place
 * while others use them. Each run has a plug-in folder of its own instead, filled with hard links,
 * and gives back what it had to install. So nobody waits for anybody, and what is cleared away here
 * is still there for whoever uses it.
 */
export class ProviderStore {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Fills a run's own plug-in folder. A package that the module's lock file would refuse is left
   * out, for OpenTofu would install over it.
   */
  async seed(into: string, lockText: string): Promise<void> {
    await mkdir(into, { recursive: true, mode: 0o700 });
    const locked = new Map(
      lockedProviders(lockText).map((each) => [`${each.address}/${each.version}`, each.hashes]),
    );
    for (const name of await packagesIn(this.#folder)) {
      const found = await this.find(name);
      const hashes = locked.get(name.slice(0, name.lastIndexOf("/")));
      if (found === undefined || (hashes !== undefined && !hashes.includes(found.hash))) continue;
      try {
        await linkTree(this.#package(name), join(into, name));
      } catch {
        // Without links, as on another file system, the run installs for itself; of a package that
        // was cleared away meanwhile it must not find a part.
        await rm(join(into, name), { recursive: true, force: true });
      }
    }
  }

  /** Takes in what a run has installed, from its plug-in folder; what is known stays as it is. */
  async adopt(from: string): Promise<void> {
    for (const name of await packagesIn(from)) {
      const installed = join(from, name);
      // A mirror on this machine needs no second place.
      const real = await realpath(installed);
      if (relative(await realpath(from), real).startsWith("..")) continue;
      const known = await this.find(name);
      if (known !== undefined && (await holds(installed, known.files))) continue;
      await this.#take(name, installed);
    }
  }

  /** Makes `to` the package. Fails if there is none. */
  async link(name: string, to: string): Promise<void> {
    await linkTree(this.#package(name), to);
    const now = new Date();
    await utimes(join(this.#folder, name), now, now);
  }

  /** Undefined: it is not there, or not as it was put there. */
  async find(name: string): Promise<Package | undefined> {
    try {
      const text = await readFile(join(this.#folder, name, "meta.json"), "utf8");
      const found: Package = JSON.parse(text);
      return (await holds(this.#package(name), found.files)) ? found : undefined;
    } catch {
      return undefined;
    }
  }

  #package(name: string): string {
    return join(this.#folder, name, "package");
  }

  async #take(name: string, installed: string): Promise<void> {
    const made = join(this.#folder, `${GARBAGE}${randomUUID()}`);
    try {
      await linkTree(installed, join(made, "package"));
      const files = await marksOf(join(made, "package"));
      for (const { path } of files) await chmod(join(made, "package", path), 0o500);
      const meta: Package = { hash: await packageHash(join(made, "package")), files };
      await writeFile(join(made, "meta.json"), JSON.stringify(meta), { mode: 0o600 });
      await syncTree(made);
      // Another run may have come first; what is there and not as it should be gives way.
      const replace = (await this.find(name)) === undefined;
      await publish(made, join(this.#folder, name), replace);
    } finally {
      await rm(made, { recursive: true, force: true });
    }
  }
}

/** Names of all packages below a root: host/namespace/type/version/platform. */
export async function packagesIn(root: string): Promise<string[]> {
  let names = [""];
  for (let depth = 0; depth < DEPTH; depth += 1) {
    const next: string[] = [];
    for (const name of names) {
      const below = await readdir(join(root, name)).catch(() => []);
      next.push(...below.filter((each) => !each.startsWith(".")).map((each) => join(name, each)));
    }
    names = next;
  }
  const found: string[] = [];
  // OpenTofu leaves a lock file beside each package.
  for (const name of names) {
    const entry = await stat(join(root, name)).catch(() => undefined);
    if (entry?.isDirectory() === true) found.push(name);
  }
  return found.map((name) => name.split(sep).join("/")).sort();
}
