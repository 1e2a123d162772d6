import type { GitRepository } from "../../api/core.ts";
import { ArtifactError } from "../../ports/artifacts.ts";
import type { Call } from "../../ports/call.ts";
import type { Address } from "./address.ts";
import type { Git } from "./command.ts";
import { highest, parseRange } from "./semver.ts";

type Ref = NonNullable<GitRepository["spec"]["ref"]>;

/** What spec.ref comes down to at this moment. */
export interface Target {
  readonly commit: string;
  /** spec.ref names this commit itself, so that nothing else will do. */
  readonly pinned: boolean;
  /** Ref of the repository to fetch; undefined for a commit that stands alone. */
  readonly ref: string | undefined;
  /** What the revision calls it: `main`, `v1.2.0`, `refs/pull/1/head`. */
  readonly label: string | undefined;
}

const COMMIT = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

/**
 * Asks the repository what spec.ref means now. Of its fields the later of branch, tag, semver, name
 * and commit wins. Without any: the branch master, as Flux has it, else what HEAD points to. A full
 * commit is not asked for; it cannot change.
 */
export async function resolveRef(
  git: Git,
  address: Address,
  ref: Ref,
  call: Call,
): Promise<Target> {
  const ask = (patterns: readonly string[]) => listRefs(git, address, patterns, call);
  if (isSet(ref.commit)) return fixedCommit(ref);
  if (isSet(ref.name)) {
    const name = ref.name;
    return target(commitOf(await ask([name]), name, `ref "${name}"`, address), name, name);
  }
  if (isSet(ref.semver)) return await byRange(ref.semver, await ask(["refs/tags/*"]), address);
  if (isSet(ref.tag)) {
    const refs = await ask([`refs/tags/${ref.tag}`, `refs/tags/${ref.tag}^{}`]);
    return tagTarget(ref.tag, refs, address);
  }
  if (isSet(ref.branch)) {
    const full = `refs/heads/${ref.branch}`;
    const commit = commitOf(await ask([full]), full, `branch "${ref.branch}"`, address);
    return target(commit, full, ref.branch);
  }
  return byDefault(await ask(["HEAD", "refs/heads/master"]), address);
}

/** What is asked for, in words for messages. */
export function describeWanted(ref: Ref): string {
  if (isSet(ref.commit)) return `commit ${ref.commit}`;
  if (isSet(ref.name)) return `ref "${ref.name}"`;
  if (isSet(ref.semver)) return `tag in the range "${ref.semver}"`;
  if (isSet(ref.tag)) return `tag "${ref.tag}"`;
  return `branch "${isSet(ref.branch) ? ref.branch : "master"}"`;
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== "";
}

function fixedCommit(ref: Ref): Target {
  const commit = ref.commit ?? "";
  if (!COMMIT.test(commit)) {
    throw new ArtifactError(
      `Commit "${commit}" in spec.ref.commit is not a full one; write all 40 (or 64) digits`,
      false,
    );
  }
  if (!isSet(ref.branch)) return { commit, pinned: true, ref: undefined, label: undefined };
  return { ...target(commit, `refs/heads/${ref.branch}`, ref.branch), pinned: true };
}

async function byRange(
  text: string,
  refs: ReadonlyMap<string, string>,
  address: Address,
): Promise<Target> {
  const range = parseRange(text);
  if (range === undefined) {
    throw new ArtifactError(
      `Range "${text}" in spec.ref.semver cannot be read; write it like ">=1.2.0 <2.0.0" or "1.x"`,
      false,
    );
  }
  const tags = [...refs.keys()].map((name) => name.replace(/^refs\/tags\//, ""));
  const tag = highest(tags, range);
  if (tag === undefined) throw missing(`tag in the range "${text}"`, address);
  return tagTarget(tag, refs, address);
}

function tagTarget(tag: string, refs: ReadonlyMap<string, string>, address: Address): Target {
  const full = `refs/tags/${tag}`;
  // An annotated tag is an object of its own; "^{}" is the commit it stands for.
  const commit = refs.get(`${full}^{}`) ?? commitOf(refs, full, `tag "${tag}"`, address);
  return target(commit, full, tag);
}

function byDefault(refs: ReadonlyMap<string, string>, address: Address): Target {
  const master = refs.get("refs/heads/master");
  if (master !== undefined) return target(master, "refs/heads/master", "master");
  const head = refs.get("HEAD");
  const name = refs.get("HEAD:symbolic");
  if (head === undefined || name === undefined) {
    throw new ArtifactError(
      `Repository ${address.shown} has no branch master and no HEAD to go by; ` +
        "push a commit, or name the branch in spec.ref.branch",
      true,
    );
  }
  return target(head, name, name.replace(/^refs\/heads\//, ""));
}

function commitOf(
  refs: ReadonlyMap<string, string>,
  full: string,
  words: string,
  address: Address,
): string {
  const commit = refs.get(full);
  if (commit === undefined) throw missing(words, address);
  return commit;
}

function missing(words: string, address: Address): ArtifactError {
  return new ArtifactError(
    `Repository ${address.shown} has no ${words}; mend spec.ref, or push it`,
    true,
  );
}

function target(commit: string, ref: string, label: string): Target {
  return { commit, pinned: false, ref, label };
}

/** As source-controller writes it: `main@sha1:…`, or `sha1:…` for a commit that stands alone. */
export function revisionOf(label: string | undefined, commit: string): string {
  const hash = `${commit.length === 64 ? "sha256" : "sha1"}:${commit}`;
  return label === undefined ? hash : `${label}@${hash}`;
}

/** Refs by their full name; `HEAD:symbolic` is the branch that HEAD points to. */
async function listRefs(
  git: Git,
  address: Address,
  patterns: readonly string[],
  call: Call,
): Promise<Map<string, string>> {
  for (const pattern of patterns) {
    if (/[\s~:?[\\]|\.\.|^-/.test(pattern)) {
      throw new ArtifactError(`Name "${pattern}" in spec.ref is no name of a ref; mend it`, false);
    }
  }
  const text = await git.run(["ls-remote", "--symref", "--", address.url, ...patterns], call);
  const refs = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [left = "", name] = line.split("\t");
    if (name === undefined) continue;
    if (left.startsWith("ref: ")) refs.set(`${name}:symbolic`, left.slice("ref: ".length));
    else if (COMMIT.test(left)) refs.set(name, left);
  }
  return refs;
}
