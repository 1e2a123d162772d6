import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gitEnvironment } from "../harness/git-server.ts";
import { run } from "./commands.ts";
import type { ClusterPlan } from "./plan.ts";

/**
 * Commits files, which are then all there is on branch "main" of a repository of the cluster's Git
 * server; makes the repository if there is none. Gives the commit's hash.
 */
export function publish(
  plan: ClusterPlan,
  name: string,
  files: Readonly<Record<string, string>>,
): string {
  const bare = join(plan.folder, "git", `${name}.git`);
  if (!existsSync(bare)) git("init", "--quiet", "--bare", "--initial-branch=main", bare);
  const work = mkdtempSync(join(tmpdir(), "nigari-publish-"));
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(work, path)), { recursive: true });
      writeFileSync(join(work, path), text);
    }
    const here = [`--git-dir=${bare}`, `--work-tree=${work}`];
    git(...here, "add", "--all", "--force");
    git(...here, "commit", "--quiet", "--allow-empty", "--message=Change");
    return git(...here, "rev-parse", "HEAD").trim();
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Where source-controller finds it, and whoever else may reach the bridge. */
export function repositoryUrl(plan: ClusterPlan, name: string): string {
  return `${plan.gitUrl}/${name}.git`;
}

function git(...args: readonly string[]): string {
  const settings = Object.entries(gitEnvironment).map(([name, value]) => `${name}=${value}`);
  return run("env", "--ignore-environment", ...settings, "git", ...args);
}
