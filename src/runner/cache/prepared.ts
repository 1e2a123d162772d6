import { createHash, randomUUID } from "node:crypto";
import {
  copyFile,
  cp,
  mkdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { arch, platform } from "node:process";
import type { StartOrder } from "../../protocol/messages.ts";
import { isPinned, lockedProviders } from "./lock-file.ts";
import { type ProviderStore, packagesIn } from "./providers.ts";
import {
  discard,
  exists,
  type FileMark,
  GARBAGE,
  holds,
  linkOrCopyTree,
  marksOf,
  packageHash,
  publish,
  syncTree,
} from "./tree.ts";

const VERSION = 1;
const LOCK = ".terraform.lock.hcl";
/** A module tree beyond this is fetched again rather than kept. */
const MODULES_BYTES_MAX = 64 << 20;

/** A provider that init has chosen, and where its package lies. */
interface Chosen {
  /** host/namespace/type/version/platform. */
  readonly name: string;
  /** Hash of the package in the store; absent: it lies outside of it. */
  readonly hash?: string;
  /** Of a mirror on this machine: the package's folder and its files. */
  readonly outside?: { readonly folder: string; readonly files: readonly FileMark[] };
}

interface Meta {
  /**
   * Another init would come to the same: every provider has one version that will do, and no module
   * can have moved. Without it the folder still serves the apply of a plan that was made in it.
   */
  readonly stable: boolean;
  readonly providers: readonly Chosen[];
}

/** An init that has succeeded. */
export interface InitDone {
  readonly upgrade: boolean;
  /** The lock file as it was before; empty if there was none. */
  readonly lockBefore: string;
}

/** Where init is about to run, and with what. */
export interface InitPlace {
  /** Folder of the root module. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly program: string;
}

/**
 * What init made of a root module (.terraform and the lock file), kept under a name that is a hash
 * over all that init depends on. A name that is there was put there whole.
 */
export class PreparedFolders {
  readonly #folder: string;
  readonly #store: ProviderStore;

  constructor(folder: string, store: ProviderStore) {
    this.#folder = folder;
    this.#store = store;
  }

  /** Puts what was kept in its place. False: there is nothing that is proven to fit. */
  async restore(key: string, cwd: string, operation: StartOrder["operation"]): Promise<boolean> {
    const kept = join(this.#folder, key);
    try {
      const meta: Meta = JSON.parse(await readFile(join(kept, "meta.json"), "utf8"));
      if (operation === "plan" && !meta.stable) return false;
      for (const chosen of meta.providers) {
        if (!(await this.#link(chosen, join(cwd, ".terraform/providers", chosen.name)))) {
          return await this.#undone(cwd);
        }
      }
      await mkdir(join(cwd, ".terraform"), { recursive: true, mode: 0o700 });
      for (const [from, to] of keptFiles) {
        await copyIfThere(join(kept, from), join(cwd, to));
      }
      const modules = join(kept, "modules");
      if (await exists(modules)) {
        await cp(modules, join(cwd, ".terraform/modules"), { recursive: true });
      }
      const now = new Date();
      await utimes(kept, now, now);
      return true;
    } catch {
      return await this.#undone(cwd);
    }
  }

  /** Keeps what init has made. Whatever does not work is not kept, and costs the next init. */
  async keep(key: string, cwd: string, init: InitDone): Promise<void> {
    const made = join(this.#folder, `${GARBAGE}${randomUUID()}`);
    try {
      await mkdir(made, { recursive: true, mode: 0o700 });
      const lock = await readFile(join(cwd, LOCK), "utf8").catch(() => "");
      const providers: Chosen[] = [];
      for (const name of await packagesIn(join(cwd, ".terraform/providers"))) {
        providers.push(await this.#chosen(name, join(cwd, ".terraform/providers", name)));
      }
      const modules = join(cwd, ".terraform/modules");
      const whole = !(await exists(modules)) || (await keepModules(modules, join(made, "modules")));
      const stable = whole && (await isStable(cwd, lock, init));
      for (const [to, from] of keptFiles) await copyIfThere(join(cwd, from), join(made, to));
      await writeFile(join(made, "meta.json"), JSON.stringify({ stable, providers }));
      await syncTree(made);
      await publish(made, join(this.#folder, key), true);
    } finally {
      await rm(made, { recursive: true, force: true });
    }
  }

  async drop(key: string): Promise<void> {
    await discard(join(this.#folder, key));
  }

  async #link({ name, hash, outside }: Chosen, to: string): Promise<boolean> {
    if (outside !== undefined) {
      if (!(await holds(outside.folder, outside.files))) return false;
      await mkdir(dirname(to), { recursive: true, mode: 0o700 });
      await symlink(outside.folder, to);
      return true;
    }
    if (hash === undefined || (await this.#store.find(name))?.hash !== hash) return false;
    await this.#store.link(name, to);
    return true;
  }

  async #chosen(name: string, installed: string): Promise<Chosen> {
    const folder = await realpath(installed);
    const files = await marksOf(folder);
    const ours = await this.#store.find(name);
    // Another run may have given the same package first: its files are others, its content is not.
    const same =
      JSON.stringify(ours?.files) === JSON.stringify(files) ||
      (ours !== undefined && ours.hash === (await packageHash(folder)));
    return ours !== undefined && same
      ? { name, hash: ours.hash }
      : { name, outside: { folder, files } };
  }

  /** Half of a prepared folder would be worse than none. */
  async #undone(cwd: string): Promise<false> {
    await rm(join(cwd, ".terraform"), { recursive: true, force: true });
    return false;
  }
}

/** Names in what is kept, and in the root module's folder. */
const keptFiles = [
  ["lock.hcl", LOCK],
  ["backend.json", ".terraform/terraform.tfstate"],
] as const;

async function copyIfThere(from: string, to: string): Promise<void> {
  if (!(await exists(from))) return;
  await rm(to, { force: true });
  await copyFile(from, to);
}

/** False if the tree is too large to be kept. */
async function keepModules(from: string, to: string): Promise<boolean> {
  const marks = await marksOf(from).catch(() => undefined);
  const bytes = marks?.reduce((sum, { size }) => sum + size, 0) ?? Number.POSITIVE_INFINITY;
  if (bytes > MODULES_BYTES_MAX) return false;
  await linkOrCopyTree(from, to);
  return true;
}

/** Whether another init of the same would come to the same, whatever is released meanwhile. */
async function isStable(cwd: string, lock: string, init: InitDone): Promise<boolean> {
  const before = lockedProviders(init.upgrade ? "" : init.lockBefore);
  const chosen = lockedProviders(lock).every(
    (each) =>
      isPinned(each) ||
      before.some((old) => old.address === each.address && old.version === each.version),
  );
  if (!chosen) return false;
  const list = await readFile(join(cwd, ".terraform/modules/modules.json"), "utf8").catch(() => "");
  if (list === "") return true;
  const { Modules: modules = [] } = JSON.parse(list) as { Modules?: { Source: string }[] };
  return modules.every(({ Source: source }) => cannotMove(source));
}

/** The root, a folder of the same source, or a commit of a git repository by its full name. */
function cannotMove(source: string): boolean {
  return (
    source === "" || /^\.{1,2}\//.test(source) || /^git::.*[?&]ref=[0-9a-f]{40}(&|$)/.test(source)
  );
}

/**
 * A hash over everything that init depends on; undefined if its result must not be kept: where it
 * would hold secrets of the backend, and where the source brings a .terraform of its own.
 */
export async function preparedKey(
  order: StartOrder,
  { cwd, env, program }: InitPlace,
): Promise<string | undefined> {
  if (Object.keys(order.backendConfig).length > 0) return undefined;
  if (await exists(join(cwd, ".terraform"))) return undefined;
  const real = await realpath(program);
  const { size, mtimeMs, ino } = await stat(real);
  return hashOf({
    version: VERSION,
    machine: `${platform}_${arch}`,
    program: [real, size, mtimeMs, ino],
    artifact: order.artifactDigest,
    path: relative("/", join("/", order.path)),
    backend: [order.backend ?? "", order.backendRequired],
    upgrade: order.upgrade,
    // Sources of modules and the backend may be made from variables.
    variables: order.variables,
    files: order.files.map(({ location, path, content }) => [location, path, hashOf(content)]),
    settings: Object.entries(env)
      .filter(([name]) => name.startsWith("TF_") && !PER_RUN.test(name))
      .sort(),
    configs: await Promise.all(cliConfigsOf(env).map(contentOf)),
  });
}

/** Where and as whom a run reaches its state, and where its own copy of the configuration lies. */
const PER_RUN = /^TF_(HTTP_.*|CLI_CONFIG_FILE)$/;

/** Files in which OpenTofu looks for its own configuration. */
function cliConfigsOf(env: InitPlace["env"]): string[] {
  const { TF_CLI_CONFIG_FILE: named, HOME: home = "/nowhere", XDG_CONFIG_HOME: config } = env;
  if (named !== undefined) return [named];
  const xdg = join(config ?? join(home, ".config"), "opentofu/tofurc");
  return [join(home, ".tofurc"), join(home, ".terraformrc"), xdg];
}

async function contentOf(path: string): Promise<string> {
  return await readFile(path, "utf8").catch(() => "");
}

function hashOf(value: unknown): string {
  const bytes = value instanceof Uint8Array ? value : JSON.stringify(value);
  return createHash("sha256").update(bytes).digest("hex");
}
