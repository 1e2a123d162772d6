import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import type { StartOrder } from "../../src/ports/runner.ts";
import { type RealRunner, startRealRunner } from "../../src/testing/real-runner.ts";
import {
  mirrorConfig,
  packedMirror,
  timeModule,
  timePackage,
  timeVersion,
  unpackedMirror,
} from "./support/provider-mirror.ts";

// What runs share of init, with real OpenTofu and a real provider out of a mirror.

const scratch = mkdtempSync(join(tmpdir(), "nigari-cache-"));
const packed = packedMirror(join(scratch, "packed"));
const runners: RealRunner[] = [];
let cache = "";
let caches = 0;
afterEach(async () => {
  for (const runner of runners.splice(0)) await runner.remove();
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

function emptyCache(): void {
  caches += 1;
  cache = join(scratch, `cache-${caches}`);
}

interface Looked {
  readonly runner: RealRunner;
  readonly log: string;
  readonly skipped: boolean;
}

const outputModule = (value: number) => ({
  "main.tf": timeModule(timeVersion, `output "x" { value = ${value} }\n`),
});
const pinned = { "main.tf": timeModule(timeVersion) };

async function begun(
  files: Record<string, string> = pinned,
  order: Partial<StartOrder> = {},
  plan?: Uint8Array,
): Promise<RealRunner> {
  const runner = await startRealRunner({ NIGARI_CACHE: cache });
  runners.push(runner);
  const state = join(scratch, `${caches}.tfstate`);
  const backend = `terraform {\n  backend "local" {\n    path = "${state}"\n  }\n}\n`;
  const cliConfig = mirrorConfig(packed);
  await runner.begin(files, { upgrade: true, backend, cliConfig, ...order }, plan);
  return runner;
}

/** Runs to the end, which must be a good one. */
async function looked(...args: Parameters<typeof begun>): Promise<Looked> {
  const runner = await begun(...args);
  const outcome = await runner.outcome();
  const log = await runner.log();
  if (outcome.kind !== "planned" && outcome.kind !== "applied") throw new Error(log);
  return { runner, log, skipped: log.includes("nigari: init is skipped") };
}

const packageFile = () =>
  join(cache, "providers", timePackage, `package/terraform-provider-time_v${timeVersion}`);
const garbage = () =>
  ["providers", "prepared"].flatMap((part) =>
    readdirSync(join(cache, part)).filter((name) => name.startsWith(".")),
  );

describe("init is skipped", () => {
  test("where nothing has changed, by plan and apply; and what changes makes it run", async () => {
    emptyCache();
    const first = await looked();
    expect(first.skipped).toBe(false);
    expect(first.log).toContain(`- Installing hashicorp/time v${timeVersion}`);
    const second = await looked();
    expect(second.skipped).toBe(true);
    const applied = await looked(pinned, {}, await second.runner.file("plan.bin"));
    expect(applied.skipped).toBe(true);
    expect(garbage()).toEqual([]);

    // Another source: init runs, and finds the package that is there.
    const other = await looked({
      "main.tf": timeModule(timeVersion, 'output "x" { value = 1 }\n'),
    });
    expect(other.skipped).toBe(false);
    expect(other.log).toContain(`- Using hashicorp/time v${timeVersion} from the shared cache`);
    // A lock file that names the package's hash lets it be used too.
    const lock = readFileSync(join(other.runner.folder.work, ".terraform.lock.hcl"), "utf8");
    const locked = await looked({ ...pinned, ".terraform.lock.hcl": lock });
    expect(locked.log).toContain(`- Using hashicorp/time v${timeVersion} from the shared cache`);

    // The program of the provider is another: nobody uses it, and a whole one takes its place.
    utimesSync(packageFile(), 1, 1);
    const healed = await looked();
    expect(healed.skipped).toBe(false);
    expect(healed.log).toContain(`- Installing hashicorp/time v${timeVersion}`);
    expect((await looked()).skipped).toBe(true);
  });

  test("for an apply where only the plan may not rely on it: versions are open", async () => {
    emptyCache();
    const open = { "main.tf": timeModule(">= 0.1") };
    await looked(open);
    const plan = await looked(open);
    expect(plan.skipped).toBe(false);
    expect((await looked(open, {}, await plan.runner.file("plan.bin"))).skipped).toBe(true);
    // Not to upgrade pins nothing where no lock file does.
    expect((await looked(open, { upgrade: false })).skipped).toBe(false);
    expect((await looked(open, { upgrade: false })).skipped).toBe(false);
    const lock = readFileSync(join(plan.runner.folder.work, ".terraform.lock.hcl"), "utf8");
    const locked = { ...open, ".terraform.lock.hcl": lock };
    expect((await looked(locked, { upgrade: false })).skipped).toBe(false);
    expect((await looked(locked, { upgrade: false })).skipped).toBe(true);
  });

  test("with a mirror on this machine, as long as its files are the same", async () => {
    emptyCache();
    const mirror = unpackedMirror(join(scratch, "unpacked"));
    const order = { cliConfig: mirrorConfig(mirror) };
    await looked(pinned, order);
    expect((await looked(pinned, order)).skipped).toBe(true);
    expect(existsSync(packageFile())).toBe(false);
    utimesSync(join(mirror, timePackage, `terraform-provider-time_v${timeVersion}`), 1, 1);
    expect((await looked(pinned, order)).skipped).toBe(false);
  });
});

test("runs that start at once on an empty cache do not hurt each other", async () => {
  emptyCache();
  const many = await Promise.all(
    Array.from({ length: 8 }, (_, at) => looked(outputModule(at % 4), { lock: false })),
  );
  expect(many).toHaveLength(8);
  expect(garbage()).toEqual([]);
  expect((await looked(outputModule(1))).skipped).toBe(true);
});

test("a runner that is killed while it gives back leaves nothing that anybody uses", async () => {
  emptyCache();
  for (const part of ["providers", "prepared"]) {
    const runner = await begun(pinned, { lock: false });
    // Whatever it has begun to make there, or a moment later.
    mkdirSync(join(cache, part), { recursive: true });
    for (let look = 0; look < 20_000 && readdirSync(join(cache, part)).length === 0; look += 1) {
      await sleep(1);
    }
    runner.process.kill("SIGKILL");
    await runner.ended;
  }
  const whole = readdirSync(join(cache, "prepared")).some((name) => !name.startsWith("."));
  expect((await looked(pinned, { lock: false })).skipped).toBe(whole);
  expect((await looked(pinned, { lock: false })).skipped).toBe(true);
});
