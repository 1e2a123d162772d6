import { createHash } from "node:crypto";
import { access, mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ArtifactError } from "../../ports/artifacts.ts";
import type { Call } from "../../ports/call.ts";
import type { Random } from "../../ports/clock.ts";
import type { Address } from "./address.ts";
import type { Git } from "./command.ts";
import type { Target } from "./refs.ts";
import { RefNotFound } from "./trouble.ts";

/**
 * One bare repository per address, as shallow as can be: it spares the next look what it already
 * has. It is a cache and nothing more. While it is written its mark `whole` is away; a mirror
 * without the mark (a fetch that failed, an engine that was killed) is thrown away, so that no
 * stale lock or torn pack in it can ever be in the way.
 */
export interface Mirror {
  readonly path: string;
  /** Makes sure that the target's commit is there; answers with the commit that came. */
  fetch(target: Target, call: Call): Promise<string>;
}

/** Packs gather with every fetch; beyond this many a mirror starts anew. */
const PACKS_MAX = 20;
/** Local name of what was fetched last. */
const FETCHED = "refs/nigari/fetched";
/**
 * The archive holds the bytes as they were committed: no line ends, keywords or filters of the
 * repository's attributes, and no file left out by `export-ignore`, which Flux does not know.
 */
const ATTRIBUTES =
  "* -text -eol -ident -filter -working-tree-encoding -export-ignore -export-subst\n";

export function createMirror(folder: string, address: Address, git: Git, random: Random): Mirror {
  const path = join(folder, createHash("sha256").update(address.url).digest("hex").slice(0, 32));
  const whole = join(path, "whole");

  async function discard(): Promise<void> {
    // Out of sight first: a git that outlived a killed engine may still be writing into it.
    const trash = join(folder, `${random.hex(8)}.trash`);
    await rename(path, trash).catch(() => {});
    await rm(trash, { recursive: true, force: true, maxRetries: 3 });
  }

  async function prepare(target: Target, call: Call): Promise<void> {
    const format = target.commit.length === 64 ? "sha256" : "sha1";
    if (await isThere(whole)) {
      const found = await git.run(["--git-dir", path, "rev-parse", "--show-object-format"], call);
      const packs = (await readdir(join(path, "objects/pack"))).filter((name) =>
        /\.pack$/.test(name),
      );
      if (found.trim() === format && packs.length <= PACKS_MAX) return;
    }
    await discard();
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const init = ["init", "--quiet", "--bare", "--template=", `--object-format=${format}`, path];
    await git.run(init, call);
    await mkdir(join(path, "info"), { recursive: true, mode: 0o700 });
    await writeFile(join(path, "info/attributes"), ATTRIBUTES, { mode: 0o600 });
  }

  const has = (commit: string, call: Call) =>
    git.succeeds(["--git-dir", path, "cat-file", "-e", `${commit}^{tree}`], call);

  function pull(refspec: string, depth: readonly string[], call: Call): Promise<string> {
    const how = [
      "--quiet",
      "--no-tags",
      "--force",
      "--no-write-fetch-head",
      "--no-auto-maintenance",
    ];
    const what = [...depth, "--", address.url, refspec];
    return git.run(["--git-dir", path, "fetch", ...how, ...what], call);
  }

  /** The tip of the target's ref. It may have moved on since it was asked for. */
  async function pullRef(ref: string, call: Call): Promise<string> {
    await pull(`${ref}:${FETCHED}`, ["--depth=1"], call);
    const tip = ["--git-dir", path, "rev-parse", "--verify", "--quiet", `${FETCHED}^{commit}`];
    return (await git.run(tip, call)).trim();
  }

  /** A commit by itself where the server hands it out, else with the history of its branch. */
  async function pullCommit(target: Target, call: Call): Promise<string> {
    try {
      await pull(`${target.commit}:${FETCHED}`, ["--depth=1"], call);
    } catch (error) {
      if (!(error instanceof RefNotFound)) throw error;
      const refspec =
        target.ref === undefined ? "refs/heads/*:refs/nigari/heads/*" : `${target.ref}:${FETCHED}`;
      // What an earlier look fetched ends after one commit; "all there is" needs a great depth.
      await pull(refspec, ["--depth=2147483647"], call).catch((later: ArtifactError) => {
        throw call.signal.aborted || !later.transient ? later : error;
      });
      if (!(await has(target.commit, call))) throw error;
    }
    return target.commit;
  }

  return {
    path,
    async fetch(target, call) {
      if ((await isThere(whole)) && (await has(target.commit, call))) return target.commit;
      await prepare(target, call);
      await rm(whole, { force: true });
      const commit =
        target.pinned || target.ref === undefined
          ? await pullCommit(target, call)
          : await pullRef(target.ref, call);
      await writeFile(whole, "", { mode: 0o600 });
      return commit;
    },
  };
}

async function isThere(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
