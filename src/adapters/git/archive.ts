import { join } from "node:path";
import { ArtifactError } from "../../ports/artifacts.ts";
import type { Call } from "../../ports/call.ts";
import type { Git } from "./command.ts";

export interface ArchiveRequest {
  /** Git directory that has the commit. */
  readonly gitDir: string;
  readonly commit: string;
  /** spec.ignore: patterns in .gitignore's format. */
  readonly ignore: string | undefined;
  /** Folder for the archive and for drafts; has a folder `empty`. */
  readonly folder: string;
}

const IGNORE_FILE = ".sourceignore";
/** Arguments of one command; a system takes some 2 MiB of them. */
const IGNORE_FILES_MAX = 2_000;

/**
 * Writes the commit's tree as a tar file, the same bytes for the same commit and patterns, and
 * answers with its path. What `.sourceignore` files at any depth and spec.ignore name stays out.
 */
export async function writeArchive(git: Git, request: ArchiveRequest, call: Call): Promise<string> {
  const tree = await withoutIgnored(git, request, call);
  const file = join(request.folder, "archive.tar");
  await git.run(["--git-dir", request.gitDir, "archive", "--format=tar", tree], call, {
    into: file,
  });
  return file;
}

/**
 * The commit itself, or one without the files to ignore. Git's own ignoring does the matching, on
 * an index without a working tree: entries marked "skip-worktree" make it read the pattern files
 * from the index.
 */
async function withoutIgnored(git: Git, request: ArchiveRequest, call: Call): Promise<string> {
  const { commit, folder } = request;
  const base = ["--git-dir", request.gitDir];
  const patterns = (request.ignore ?? "").split(/\r?\n/).filter((line) => /^\s*[^#\s]/.test(line));
  const names = ["ls-tree", "-r", "-z", "--name-only", commit];
  const ignoreFiles = (await git.run([...base, ...names], call))
    .split("\0")
    .filter((name) => name === IGNORE_FILE || name.endsWith(`/${IGNORE_FILE}`));
  if (patterns.length === 0 && ignoreFiles.length === 0) return commit;
  if (ignoreFiles.length > IGNORE_FILES_MAX) {
    throw new ArtifactError(
      `Repository has more than ${IGNORE_FILES_MAX} ${IGNORE_FILE} files; use spec.ignore instead`,
      false,
    );
  }
  const inIndex = [...base, "--work-tree", join(folder, "empty")];
  const date = (await git.run([...base, "show", "-s", "--format=%ct", commit], call)).trim();
  const env = {
    GIT_INDEX_FILE: join(folder, "index"),
    GIT_LITERAL_PATHSPECS: "1",
    GIT_AUTHOR_DATE: `@${date} +0000`,
    GIT_COMMITTER_DATE: `@${date} +0000`,
  };
  const ignored = join(folder, "ignored");
  await git.run([...inIndex, "read-tree", commit], call, { env });
  if (ignoreFiles.length > 0) {
    await git.run([...inIndex, "update-index", "--skip-worktree", "--", ...ignoreFiles], call, {
      env,
    });
  }
  const matching = [`--exclude-per-directory=${IGNORE_FILE}`];
  // Given one by one these come last and win, as spec.ignore should over files of the repository.
  matching.push(...patterns.map((pattern) => `--exclude=${pattern}`));
  await git.run([...inIndex, "ls-files", "-z", "--cached", "--ignored", ...matching], call, {
    env,
    into: ignored,
  });
  const removal = ["update-index", "-z", "--force-remove", "--stdin"];
  await git.run([...inIndex, ...removal], call, { env, from: ignored });
  const tree = (await git.run([...inIndex, "write-tree"], call, { env })).trim();
  return (
    await git.run([...base, "commit-tree", "-m", "Ignored files left out", tree], call, { env })
  ).trim();
}
