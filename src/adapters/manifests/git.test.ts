import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { Header } from "tar";
import { beforeEach, describe, expect, test } from "vitest";
import {
  ArtifactError,
  type ArtifactStore,
  type GitRequest,
  type GitSource,
} from "../../ports/artifacts.ts";
import { inWordsOfTheCommandLine, type ManifestRepository, manifestRepository } from "./git.ts";

const call = { signal: new AbortController().signal };
const map = (name: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`;

type Entry = { readonly path: string; readonly text: string; readonly type?: "SymbolicLink" };

function archiveOf(entries: readonly Entry[]): Buffer {
  const blocks = entries.flatMap(({ path, text, type }) => {
    const content = Buffer.from(type === undefined ? text : "");
    const link = type === undefined ? {} : { linkpath: text };
    const kind = type ?? "File";
    const header = new Header({ path, type: kind, size: content.length, mode: 0o644, ...link });
    header.encode();
    const padding = Buffer.alloc((512 - (content.length % 512)) % 512);
    return [header.block ?? Buffer.alloc(0), content, padding];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1_024)]));
}

let archive: Buffer;
let fetched: GitRequest[];
let opened: number;
/** Refs that the repository has. */
let branches: string[];
beforeEach(() => {
  archive = archiveOf([{ path: "a.yaml", text: map("a") }]);
  fetched = [];
  opened = 0;
  branches = ["main"];
});

const digest = () => createHash("sha256").update(archive).digest("hex");
function source(more: Partial<ManifestRepository> = {}) {
  const git: GitSource = {
    async fetch(request) {
      fetched.push(request);
      const { branch, tag } = request.repository.spec.ref ?? {};
      if (branch !== undefined && !branches.includes(branch)) {
        throw new ArtifactError(`Repository x has no branch "${branch}"; mend spec.ref`, true);
      }
      const revision = `${branch ?? tag ?? "HEAD"}@sha1:1`;
      return {
        revision,
        url: "file:///x",
        digest: `sha256:${digest()}`,
        sizeBytes: archive.length,
      };
    },
  };
  const artifacts: ArtifactStore = {
    async open() {
      opened += 1;
      return {
        digest: digest(),
        sizeBytes: archive.length,
        async *chunks() {
          // In small pieces, as a large file comes.
          for (let at = 0; at < archive.length; at += 100) yield archive.subarray(at, at + 100);
        },
      };
    },
  };
  return manifestRepository({ git, artifacts, url: "https://example.test/x", ...more });
}
async function names(more: Partial<ManifestRepository> = {}): Promise<string[]> {
  const { objects } = await source(more).read(call);
  return objects.map(({ metadata }) => metadata.name);
}

test("manifests of the whole repository, in the order of their paths", async () => {
  archive = archiveOf([
    { path: "b.json", text: '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}' },
    { path: "deep/down/a.yml", text: map("a") },
    { path: "c.yaml", text: map("c") },
    { path: "main.tf", text: "# not a manifest" },
    { path: "values.yaml", text: "replicas: 3" },
    { path: ".github/x.yaml", text: map("hidden") },
    { path: "web/node_modules/x.yaml", text: map("foreign") },
  ]);
  expect(await names()).toEqual(["b", "c", "a"]);
});

test("of the folder asked for alone, which must be there", async () => {
  archive = archiveOf([
    { path: "a.yaml", text: map("a") },
    { path: "prod/b.yaml", text: map("b") },
    { path: "production/c.yaml", text: map("c") },
  ]);
  for (const path of ["prod", "./prod/", "/prod"]) expect(await names({ path })).toEqual(["b"]);
  const { objects, diagnostics } = await source({ path: "prd" }).read(call);
  expect(objects).toEqual([]);
  expect(diagnostics).toMatchObject([
    { severity: "error", summary: 'Folder "prd" is not in HEAD@sha1:1; name one that is' },
  ]);
});

test("a bad manifest is told with its place in the repository, the others are read", async () => {
  archive = archiveOf([
    { path: "good.yaml", text: map("good") },
    { path: "bad.yaml", text: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 5}\n" },
  ]);
  const { objects, diagnostics } = await source().read(call);
  expect(objects.map(({ metadata }) => metadata.name)).toEqual(["good"]);
  expect(diagnostics).toMatchObject([{ severity: "error", file: "bad.yaml", line: 3 }]);
});

test("a revision that was read is not read again; a new one is", async () => {
  const repository = source();
  const first = await repository.read(call);
  expect(await repository.read(call)).toEqual(first);
  expect(opened).toBe(1);
  archive = archiveOf([{ path: "a.yaml", text: map("other") }]);
  const { objects } = await repository.read(call);
  expect(objects.map(({ metadata }) => metadata.name)).toEqual(["other"]);
  expect(fetched).toHaveLength(3);
});

describe("a ref means", () => {
  const commit = "0123456789abcdef0123456789abcdef01234567";
  const refs: Record<string, { ref: string | undefined; asked: object[] }> = {
    "HEAD, if there is none": { ref: undefined, asked: [{ name: "HEAD" }] },
    "a branch, if there is one": { ref: "main", asked: [{ branch: "main" }] },
    "else a tag": { ref: "v1", asked: [{ branch: "v1" }, { tag: "v1" }] },
    "a commit, written in full": { ref: commit, asked: [{ commit }] },
    "a full ref": { ref: "refs/pull/1/head", asked: [{ name: "refs/pull/1/head" }] },
    "a range of versions": { ref: ">=1.0 <2", asked: [{ semver: ">=1.0 <2" }] },
  };
  test.each(Object.entries(refs))("%s", async (_, { ref, asked }) => {
    await source({ ref }).read(call);
    expect(fetched.map(({ repository }) => repository.spec.ref)).toEqual(asked);
  });

  test("no tag where the repository itself cannot be reached", async () => {
    const git: GitSource = {
      async fetch(request) {
        fetched.push(request);
        throw new ArtifactError("Host of x cannot be reached; it is tried again", true);
      },
    };
    await expect(source({ ref: "v1", git }).read(call)).rejects.toThrow("cannot be reached");
    expect(fetched).toHaveLength(1);
  });
});

describe("hostile archives", () => {
  test("a link is no manifest, wherever it leads", async () => {
    archive = archiveOf([
      { path: "a.yaml", text: map("a") },
      { path: "link.yaml", text: "/etc/passwd", type: "SymbolicLink" },
    ]);
    expect(await names()).toEqual(["a"]);
  });

  test("a file larger than any manifest is skipped, with a word", async () => {
    archive = archiveOf([
      { path: "a.yaml", text: map("a") },
      { path: "big.yaml", text: "x".repeat(3 * 1024 * 1024) },
    ]);
    const { objects, diagnostics } = await source().read(call);
    expect(objects).toHaveLength(1);
    expect(diagnostics).toMatchObject([{ severity: "warning", file: "big.yaml" }]);
  });

  test("one that is cut off or is none fails, and does not end the engine", async () => {
    archive = archive.subarray(0, 60);
    await expect(source().read(call)).rejects.toThrow();
    archive = gzipSync(Buffer.alloc(2_000, "x"));
    await expect(source().read(call)).rejects.toThrow();
    archive = Buffer.from("<html>");
    await expect(source().read(call)).rejects.toThrow();
  });
});

test("whoever wrote flags and a URL is told of them, not of fields and Secrets", () => {
  const said = [
    'GitRepository nigari-up/manifests: Repository x has no tag "v1"; mend spec.ref, or push it',
    "URL in spec.url holds a password; put username and password into a Secret and name it in " +
      "spec.secretRef",
    "Repository x does not exist or wants credentials; check spec.url and name a Secret with " +
      "username and password in spec.secretRef",
    "Authentication at x failed; name a Secret with username and password, or bearerToken, in " +
      "spec.secretRef",
    "Key was refused by x; name a Secret with identity in spec.secretRef",
    'Host key of x has changed; put the line of "ssh-keyscan x" into known_hosts of the Secret ' +
      "of spec.secretRef (or into your own known_hosts)",
    "Secret of spec.secretRef has no identity; ssh needs the private key there",
    "Certificate of x is not trusted; name a Secret with ca.crt in spec.secretRef if an " +
      "authority of your own signed it",
  ];
  expect(said.map(inWordsOfTheCommandLine)).toEqual([
    'Repository x has no tag "v1"; mend --ref, or push it',
    "Git URL holds a password; give it by --token-file or NIGARI_GIT_TOKEN",
    "Repository x does not exist or wants credentials; check the Git URL and give --token-file",
    "Authentication at x failed; give --token-file",
    "Key was refused by x; give identity by --identity-file",
    'Host key of x has changed; put the line of "ssh-keyscan x" into a --known-hosts-file, or ' +
      "into your own known_hosts",
    "An ssh URL needs --identity-file beside it",
    "Certificate of x is not trusted; name its file in SSL_CERT_FILE if an authority of your " +
      "own signed it",
  ]);
});
