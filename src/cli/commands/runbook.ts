import { chmod, mkdir, readdir, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, posix, relative, resolve, sep } from "node:path";
import { recognizers } from "../../recognizers/index.ts";
import { BlockError, putBlock } from "../../render/block.ts";
import { PAGE_MARK, pointer, runbookFiles, troubleshooting } from "../../render/runbook.ts";
import { CliError, EXIT, type Shell } from "../world.ts";

/** What a file should hold; `now` is what it holds, undefined if it is not there. */
interface Wanted {
  /** As shown to a person. */
  readonly path: string;
  readonly file: string;
  /** Undefined: it should not be there. */
  readonly text: string | undefined;
  readonly now: string | undefined;
}

/** Writes the pages into a folder, and removes rendered pages that nothing renders any more. */
export async function runbookRender({ out }: Shell, folder: string): Promise<number> {
  return write(out, await pagesOf(folder));
}

/** Whether a folder holds exactly the pages that would be rendered. */
export async function runbookCheck({ out }: Shell, folder: string): Promise<number> {
  return check(out, await pagesOf(folder), `nigari runbook render -o ${folder}`);
}

export interface SyncFlags {
  readonly repo: string;
  /** Folder of the repository whose docs/ and AGENTS.md are meant. */
  readonly root: string | undefined;
  /** Only say whether something would change. */
  readonly check: boolean;
}

/**
 * Puts the runbook into another repository's docs/troubleshooting.md and a pointer to it into its
 * AGENTS.md, between markers. What stands outside them stays as it is.
 */
export async function runbookSync({ out }: Shell, flags: SyncFlags): Promise<number> {
  const files = await syncFiles(flags);
  if (files.agents === undefined) {
    const where = flags.root === undefined ? flags.repo : join(flags.repo, flags.root);
    out.error(`nigari: There is no AGENTS.md in ${where}; make one and a pointer is put there\n`);
  }
  const wanted = files.agents === undefined ? [files.docs] : [files.docs, files.agents];
  const root = flags.root === undefined ? "" : ` --root ${flags.root}`;
  const mend = `nigari runbook sync --repo ${flags.repo}${root}`;
  return flags.check ? check(out, wanted, mend) : write(out, wanted);
}

async function pagesOf(folder: string): Promise<Wanted[]> {
  const pages = runbookFiles(recognizers);
  const known = new Set(pages.map((each) => each.path));
  const stale = (await markdownBelow(folder)).filter((path) => !known.has(path));
  const wanted = [...pages, ...stale.map((path) => ({ path, text: undefined }))];
  const all = await Promise.all(
    wanted.map(async ({ path, text }): Promise<Wanted> => {
      const file = join(folder, path);
      return { path: file, file, text, now: await textOf(file) };
    }),
  );
  // A page that somebody wrote by hand is none of ours.
  return all.filter(({ text, now }) => text !== undefined || now?.startsWith(PAGE_MARK) === true);
}

async function markdownBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true }).catch(() => []);
  return entries.map((each) => each.split(sep).join("/")).filter((each) => each.endsWith(".md"));
}

async function syncFiles({ repo, root = "." }: SyncFlags) {
  const base = resolve(repo, root);
  if (relative(resolve(repo), base).startsWith("..")) {
    throw new CliError(EXIT.usage, `--root ${root} leads out of ${repo}; name a folder below it`);
  }
  const found = await stat(base).catch(() => undefined);
  if (found?.isDirectory() !== true) {
    throw new CliError(EXIT.usage, `Folder ${base} does not exist; --repo names a checkout`);
  }
  const docsFile = join(base, "docs", "troubleshooting.md");
  const text = troubleshooting(recognizers, "##");
  const docs = await withBlock(repo, docsFile, (now) =>
    putBlock(now, "runbook", text, "# Troubleshooting"),
  );
  const agentsFile = await nearest(resolve(repo), base, "AGENTS.md");
  if (agentsFile === undefined) return { docs, agents: undefined };
  const link = relative(dirname(agentsFile), docsFile).split(sep).join(posix.sep);
  const agents = await withBlock(repo, agentsFile, (now) =>
    putBlock(now, "pointer", pointer(recognizers, link), ""),
  );
  return { docs, agents };
}

/** The file of this name in the folder or the nearest one above it, up to the repository. */
async function nearest(repo: string, from: string, name: string): Promise<string | undefined> {
  for (let folder = from; ; folder = dirname(folder)) {
    const file = join(folder, name);
    if ((await stat(file).catch(() => undefined))?.isFile() === true) return file;
    if (folder === repo || folder === dirname(folder)) return undefined;
  }
}

async function withBlock(
  repo: string,
  file: string,
  put: (now: string | undefined) => string,
): Promise<Wanted> {
  const path = relative(resolve(repo), file);
  await staysInside(repo, file);
  const now = await textOf(file);
  try {
    return { path, file, now, text: put(now) };
  } catch (error) {
    if (error instanceof BlockError) throw new CliError(EXIT.usage, `${path}: ${error.message}`);
    throw error;
  }
}

/** A link in a checkout must not make us write anywhere else. */
async function staysInside(repo: string, file: string): Promise<void> {
  const top = await realpath(repo);
  for (const each of [dirname(file), file]) {
    const real = await realpath(each).catch(() => undefined);
    if (real === undefined || real === top || real.startsWith(top + sep)) continue;
    throw new CliError(EXIT.usage, `${file} is a link that leads out of ${repo}; replace it`);
  }
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

const differs = ({ text, now }: Wanted) => text !== now;

async function write(out: Shell["out"], wanted: readonly Wanted[]): Promise<number> {
  for (const { path, file, text, now } of wanted.filter(differs)) {
    if (text === undefined) {
      await rm(file);
    } else {
      await makeFolder(dirname(file));
      await writeFile(file, text);
      // These are documents of a checkout, not ours: others read them.
      if (now === undefined) await chmod(file, 0o644);
    }
    out.write(
      `${text === undefined ? "removed" : now === undefined ? "made" : "changed"} ${path}\n`,
    );
  }
  if (!wanted.some(differs)) out.write("Everything is as it should be\n");
  return EXIT.ok;
}

async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true });
  if (first === undefined) return;
  for (let at = folder; at.length >= first.length; at = dirname(at)) await chmod(at, 0o755);
}

function check(out: Shell["out"], wanted: readonly Wanted[], mend: string): number {
  const wrong = wanted.filter(differs);
  for (const { path, text, now } of wrong) {
    const how = text === undefined ? "is left over" : now === undefined ? "is missing" : "is old";
    out.error(`nigari: ${path} ${how}\n`);
  }
  if (wrong.length === 0) return EXIT.ok;
  out.error(`nigari: Run "${mend}"\n`);
  return EXIT.failed;
}
