import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type FakeMachine, fakeMachine, goScript } from "../../src/testing/fake-go.ts";

const main = join(import.meta.dirname, "../../tools/opentofu/main.ts");

let scratch: string;
let folder: string;
let machine: FakeMachine;
let begun: string;

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "nigari-tools-"));
  folder = join(scratch, "cache");
  machine = fakeMachine(scratch);
  begun = join(scratch, "begun");
});
afterEach(() => rmSync(scratch, { recursive: true, maxRetries: 3 }));

interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<{ code: number | null; text: string }>;
  /** What it has said so far. */
  readonly said: () => string;
}

/** `npm run tools` as a process of its own; Go is a script, so that it takes no minutes. */
function start(): Started {
  const child = spawn(process.execPath, [main], {
    env: { ...machine.env, NIGARI_TOOLS: folder },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let text = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    text += chunk.toString();
  });
  const { promise, resolve } = Promise.withResolvers<{ code: number | null; text: string }>();
  child.once("close", (code) => resolve({ code, text }));
  return { child, ended: promise, said: () => text };
}

async function until(what: () => boolean): Promise<void> {
  for (const end = performance.now() + 20_000; !what(); await sleep(10)) {
    if (performance.now() > end) throw new Error(`Waited 20 s in vain: ${what}`);
  }
}

function made(): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.endsWith("stamps"))
    .map((entry) => entry.name)
    .filter((name) => name !== "build.lock")
    .sort();
}

test("both programs are built, told in lines for a log, and not built again", async () => {
  machine.program("go", goScript());
  const first = await start().ended;
  expect(first).toMatchObject({ code: 0 });
  expect(first.text).toMatch(
    /^OpenTofu [\d.]+: downloading Go modules, 0 so far \(0 s\)\n(.*\n)*OpenTofu [\d.]+: built in /,
  );
  expect(first.text).toMatch(
    /\nprovider time [\d.]+: built in .*terraform-provider-time_v[\d.]+\n$/,
  );
  expect(made()).toEqual([expect.stringMatching(/^terraform-provider-time_v/), "tofu"]);

  const calls = machine.goCalls().length;
  expect(await start().ended).toEqual({ code: 0, text: "" });
  expect(machine.goCalls()).toHaveLength(calls);
});

test("a builder that is killed lets the one that waits go on", async () => {
  machine.program("go", goScript({ build: `touch ${begun}; exec sleep 10` }));
  const first = start();
  await until(() => existsSync(begun));
  const second = start();
  await until(() => second.said().includes("another build is under way, waiting for it"));
  machine.program("go", goScript());
  first.child.kill("SIGKILL");
  expect(await second.ended).toMatchObject({ code: 0 });
  expect(made()).toEqual([expect.stringMatching(/^terraform-provider-time_v/), "tofu"]);
});

test("Ctrl-C ends the build at once and leaves nothing half done", async () => {
  machine.program("go", goScript({ build: `echo half >"$out"; touch ${begun}; sleep 300` }));
  const { child, ended } = start();
  await until(() => existsSync(begun));
  child.kill("SIGINT");
  const { code, text } = await ended;
  expect(code).toBe(1);
  expect(text).toMatch(/\ntools: Building OpenTofu [\d.]+ stopped: .*SIGINT was received\n$/);
  expect(made()).toEqual([]);
});

test("without Go it says what to install, in one line", async () => {
  const { code, text } = await start().ended;
  expect(code).toBe(1);
  expect(text).toMatch(
    /^tools: Go is needed to build OpenTofu .* and is not on PATH; install Go .* or newer .*\n$/,
  );
});
