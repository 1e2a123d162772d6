import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gitEnvironment } from "../../../src/testing/harness/git-server.ts";

export { type GitServer, serveGit } from "../../../src/testing/harness/git-server.ts";

/** A small Git repository on disk for tests, made with the system's git. */
export interface TestRepository {
  readonly path: string;
  git(...args: string[]): string;
  /** Writes the files, commits them, and answers with the commit. */
  commit(files: Readonly<Record<string, string>>): string;
}

export function createRepository(path: string, branch = "main"): TestRepository {
  mkdirSync(path, { recursive: true });
  const git = (...args: string[]) =>
    execFileSync("git", args, {
      cwd: path,
      env: gitEnvironment,
      encoding: "utf8",
      stdio: "pipe",
    }).trim();
  git("init", "--quiet", `--initial-branch=${branch}`);
  return {
    path,
    git,
    commit(files) {
      for (const [name, content] of Object.entries(files)) {
        mkdirSync(dirname(join(path, name)), { recursive: true });
        writeFileSync(join(path, name), content);
      }
      git("add", "--all");
      git("commit", "--quiet", "--allow-empty", "--message", "Change");
      return git("rev-parse", "HEAD");
    },
  };
}
