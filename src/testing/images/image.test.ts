import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { list } from "tar";
import { afterAll, describe, expect, test } from "vitest";
import { buildImages, type Image } from "./image.ts";
import type { ImageFiles } from "./layer.ts";

const folder = mkdtempSync(join(tmpdir(), "nigari-images-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const base: ImageFiles = {
  "usr/bin/tool": { text: "#!/bin/sh\n", mode: 0o755 },
  "bin/tool": { link: "../usr/bin/tool" },
};

function image(name: string, more: ImageFiles): Image {
  return { name, layers: [base, more], entrypoint: ["/bin/tool"], user: "65532:65532" };
}

describe("an image from files", () => {
  test("is the same bytes at every build, whatever the order of its files", () => {
    const more: ImageFiles = { "b/x": { text: "x" }, a: { text: "y" } };
    const turned: ImageFiles = { a: { text: "y" }, "b/x": { text: "x" } };
    expect(archiveOf([image("test.local/one:1", more)])).toEqual(
      archiveOf([image("test.local/one:1", turned)]),
    );
  });

  test("shares a layer with another one of the archive", () => {
    const images = ["one", "two"].map((name) =>
      image(`test.local/${name}:1`, { name: { text: name } }),
    );
    const names = namesIn(fileOf(images));
    // The shared layer, and of each image its own layer, its configuration and its manifest.
    expect(names.filter((name) => /^blobs\/sha256\/\w/.test(name))).toHaveLength(1 + 2 * 3);
    expect(names).toContain("oci-layout");
  });

  test("has a folder entry above each file, before it", () => {
    const file = fileOf([image("test.local/one:1", { "deep/er/file": { text: "x" } })]);
    const names = namesIn(file);
    expect(names.indexOf("blobs/sha256/")).toBeLessThan(
      names.findIndex((name) => /sha256\/\w/.test(name)),
    );
  });

  test("refuses a path that a plain tar cannot hold", () => {
    const long = { ["x".repeat(300)]: { text: "" } };
    expect(() => fileOf([image("test.local/one:1", long)])).toThrow("too long");
  });
});

function fileOf(images: readonly Image[]): string {
  const file = join(folder, "archive.tar");
  buildImages(images, file);
  return file;
}

function archiveOf(images: readonly Image[]): Buffer {
  return readFileSync(fileOf(images));
}

function namesIn(file: string): string[] {
  const names: string[] = [];
  list({ file, sync: true, onReadEntry: (entry) => names.push(entry.path) });
  return names;
}
