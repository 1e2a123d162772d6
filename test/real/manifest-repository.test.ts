import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { createFolderStore } from "../../src/adapters/artifacts/store.ts";
import { createGitSource } from "../../src/adapters/git/source.ts";
import { manifestRepository } from "../../src/adapters/manifests/git.ts";
import { createClock } from "../../src/adapters/system/clock.ts";
import { systemRandom } from "../../src/adapters/system/random.ts";
import { createRepository, type TestRepository } from "./support/git.ts";

const clock = createClock();
afterAll(() => clock.close());
const call = () => ({ signal: AbortSignal.timeout(30_000) });
const map = (name: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`;

let scratch: string;
let repository: TestRepository;
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "nigari-manifests-"));
  repository = createRepository(join(scratch, "repo"));
});
afterEach(() => rmSync(scratch, { recursive: true, maxRetries: 5 }));

function open(ref?: string, path?: string) {
  const artifacts = createFolderStore({
    folder: join(scratch, "artifacts"),
    clock,
    random: systemRandom,
  });
  const git = createGitSource({
    folder: join(scratch, "git"),
    baseFolder: scratch,
    env: { PATH: process.env.PATH ?? "" },
    keeper: artifacts,
    clock,
    random: systemRandom,
  });
  return manifestRepository({ git, artifacts, url: repository.path, ref, path });
}

test("what a repository holds at HEAD, a branch, a tag and a commit, with long names", async () => {
  const long = `${"deep/".repeat(30)}${"x".repeat(120)}.yaml`;
  const first = repository.commit({ "prod/a.yaml": map("a"), [`prod/${long}`]: map("long") });
  repository.git("tag", "-a", "-m", "x", "v1");
  repository.git("checkout", "--quiet", "-b", "next");
  repository.commit({ "prod/b.yaml": map("b") });
  const names = async (ref?: string) => {
    const { objects, diagnostics, version } = await open(ref, "prod").read(call());
    expect(diagnostics).toEqual([]);
    expect(version).toMatch(/sha1:[0-9a-f]{40}$/);
    return objects.map(({ metadata }) => metadata.name);
  };
  expect(await names("main")).toEqual(["a", "long"]);
  expect(await names("v1")).toEqual(["a", "long"]);
  expect(await names(first)).toEqual(["a", "long"]);
  expect(await names("next")).toEqual(["a", "b", "long"]);
  expect(await names()).toEqual(["a", "b", "long"]);
});

test("a new commit is seen at the next look", async () => {
  repository.commit({ "a.yaml": map("a") });
  const source = open();
  const before = await source.read(call());
  const commit = repository.commit({ "b.yaml": map("b") });
  const after = await source.read(call());
  expect(after.version).toBe(`HEAD@sha1:${commit}`);
  expect(after.version).not.toBe(before.version);
  expect(after.objects).toHaveLength(2);
});
