import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../../src/processes/command.ts";
import { type BundleInputs, foreignToRunner } from "../../tools/check/bundle.ts";

const root = join(import.meta.dirname, "../..");
const scratch = mkdtempSync(join(tmpdir(), "nigari-package-"));
const project = join(scratch, "project");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const files: string[] = [];

async function run(command: string[], cwd: string, env: Record<string, string>) {
  const [file = "", ...args] = command;
  const signal = AbortSignal.timeout(170_000);
  const result = await runCommand({ file, args, cwd, env }, { signal });
  return { ...result, stdout: result.stdout.toString() };
}

/** npm's settings of this machine (registry, proxy, certificates) are needed to install. */
function npmEnvironment(): Record<string, string> {
  const env = Object.entries(process.env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !/^npm_(package|lifecycle|command)/.test(entry[0]),
  );
  return Object.fromEntries(env);
}

beforeAll(async () => {
  mkdirSync(project);
  const packed = await run(
    ["npm", "pack", "--json", "--pack-destination", scratch],
    root,
    npmEnvironment(),
  );
  expect(packed.code, packed.stderr).toBe(0);
  const tarball = readdirSync(scratch).find((name) => name.endsWith(".tgz")) ?? "";
  const install = ["npm", "install", "--prefer-offline", "--no-audit", "--no-fund"];
  const installed = await run(
    [...install, "--prefix", project, join(scratch, tarball)],
    project,
    npmEnvironment(),
  );
  expect(installed.code, installed.stderr).toBe(0);
  const folder = join(project, "node_modules/nigari");
  files.push(...readdirSync(folder, { recursive: true, encoding: "utf8" }));
});
afterAll(() => rmSync(scratch, { recursive: true }));

describe("the npm package, installed elsewhere", () => {
  test("runs, though the only Node on PATH is of no use", async () => {
    // A PATH with the usual tools, before them a "node" that is too old and says so when run.
    const old = join(scratch, "old");
    mkdirSync(old);
    await run(
      ["sh", "-c", `printf '#!/bin/sh\\necho 20.20.2; exit 1\\n' >node; chmod +x node`],
      old,
      {
        PATH: "/usr/bin:/bin",
      },
    );
    const result = await run([join(project, "node_modules/.bin/nigari"), "version"], scratch, {
      PATH: `${old}:/usr/bin:/bin`,
      HOME: homedir(),
    });
    expect(result).toMatchObject({ code: 0, stdout: `nigari ${version}\n`, stderr: "" });
  });

  test("holds the programs, the pins of OpenTofu, and no sources or tests", () => {
    expect(files).toEqual(
      expect.arrayContaining([
        "nigari",
        "package.json",
        "LICENSE",
        "dist/cli.js",
        "dist/THIRD-PARTY-LICENSES.txt",
        "tools/go.mod",
        "tools/go.sum",
      ]),
    );
    expect(
      files.filter((name) => /\.ts$|^src|^test|dist\/meta|^node_modules\/./.test(name)),
    ).toEqual([]);
  });

  test("brings nothing but itself and Node: all else is in the bundles", () => {
    const beside = readdirSync(join(project, "node_modules")).filter(
      (name) => !name.startsWith("."),
    );
    expect(beside.filter((name) => !/^node-(linux|darwin|bin-darwin)-/.test(name))).toEqual([
      "nigari",
    ]);
  });
});

test("the runner holds neither engine, Kubernetes client, database nor web server", () => {
  const meta = join(root, "dist/meta/runner.json");
  // Fails, and is meant to, if the runner is no longer bundled though there is one.
  expect(existsSync(meta)).toBe(existsSync(join(root, "src/main/runner.ts")));
  if (!existsSync(meta)) return;
  const inputs: BundleInputs = JSON.parse(readFileSync(meta, "utf8"));
  expect(Object.keys(inputs.inputs)).toContain("src/main/runner.ts");
  expect(foreignToRunner(inputs)).toEqual([]);
});
