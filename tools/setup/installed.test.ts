import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { stale } from "./installed.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "nigari-installed-"));
  mkdirSync(join(root, "node_modules"));
});
afterEach(() => rmSync(root, { recursive: true }));

type Packages = Record<string, object>;
const yaml = { version: "2.9.1", integrity: "sha512-a" };
const here = { os: [process.platform], cpu: process.arch };

function arrange(wanted: Packages, installed: Packages | undefined, onDisk: string[]): void {
  const lock = (packages: Packages) => JSON.stringify({ lockfileVersion: 3, packages });
  writeFileSync(join(root, "package-lock.json"), lock({ "": { name: "nigari" }, ...wanted }));
  if (installed !== undefined) {
    writeFileSync(join(root, "node_modules/.package-lock.json"), lock(installed));
  }
  for (const path of onDisk) {
    mkdirSync(join(root, path), { recursive: true });
    writeFileSync(join(root, path, "package.json"), JSON.stringify({ version: "2.9.1" }));
  }
}

const Y = "node_modules/yaml";
const N = "node_modules/node-here";
const cases: Record<
  string,
  { wanted: Packages; installed: Packages | undefined; onDisk: string[]; stale: unknown }
> = {
  "all there": { wanted: { [Y]: yaml }, installed: { [Y]: yaml }, onDisk: [Y], stale: [] },
  "npm was never here": {
    wanted: { [Y]: yaml },
    installed: undefined,
    onDisk: [Y],
    stale: undefined,
  },
  "a new package in the lock": { wanted: { [Y]: yaml }, installed: {}, onDisk: [], stale: [Y] },
  "another version": {
    wanted: { [Y]: yaml },
    installed: { [Y]: { ...yaml, version: "2.9.0" } },
    onDisk: [Y],
    stale: [Y],
  },
  "the same version with other contents": {
    wanted: { [Y]: yaml },
    installed: { [Y]: { ...yaml, integrity: "sha512-b" } },
    onDisk: [Y],
    stale: [Y],
  },
  "recorded, but its folder was removed": {
    wanted: { [Y]: yaml },
    installed: { [Y]: yaml },
    onDisk: [],
    stale: [Y],
  },
  "recorded, but never installed": {
    wanted: { [Y]: { ...yaml, version: "2.9.2" } },
    installed: { [Y]: { ...yaml, version: "2.9.2" } },
    onDisk: [Y],
    stale: [Y],
  },
  "optional and for other machines: npm leaves it out": {
    wanted: { [N]: { ...yaml, optional: true, os: "plan9", cpu: "mips" } },
    installed: {},
    onDisk: [],
    stale: [],
  },
  "optional and for this very machine: Node itself, say": {
    wanted: { [N]: { ...yaml, optional: true, ...here } },
    installed: {},
    onDisk: [],
    stale: [N],
  },
  "optional and for one C library: not told apart here": {
    wanted: { [N]: { ...yaml, optional: true, ...here, libc: ["musl"] } },
    installed: {},
    onDisk: [],
    stale: [],
  },
};

test.each(Object.entries(cases))("%s", (_, row) => {
  arrange(row.wanted, row.installed, row.onDisk);
  expect(stale(root)).toEqual(row.stale);
});
