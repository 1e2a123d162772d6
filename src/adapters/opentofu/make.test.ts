import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type FakeMachine, fakeMachine, goScript } from "../../testing/fake-go.ts";
import { createClock } from "../system/clock.ts";
import { isMade, makeProgram } from "./make.ts";
import { openTofu, providerTime, toolsFolder } from "./programs.ts";
import type { BuildProgress } from "./progress.ts";

const clock = createClock();
let scratch: string;
let folder: string;
let machine: FakeMachine;
let seen: BuildProgress[];

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "nigari-make-"));
  folder = join(scratch, "cache");
  machine = fakeMachine(scratch);
  seen = [];
});
afterEach(() => rmSync(scratch, { recursive: true }));

async function make(
  more: { env?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<string> {
  const options = {
    folder,
    env: { ...machine.env, ...more.env },
    clock,
    onProgress: (progress: BuildProgress) => seen.push(progress),
  };
  const signal = more.signal ?? new AbortController().signal;
  return makeProgram(await openTofu(machine.root), options, { signal });
}

const builds = () => machine.goCalls().filter((call) => call === "build").length;

describe("a program is made", () => {
  test("once, and told step by step", async () => {
    machine.program("go", goScript());
    const path = await make();
    expect(path).toBe(join(folder, "bin/tofu"));
    expect(readFileSync(path, "utf8")).toContain("OpenTofu v1.12.6");
    expect(new Set(seen.map(({ step }) => step.name))).toEqual(
      new Set(["downloading", "compiling", "linking", "done"]),
    );
    expect(seen.find(({ step }) => step.name === "compiling")?.step).toMatchObject({ total: 3 });

    expect(await make()).toBe(path);
    expect(builds()).toBe(1);
  });

  test("anew when the pins change", async () => {
    machine.program("go", goScript());
    await make();
    writeFileSync(join(machine.root, "tools/go.sum"), "github.com/other v1.0.0 h1:x\n");
    await make();
    expect(builds()).toBe(2);
  });

  test("anew when the file is gone though its stamp is not", async () => {
    machine.program("go", goScript());
    rmSync(await make());
    await make();
    expect(builds()).toBe(2);
  });

  test("by one of two that ask at once; the other waits and says so", async () => {
    machine.program("go", goScript({ build: `sleep 0.5; echo '#!/bin/sh' >"$out"` }));
    const [one, two] = await Promise.all([make(), make()]);
    expect(one).toBe(two);
    expect(builds()).toBe(1);
    expect(seen.some(({ step }) => step.name === "waiting")).toBe(true);
  });

  test("for this machine, whatever the environment says of others", async () => {
    machine.program(
      "go",
      goScript({ build: `echo "[$GOOS$GOARCH] $CGO_ENABLED $GOFLAGS $GOPROXY" >"$out"` }),
    );
    const env = { GOOS: "plan9", GOARCH: "mips", GOFLAGS: "-mod=vendor", GOPROXY: "https://p" };
    expect(readFileSync(await make({ env }), "utf8")).toBe("[] 0 -buildvcs=false https://p\n");
  });
});

describe("it appears whole or not at all", () => {
  const halfDone = () => goScript({ build: `echo half >"$out"; touch "$out.begun"; sleep 60` });
  const begun = () => readdirSync(join(folder, "bin")).some((name) => name.endsWith(".begun"));

  test("a build that is called off leaves nothing and holds no lock", async () => {
    machine.program("go", halfDone());
    const stop = new AbortController();
    const making = make({ signal: stop.signal });
    const ended = making.catch((error: unknown) => error);
    while (!existsSync(join(folder, "bin")) || !begun()) await sleep(10);
    stop.abort(new Error("Ctrl-C"));
    expect(String(await ended)).toContain("Ctrl-C");
    expect(await isMade(await openTofu(machine.root), folder)).toBe(false);
    expect(existsSync(join(folder, "bin/tofu"))).toBe(false);

    // What a killed builder would have left goes with the next build.
    machine.program("go", goScript());
    await make();
    expect(readdirSync(join(folder, "bin"))).toEqual(["tofu"]);
  });

  test("a failed rebuild leaves the old program as it was", async () => {
    machine.program("go", goScript());
    const path = await make();
    writeFileSync(join(machine.root, "tools/go.sum"), "changed");
    machine.program("go", goScript({ build: `echo half >"$out"; exit 1` }));
    await expect(make()).rejects.toThrow("failed");
    expect(readFileSync(path, "utf8")).toContain("OpenTofu v1.12.6");
    expect(readdirSync(join(folder, "bin"))).toEqual(["tofu"]);
  });
});

describe("what goes wrong names the mend", () => {
  const mend = "or set NIGARI_TOFU to an OpenTofu you have";
  const cases: Record<string, { go: string | undefined; says: string[] }> = {
    "no Go at all": {
      go: undefined,
      says: ["Go is needed to build OpenTofu 1.12.6 and is not on PATH; install Go 1.26.6", mend],
    },
    "a Go that may not fetch a newer one": {
      go: goScript({ version: "1.22.1", toolchain: "local" }),
      says: ["Go 1.22.1 is too old to build OpenTofu 1.12.6; install Go 1.26.6 or newer", mend],
    },
    "a Go from before it could fetch a newer one": {
      go: goScript({ version: "1.19.8" }),
      says: ["Go 1.19.8 is too old", mend],
    },
    "a broken Go": {
      go: "echo 'cannot find GOROOT directory' >&2; exit 2",
      says: ["cannot find GOROOT directory; reinstall Go (https://go.dev/dl)", mend],
    },
    "a build that fails: Go's own words, without the names of packages": {
      go: goScript({ build: `echo example.org/a >&2; echo "a.go:1: no space left" >&2; exit 1` }),
      says: ['"go build" ended with exit code 1:\n  a.go:1: no space left\n', "GOPROXY", mend],
    },
  };
  test.each(Object.entries(cases))("%s", async (_, { go, says }) => {
    if (go !== undefined) machine.program("go", go);
    const error = await make().catch((caught) => caught);
    expect(error).toMatchObject({ name: "BuildError" });
    for (const part of says) expect(error.message).toContain(part);
    expect(error.message).not.toContain("example.org/a\n");
  });

  test("an older Go that fetches the newer one by itself is good enough", async () => {
    machine.program("go", goScript({ version: "1.22.1", toolchain: "auto" }));
    await expect(make()).resolves.toContain("bin/tofu");
  });
});

describe("where programs go", () => {
  test("a checkout has .tools, an installed package the data directory", () => {
    const dataDir = "/data";
    expect(toolsFolder({ env: {}, root: machine.root, dataDir })).toBe(
      join(machine.root, ".tools"),
    );
    expect(toolsFolder({ env: {}, root: scratch, dataDir })).toBe("/data/tools");
    const env = { NIGARI_TOOLS: "/elsewhere" };
    expect(toolsFolder({ env, root: machine.root, dataDir })).toBe("/elsewhere");
  });

  test("the provider lies where OpenTofu looks in a filesystem mirror", async () => {
    const real = join(import.meta.dirname, "../../..");
    const program = await providerTime(real, { os: "darwin", arch: "arm64" });
    expect(program.target).toBe(
      `providers/registry.opentofu.org/hashicorp/time/${program.version}/darwin_arm64/` +
        `terraform-provider-time_v${program.version}`,
    );
  });

  test("the pins of this repository can be read", async () => {
    const program = await openTofu(join(import.meta.dirname, "../../.."));
    expect(program).toMatchObject({ title: `OpenTofu ${program.version}`, target: "bin/tofu" });
    expect(program.version).toMatch(/^1\.\d+\.\d+$/);
  });

  test("a go.mod without the pin is refused by name", async () => {
    writeFileSync(join(machine.root, "tools/go.mod"), "module x\n\ngo 1.26\n");
    await expect(openTofu(machine.root)).rejects.toThrow(/tools\/go\.mod pins no version/);
  });
});
