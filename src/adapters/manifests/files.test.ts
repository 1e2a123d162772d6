import {
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { diagnosticText } from "../../api/diagnostic.ts";
import { manifestFolder, readManifestFiles, whyUnreadable } from "./files.ts";

const root = mkdtempSync(join(tmpdir(), "nigari-manifests-"));
afterAll(() => rmSync(root, { recursive: true }));
let count = 0;
/** A folder with these files. */
function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = join(root, String(++count));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}
const call = { signal: new AbortController().signal };
const secret = (name: string) => `apiVersion: v1\nkind: Secret\nmetadata: {name: ${name}}\n`;
const repository = `apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: code}
spec: {url: ../code, interval: 1m}
`;
async function read(path: string) {
  const { objects, errors, warnings } = await readManifestFiles(path, undefined, call);
  const told = [...errors, ...warnings].map((each) => diagnosticText(each).replaceAll(root, ""));
  return { names: objects.map(({ metadata }) => metadata.name), objects, told };
}

test("a folder: manifests in it and below, in order, and nothing else", async () => {
  const folder = folderWith({
    "b.yaml": secret("b"),
    "a/a.yml": secret("a"),
    "c.json": '{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c"}}',
    "package.json": '{"name": "x"}',
    "broken.yaml": "{{ not yaml",
    "main.tf": "resource {}",
    ".git/x.yaml": secret("hidden"),
    "node_modules/x/x.yaml": secret("theirs"),
  });
  expect(await read(folder)).toMatchObject({ names: ["a", "b", "c"], told: [] });
});

test("a path in a manifest starts in the manifest's own folder", async () => {
  const folder = folderWith({ "infra/code.yaml": repository });
  const { objects } = await read(folder);
  expect(objects[0]).toMatchObject({ spec: { url: join(folder, "code") } });
});

test("a file that was named is a manifest, or is refused", async () => {
  const folder = folderWith({ "x.txt": secret("a"), "y.yaml": "hello" });
  expect(await read(join(folder, "x.txt"))).toMatchObject({ names: ["a"], told: [] });
  expect((await read(join(folder, "y.yaml"))).told).toEqual([
    `${join(folder, "y.yaml").replace(root, "")}:1:1: error: Document 1: is plain text, not an ` +
      "object with apiVersion, kind and metadata",
  ]);
});

test("what cannot be read is named, the rest is read", async () => {
  const folder = folderWith({ "a.yaml": secret("a"), "big.yaml": "", "z.yaml": secret("z") });
  truncateSync(join(folder, "big.yaml"), 3 * 1024 * 1024);
  symlinkSync("nowhere", join(folder, "gone.yaml"));
  symlinkSync("round.yaml", join(folder, "round.yaml"));
  symlinkSync(".", join(folder, "self.yaml"));
  const { names, told } = await read(folder);
  expect(names).toEqual(["a", "z"]);
  const at = folder.replace(root, "");
  expect(told).toEqual([
    `${at}/gone.yaml: error: There is no such file or folder; check the path`,
    `${at}/round.yaml: error: The link leads round in circles; remove it`,
    `${at}/big.yaml: warning: Skipped, larger than the 2097152 bytes of a manifest`,
    `${at}/self.yaml: warning: Skipped, not a plain file`,
  ]);
});

test("a file that was named and is too large is refused after its limit", async () => {
  const folder = folderWith({ "big.yaml": "" });
  truncateSync(join(folder, "big.yaml"), 1024 ** 3);
  expect((await read(join(folder, "big.yaml"))).told).toEqual([
    expect.stringMatching(/error: The file has 2097153 bytes; at most 2097152 are read, so split/),
  ]);
});

test("a path that is not there", async () => {
  expect((await read(join(root, "none"))).told).toEqual([
    "/none: error: There is no such file or folder; check the path",
  ]);
});

const reasons: [string, string][] = [
  ["ENOENT", "There is no such file or folder; check the path"],
  ["EACCES", "The file may not be read; check its permissions"],
  ["EISDIR", "A folder stands where a file is needed; name a file in it"],
  ["EIO", "The file cannot be read (EIO)"],
];
test.each(reasons)("the system's %s in words", (code, words) => {
  expect(whyUnreadable(Object.assign(new Error("x"), { code }))).toBe(words);
});

test("a folder as a source: its version follows what files hold and their names", async () => {
  const folder = folderWith({ "a.yaml": secret("a"), "b.yaml": "hello" });
  const source = manifestFolder(folder);
  const first = await source.read(call);
  expect(first.objects.map(({ metadata }) => metadata.name)).toEqual(["a"]);
  expect(await source.read(call)).toEqual(first);
  const versions = [first.version];
  writeFileSync(join(folder, "a.yaml"), `${secret("a")}\n`);
  versions.push((await source.read(call)).version);
  renameSync(join(folder, "a.yaml"), join(folder, "c.yaml"));
  versions.push((await source.read(call)).version);
  expect(new Set(versions).size).toBe(3);
  writeFileSync(join(folder, "b.yaml"), "kind: Secret\n");
  expect((await source.read(call)).diagnostics).toMatchObject([
    { severity: "error", file: join(folder, "b.yaml"), line: 1 },
  ]);
});

const unclear: [string, string][] = [
  ["nothing", ""],
  ["comments alone", "# kind: Secret\n---\n"],
  ["another text", "hello"],
  ["a document that is none beside one that is", `${secret("b")}---\nname: a\n`],
  ["more than a manifest may hold", "x".repeat(3 * 1024 * 1024)],
];
test.each(unclear)("a file that holds %s is named, and none that is whole", async (_what, text) => {
  const folder = folderWith({ "sub/a.yaml": text, "c.yaml": secret("c") });
  const { objects, files, unclear, diagnostics } = await manifestFolder(folder).read(call);
  expect(unclear).toEqual(["sub/a.yaml"]);
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  const [object] = objects.filter(({ metadata }) => metadata.name === "c");
  expect(object && files?.get(object)).toBe("c.yaml");
});

test("another program's manifest is one", async () => {
  const other = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n";
  const folder = folderWith({ "a.yaml": other });
  expect((await manifestFolder(folder).read(call)).unclear).toEqual([]);
});

test("a call that is cancelled ends with its reason", async () => {
  const reason = new Error("Ctrl-C");
  const folder = folderWith({ "a.yaml": secret("a") });
  const cancelled = { signal: AbortSignal.abort(reason) };
  await expect(readManifestFiles(folder, undefined, cancelled)).rejects.toBe(reason);
});
