import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import type { StartOrder } from "../../src/ports/runner.ts";
import { readExitFile, readIdentityFile } from "../../src/processes/group.ts";
import { readProcessTable } from "../../src/processes/members.ts";
import { RUN_TOKEN } from "../../src/protocol/run-folder.ts";
import {
  type RealRunner,
  startRealRunner,
  tofuBehind,
  tofuTestEnvironment,
  within,
} from "../../src/testing/real-runner.ts";

// The runner program with real OpenTofu. The state is a local file outside of the run folder.

const runners: RealRunner[] = [];
const scratch = mkdtempSync(join(tmpdir(), "nigari-runner-"));
afterEach(async () => {
  for (const runner of runners.splice(0)) await runner.remove();
});
afterAll(() => rmSync(scratch, { recursive: true }));

async function runner(env: Record<string, string> = {}): Promise<RealRunner> {
  const started = await startRealRunner(env);
  runners.push(started);
  return started;
}

/** A backend of one's own: the text of backend_override.tf, and where its state lies. */
function ownState() {
  const path = join(scratch, `${randomUUID()}.tfstate`);
  const backend = `terraform {\n  backend "local" {\n    path = "${path}"\n  }\n}\n`;
  const resources = (): string[] =>
    JSON.parse(readFileSync(path, "utf8")).resources.map(
      (each: { type: string; name: string }) => `${each.type}.${each.name}`,
    );
  return { path, backend, resources };
}

type Files = Record<string, string>;

/** Plans and hands back the plan file. */
async function planned(files: Files, order: Partial<StartOrder>): Promise<Buffer> {
  const one = await runner();
  await one.begin(files, order);
  expect(await one.outcome()).toMatchObject({ kind: "planned", changes: true });
  return await one.file("plan.bin");
}

/** Plans, and begins the apply of it in a runner of its own. */
async function applying(
  files: Files,
  order: Partial<StartOrder>,
  env: Record<string, string> = {},
): Promise<RealRunner> {
  const plan = await planned(files, order);
  const two = await runner(env);
  await two.begin(files, order, plan);
  return two;
}

/** Processes that bear the run's token, but the runner. */
async function workers(of: RealRunner): Promise<number> {
  const marked = (await readProcessTable()).withToken(of.identity.token);
  return marked.filter(({ pid }) => pid !== of.process.pid).length;
}

/** The process that is the given program with the given first argument, among the run's. */
async function pidOf(of: RealRunner, pattern: RegExp): Promise<number> {
  for (const { pid } of (await readProcessTable()).withToken(of.identity.token)) {
    const line = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
    if (pattern.test(line)) return pid;
  }
  throw new Error(`No process like ${pattern}`);
}

const simple: Files = {
  "main.tf": `
    variable "greeting" { type = string }
    resource "terraform_data" "a" { input = var.greeting }
    output "o" { value = terraform_data.a.output }
    output "hidden" {
      value     = "x"
      sensitive = true
    }
  `,
};

/** A quick resource, then one that takes its time and leaves a trace when it is done. */
function slow(seconds: number, trace: string): Files {
  return {
    "main.tf": `
      resource "terraform_data" "quick" { input = 1 }
      resource "terraform_data" "slow" {
        input = terraform_data.quick.output
        provisioner "local-exec" { command = "echo at it; sleep ${seconds}; echo done >> ${trace}" }
      }
    `,
  };
}

/** The script of an OpenTofu whose apply is in the middle of a resource and hears no signal. */
function deafApply(work: string): string {
  return `[ "$1" = apply ] || exec "$real" "$@"
    trap "" INT TERM
    echo '${deafLine("apply_start", "terraform_data.slow: Creating...")}'
    ${work}`;
}

function deafLine(type: string, message: string): string {
  const hook = { resource: { addr: "terraform_data.slow" }, action: "create" };
  return JSON.stringify({ "@level": "info", "@message": message, hook, type });
}

describe("plan and apply", () => {
  test("what was planned is applied, and outputs are read", async () => {
    const { backend, resources } = ownState();
    const variables = '{"greeting":"hello"}';
    const two = await applying(simple, { backend, variables });
    expect(await two.outcome()).toEqual({
      kind: "applied",
      outputs: [
        { name: "hidden", sensitive: true },
        { name: "o", sensitive: false },
      ],
    });
    expect(JSON.parse(String(await two.file("outputs.json")))).toMatchObject({
      o: { value: "hello" },
    });
    expect(resources()).toEqual(["terraform_data.a"]);
    const progress = (await two.events()).filter((event) => event.type === "progress");
    expect(progress).toMatchObject([
      { resource: "terraform_data.a", action: "create", state: "started" },
      { resource: "terraform_data.a", action: "create", state: "done" },
    ]);
  });

  test("a plan without changes reads the outputs, and counts nothing", async () => {
    const { backend } = ownState();
    const order = { backend, variables: '{"greeting":"hello"}' };
    const { outcome } = await applying(simple, order);
    expect(await outcome()).toMatchObject({ kind: "applied" });
    const again = await runner();
    await again.begin(simple, order);
    expect(await again.outcome()).toMatchObject({
      kind: "planned",
      changes: false,
      summary: { add: 0, change: 0, destroy: 0, import: 0 },
      nothingToDestroy: false,
      outputs: [{ name: "hidden" }, { name: "o" }],
    });
  });

  test("a destroy plan destroys, and after that there is nothing to destroy", async () => {
    const { backend, resources } = ownState();
    const order = { backend, variables: '{"greeting":"hello"}' };
    expect(await (await applying(simple, order)).outcome()).toMatchObject({ kind: "applied" });
    const destroying = await applying(simple, { ...order, destroy: true });
    expect(await destroying.outcome()).toEqual({ kind: "applied", outputs: [] });
    expect(resources()).toEqual([]);
    const again = await runner();
    await again.begin(simple, { ...order, destroy: true });
    expect(await again.outcome()).toMatchObject({ changes: false, nothingToDestroy: true });
  });

  test("a change of outputs alone is a change, and applied", async () => {
    const { backend } = ownState();
    const before = { "main.tf": 'output "o" { value = 1 }' };
    expect(await (await applying(before, { backend })).outcome()).toMatchObject({
      outputs: [{ name: "o" }],
    });
  });

  test("a plan's JSON is kept if asked for, its text if it changes something, masked", async () => {
    const order = { variables: '{"greeting":"correct-horse"}', sensitive: ["correct-horse"] };
    const json = await runner();
    await json.begin(simple, { ...order, readablePlan: "json" });
    expect(await json.outcome()).toMatchObject({ summary: { add: 1 } });
    expect(JSON.parse(String(await json.file("plan.json")))).toHaveProperty("resource_changes");
    const human = await runner();
    await human.begin(simple, order);
    await human.outcome();
    const text = String(await human.file("plan.txt"));
    expect(text).toContain("terraform_data.a will be created");
    expect(text).not.toContain("correct-horse");
    expect(readdirSync(human.folder.files).sort()).toEqual(["plan.bin", "plan.txt"]);
    expect(readdirSync(human.folder.steps).filter((name) => name.startsWith("show"))).toEqual(
      expect.not.arrayContaining(["show.out", "show-text.out"]),
    );
  });

  test("a folder, variables files, targets and a workspace of the backend are obeyed", async () => {
    const { backend, path } = ownState();
    const files = {
      "live/main.tf": `
        variable "size" { type = number }
        resource "terraform_data" "a" { input = "\${terraform.workspace}-\${var.size}" }
        resource "terraform_data" "b" { input = 1 }
      `,
      "common/size.tfvars": "size = 7\n",
    };
    const order = {
      backend: backend.replace(path, "state"),
      path: "./live",
      varFiles: ["common/size.tfvars"],
      targets: ["terraform_data.a"],
      workspace: "prod",
      readablePlan: "json" as const,
    };
    const one = await runner();
    await one.begin(files, order);
    expect(await one.outcome()).toMatchObject({ changes: true, summary: { add: 1 } });
    const plan = String(await one.file("plan.json"));
    expect(plan).toContain('"prod-7"');
  });
});

describe("a failure tells stage, reason and OpenTofu's own words", () => {
  const rows: Record<
    string,
    { files: Files; order?: Partial<StartOrder>; says: string; expected: object }
  > = {
    "the folder is not there": {
      files: simple,
      order: { path: "./nowhere" },
      says: 'spec.path "./nowhere" does not exist in the artifact',
      expected: { stage: "artifact", reason: "ArtifactFailed" },
    },
    "a variable set in the environment": {
      files: simple,
      order: { env: { TF_VAR_greeting: "hunter2" } },
      says: 'Environment variable "TF_VAR_greeting" must not be set by hand',
      expected: { stage: "init", reason: "TFExecInitFailed" },
    },
    "a module that is not there": {
      files: { "main.tf": 'module "a" {\n  source = "./nowhere"\n}' },
      says: "Unreadable module directory",
      expected: { stage: "init", reason: "TFExecInitFailed", exitCode: 1 },
    },
    "code that is no code": {
      files: { "main.tf": "resource {" },
      says: "Error: ",
      expected: { stage: "init", reason: "TFExecInitFailed", exitCode: 1 },
    },
    "variables that are no object": {
      files: simple,
      order: { variables: "[1]" },
      says: "The variables are not a JSON object",
      expected: { stage: "init", reason: "VarsGenerationFailed" },
    },
    "an input that nobody can give": {
      files: simple,
      says: "No value for required variable",
      expected: { stage: "plan", reason: "TFExecPlanFailed", exitCode: 1 },
    },
    "a name that no workspace may have, wherever its state lies": {
      files: simple,
      order: { workspace: "x/y", workspaceByAddress: true },
      says: 'spec.workspace "x/y" is no name that OpenTofu takes; use letters',
      expected: { stage: "workspace", reason: "SelectWorkspaceFailed" },
    },
    "a state that is addressed by the workspace, and code that reads its name": {
      files: { "main.tf": '# about it\nlocals {\n  a = terraform.workspace == "prod"\n}\n' },
      order: { workspace: "prod", workspaceByAddress: true },
      says: 'main.tf:3 reads terraform.workspace, which would be "default" although',
      expected: { stage: "workspace", reason: "SelectWorkspaceFailed" },
    },
  };
  test.each(Object.entries(rows))("%s", async (_, { files, order, says, expected }) => {
    const one = await runner();
    await one.begin(files, order);
    const outcome = await one.outcome();
    expect(outcome).toMatchObject({
      kind: "failed",
      message: expect.stringContaining(says),
      lock: undefined,
      planStale: false,
      stateRescued: false,
      unrecorded: [],
      ...expected,
    });
    expect(JSON.stringify(outcome)).not.toContain("hunter2");
  });

  test("a resource that fails in the apply is in the state, and nothing is in flight", async () => {
    const { backend, resources } = ownState();
    const files = {
      "main.tf": `
        resource "terraform_data" "a" {
          provisioner "local-exec" { command = "echo no; exit 3" }
        }
      `,
    };
    const two = await applying(files, { backend });
    expect(await two.outcome()).toMatchObject({
      kind: "failed",
      stage: "apply",
      reason: "TFExecApplyFailed",
      exitCode: 1,
      message: expect.stringContaining("Error: local-exec provisioner error (terraform_data.a at"),
      unrecorded: [],
    });
    expect(resources()).toEqual(["terraform_data.a"]);
  });

  test("a plan that went stale", async () => {
    const { backend } = ownState();
    const order = { backend, variables: '{"greeting":"hello"}' };
    const stale = await planned(simple, order);
    expect(await (await applying(simple, order)).outcome()).toMatchObject({ kind: "applied" });
    const late = await runner();
    await late.begin(simple, order, stale);
    expect(await late.outcome()).toMatchObject({ kind: "failed", stage: "apply", planStale: true });
  });

  test("a lock in the way", async () => {
    const { backend } = ownState();
    const files = slow(20, join(scratch, "locked"));
    const holder = await applying(files, { backend });
    await holder.logged(/at it/);
    const late = await runner();
    await late.begin(files, { backend });
    expect(await late.outcome()).toMatchObject({
      kind: "failed",
      stage: "plan",
      planStale: false,
      lock: {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        operation: "OperationTypeApply",
        created: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      },
    });
  });

  test("a secret is in no line, message or name of a file", async () => {
    const secret = "correct-horse\nbattery-staple";
    const variables = JSON.stringify({ greeting: secret });
    const files = {
      "main.tf": `
        variable "greeting" {}
        resource "terraform_data" "a" {
          provisioner "local-exec" {
            environment = { SECRET = var.greeting }
            command     = <<-EOT
              echo $SECRET; printf %s "$SECRET" | base64; echo "[$SECRET]"; exit 1
            EOT
          }
        }
      `,
    };
    const { backend } = ownState();
    const two = await applying(files, { backend, variables, sensitive: [secret] });
    const outcome = await two.outcome();
    expect(outcome).toMatchObject({ kind: "failed" });
    const told = `${await two.log()} ${JSON.stringify(outcome)}`;
    expect(told).toContain("(sensitive value)");
    expect(told).not.toMatch(/correct|battery|Y29ycmVj/);
    expect(readFileSync(two.folder.runnerLog, "utf8")).not.toContain("horse");
  });
});

describe("a state that the backend does not take", () => {
  test("is found, kept and told", async () => {
    const server = createServer((request, response) => {
      response.statusCode = request.method === "GET" ? 204 : 500;
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const order = {
      backend: 'terraform {\n  backend "http" {}\n}\n',
      variables: '{"greeting":"hello"}',
      env: { TF_HTTP_ADDRESS: `http://127.0.0.1:${port}/`, TF_HTTP_RETRY_MAX: "0" },
    };
    const two = await applying(simple, order);
    expect(await two.outcome()).toMatchObject({
      kind: "failed",
      stage: "apply",
      exitCode: 1,
      stateRescued: true,
    });
    const kept = join(two.folder.files, "errored.tfstate");
    expect(JSON.parse(readFileSync(kept, "utf8")).resources).toHaveLength(1);
    // Whoever releases has collected it; still it is not ours to throw away.
    await two.client.release(within(10_000));
    expect(await two.ended).toBe(0);
    expect(existsSync(kept)).toBe(true);
    server.close();
  });

  test("one that came with the source is not taken for it", async () => {
    const files = { ...simple, "errored.tfstate": "{}" };
    const { backend } = ownState();
    const two = await applying(files, { backend, variables: '{"greeting":"x"}' });
    expect(await two.outcome()).toMatchObject({ kind: "applied" });
  });
});

describe("cancel", () => {
  test("before the start holds for it", async () => {
    const one = await runner();
    await one.client.cancel(1_000, within(5_000));
    await one.begin(simple);
    expect(await one.outcome()).toMatchObject({ kind: "cancelled", stage: "artifact" });
  });

  test.each(["init", "plan", "show"] as const)("in %s ends it", async (stage) => {
    const NIGARI_TOFU = tofuBehind(
      `[ "$1" = ${stage} ] && { echo at it >&2; exec sleep 60; }; exec "$real" "$@"`,
      scratch,
    );
    const one = await runner({ NIGARI_TOFU });
    await one.begin({ "main.tf": 'output "o" { value = 1 }' });
    await one.logged(/at it/);
    const begun = performance.now();
    await one.client.cancel(10_000, within(5_000));
    expect(performance.now() - begun).toBeLessThan(1_000);
    expect(await one.outcome()).toEqual({
      kind: "cancelled",
      stage,
      message: `Stopped in ${stage}: OpenTofu was interrupted`,
    });
    expect(performance.now() - begun).toBeLessThan(5_000);
    expect(await workers(one)).toBe(0);
  });

  test("in an apply lets OpenTofu write its state, and is told once", async () => {
    const { backend, resources } = ownState();
    const trace = join(scratch, "cancelled");
    const two = await applying(slow(60, trace), { backend });
    await two.logged(/at it/);
    await two.client.cancel(30_000, within(5_000));
    await two.client.cancel(1, within(5_000));
    expect(await two.outcome()).toMatchObject({ kind: "cancelled", stage: "apply" });
    expect(resources().sort()).toEqual(["terraform_data.quick", "terraform_data.slow"]);
    expect(existsSync(trace)).toBe(false);
    expect(await workers(two)).toBe(0);
  });

  test("kills who does not listen after the grace, and names what was in flight", async () => {
    const NIGARI_TOFU = tofuBehind(deafApply("sleep 60"), scratch);
    const { backend } = ownState();
    const two = await applying(slow(60, "/dev/null"), { backend }, { NIGARI_TOFU });
    await two.logged(/Creating/);
    const begun = performance.now();
    await two.client.cancel(300, within(5_000));
    expect(await two.outcome()).toMatchObject({
      kind: "failed",
      stage: "apply",
      message: expect.stringContaining(
        "Stopped in apply: OpenTofu did not end when interrupted and was killed",
      ),
      exitCode: undefined,
      unrecorded: ["terraform_data.slow"],
    });
    expect(performance.now() - begun).toBeLessThan(6_000);
    expect(await workers(two)).toBe(0);
  });

  test("after the end changes nothing", async () => {
    const one = await runner();
    await one.begin({ "main.tf": "" });
    const outcome = await one.outcome();
    await one.client.cancel(1, within(5_000));
    expect(await one.outcome()).toEqual(outcome);
  });
});

describe("children that misbehave end in their bound", () => {
  const quiet = { "main.tf": 'output "o" { value = 1 }' };

  test("one that ignores signals ends at the limit of its stage", async () => {
    const NIGARI_TOFU = tofuBehind(
      `[ "$1" = init ] || exec "$real" "$@"; trap "" INT TERM; while :; do sleep 1; done`,
      scratch,
    );
    const one = await runner({ NIGARI_TOFU });
    await one.begin(quiet, { stageLimitMs: { init: 500 } });
    // At the limit it has a minute of grace; a request to stop may shorten it.
    await sleep(1_500);
    expect(await workers(one)).toBeGreaterThan(0);
    await one.client.cancel(100, within(5_000));
    expect(await one.outcome()).toMatchObject({
      kind: "failed",
      stage: "init",
      message: expect.stringContaining("did not end when interrupted and was killed"),
    });
    expect(await workers(one)).toBe(0);
  });

  test("one that listens ends at the limit, which is named", async () => {
    const NIGARI_TOFU = tofuBehind(`[ "$1" = plan ] && exec sleep 60; exec "$real" "$@"`, scratch);
    const one = await runner({ NIGARI_TOFU });
    await one.begin(quiet, { stageLimitMs: { plan: 700 } });
    expect(await one.outcome()).toMatchObject({
      kind: "failed",
      stage: "plan",
      reason: "TFExecPlanFailed",
      message: expect.stringContaining("The time limit of plan (0.7s) passed: OpenTofu was"),
    });
    expect(await workers(one)).toBe(0);
  });

  test("one that panics is told by its last words", async () => {
    const NIGARI_TOFU = tofuBehind(
      `[ "$1" = plan ] || exec "$real" "$@"
      echo "panic: runtime error: index out of range" >&2
      echo "goroutine 1 [running]:" >&2
      exit 2`,
      scratch,
    );
    const one = await runner({ NIGARI_TOFU });
    await one.begin(quiet);
    // Exit code 2 is also that of a plan with changes; only a plan file tells them apart.
    expect(await one.outcome()).toMatchObject({
      kind: "failed",
      stage: "plan",
      message: expect.stringContaining("panic: runtime error: index out of range"),
    });
  });

  test("one that asks gets no answer and does not wait for it", async () => {
    const NIGARI_TOFU = tofuBehind(
      `[ "$1" = init ] || exec "$real" "$@"
      printf "Really? " >&2
      read -r answer && [ -n "$answer" ] || { echo "no answer" >&2; exit 1; }`,
      scratch,
    );
    const one = await runner({ NIGARI_TOFU });
    await one.begin(quiet);
    expect(await one.outcome()).toMatchObject({
      stage: "init",
      exitCode: 1,
      message: "Really? no answer",
    });
  });

  test("what it leaves behind, in its group or out of it, is ended with it", async () => {
    const { backend } = ownState();
    const files = {
      "main.tf": `
        resource "terraform_data" "a" {
          provisioner "local-exec" { command = "sleep 301 >/dev/null 2>&1 &" }
          provisioner "local-exec" { command = "setsid sleep 302 >/dev/null 2>&1 &" }
          provisioner "local-exec" { command = "sleep 0.3" }
        }
      `,
    };
    const two = await applying(files, { backend });
    expect(await two.outcome()).toMatchObject({ kind: "applied" });
    expect(await workers(two)).toBe(0);
  });

  test("a flood of 100 MB fills neither the disk nor the log, and loses nothing else", async () => {
    const { backend } = ownState();
    const limit = 4 << 20;
    // OpenTofu itself needs more than a minute for so much; the script needs two seconds.
    const noise = deafLine("provision_progress", "x".repeat(1_000));
    const end = deafLine("apply_complete", "Creation complete");
    const piece = `yes '${noise}' | head -c 1000000; echo; sleep 0.02`;
    const flood = `for i in $(seq 100); do ${piece}; done; echo '${end}'`;
    const NIGARI_TOFU = tofuBehind(deafApply(flood), scratch);
    const order = { backend, outputLimitBytes: limit };
    const two = await applying(slow(0, "/dev/null"), order, { NIGARI_TOFU });
    let largest = 0;
    const output = join(two.folder.steps, "apply.out");
    const watching = setInterval(() => {
      largest = Math.max(largest, statSync(output, { throwIfNoEntry: false })?.size ?? 0);
    }, 5);
    const events = await two.events();
    clearInterval(watching);
    expect(events.at(-1)).toMatchObject({ outcome: { kind: "applied" } });
    expect(largest).toBeLessThan(12 * limit);
    expect(statSync(output).size).toBeLessThan(limit);
    expect(statSync(two.folder.log).size).toBeLessThan(2 * limit);
    expect(await two.log()).toContain("lines were not kept");
    expect(events.filter((event) => event.type === "progress")).toMatchObject([
      { state: "started" },
      { state: "done" },
    ]);
    console.log(`flood: at most ${(largest / 1e6).toFixed(1)} MB, ${cpuMs(two)} ms of our CPU`);
  });

  test("OpenTofu survives that its output is cut off under it", async () => {
    const { backend, resources } = ownState();
    const limit = 256 << 10;
    const files = {
      "main.tf": `
        resource "terraform_data" "before" { input = 1 }
        resource "terraform_data" "flood" {
          input = terraform_data.before.output
          provisioner "local-exec" { command = "yes ${"x".repeat(999)} | head -c 5000000" }
        }
        resource "terraform_data" "after" { input = terraform_data.flood.output }
      `,
    };
    const two = await applying(files, { backend, outputLimitBytes: limit });
    const events = await two.events();
    expect(events.at(-1)).toMatchObject({ outcome: { kind: "applied" } });
    expect(resources()).toHaveLength(3);
    expect(statSync(join(two.folder.steps, "apply.out")).size).toBeLessThan(limit);
    const progress = events.filter((event) => event.type === "progress");
    expect(progress).toHaveLength(6);
  });

  test("a flood on stderr is no other", async () => {
    const NIGARI_TOFU = tofuBehind(
      `[ "$1" = init ] || exec "$real" "$@"
      yes ${"y".repeat(200)} | head -c 100000000 >&2
      exit 1`,
      scratch,
    );
    const one = await runner({ NIGARI_TOFU });
    await one.begin(quiet, { outputLimitBytes: 1 << 20 });
    const outcome = await one.outcome();
    expect(outcome).toMatchObject({ kind: "failed", stage: "init", exitCode: 1 });
    expect(JSON.stringify(outcome).length).toBeLessThan(20_000);
    expect(statSync(join(one.folder.steps, "init.err")).size).toBeLessThan(8 << 20);
  });
});

describe("OpenTofu is killed in an apply", () => {
  test("what was in flight is named, and what is done but in no state yet", async () => {
    const { backend, path } = ownState();
    const two = await applying(slow(60, join(scratch, "killed")), { backend });
    await two.logged(/at it/);
    process.kill(await pidOf(two, /^[^ ]*tofu apply/), "SIGKILL");
    expect(await two.outcome()).toMatchObject({
      kind: "failed",
      stage: "apply",
      exitCode: undefined,
      message: expect.stringContaining("signal 9"),
      unrecorded: ["terraform_data.quick", "terraform_data.slow"],
    });
    // OpenTofu hands its state on every 20 s at most, to a file as to any backend.
    expect(readFileSync(path, "utf8")).toBe("");
    expect(await workers(two)).toBe(0);
  });

  test("its wrapper alone: it goes on to its end, whose exit code nobody knows", async () => {
    const { backend, resources } = ownState();
    const trace = join(scratch, randomUUID());
    const two = await applying(slow(2, trace), { backend });
    await two.logged(/at it/);
    const wrapper = readIdentityFile(join(two.folder.steps, "apply.json"));
    process.kill(wrapper?.pid ?? 0, "SIGKILL");
    expect(await two.outcome()).toMatchObject({
      kind: "failed",
      stage: "apply",
      exitCode: undefined,
      unrecorded: [],
    });
    expect(readFileSync(trace, "utf8")).toBe("done\n");
    expect(resources()).toHaveLength(2);
  });
});

describe("the runner's own end", () => {
  test("killed in an apply it takes nobody along: OpenTofu finishes by itself", async () => {
    const { backend, resources } = ownState();
    const trace = join(scratch, randomUUID());
    const two = await applying(slow(2, trace), { backend });
    await two.logged(/at it/);
    two.process.kill("SIGKILL");
    await two.ended;
    const exit = join(two.folder.steps, "apply.exit");
    await vi.waitFor(() => expect(readExitFile(exit)).toBe(0), { timeout: 20_000 });
    expect(readFileSync(trace, "utf8")).toBe("done\n");
    expect(resources()).toHaveLength(2);
  });

  test("told to go in an apply it interrupts, waits for the state, tells and ends", async () => {
    const { backend, resources } = ownState();
    const two = await applying(slow(60, join(scratch, "told")), { backend });
    await two.logged(/at it/);
    const watching = two.outcome();
    two.process.kill("SIGTERM");
    expect(await watching).toMatchObject({ kind: "cancelled", stage: "apply" });
    expect(await two.ended).toBe(0);
    expect(resources()).toHaveLength(2);
    expect(await workers(two)).toBe(0);
  });

  test("told to go while OpenTofu does not listen it leaves it to its work", async () => {
    const trace = join(scratch, randomUUID());
    const NIGARI_TOFU = tofuBehind(deafApply(`sleep 4; echo done >>${trace}`), scratch);
    const { backend } = ownState();
    const env = { NIGARI_TOFU, NIGARI_SHUTDOWN_GRACE_MS: "500" };
    const two = await applying(slow(60, "/dev/null"), { backend }, env);
    await two.logged(/Creating/);
    two.process.kill("SIGTERM");
    expect(await two.ended).toBe(0);
    const exit = join(two.folder.steps, "apply.exit");
    expect(readExitFile(exit)).toBeUndefined();
    await vi.waitFor(() => expect(readExitFile(exit)).toBe(0), { timeout: 20_000 });
    expect(readFileSync(trace, "utf8")).toBe("done\n");
  });

  test("without an engine it keeps its results, and costs nothing", async () => {
    const one = await runner();
    await one.begin({ "main.tf": 'output "o" { value = 1 }' });
    await one.outcome();
    one.client.close();
    await sleep(500);
    const before = cpuMs(one);
    await sleep(3_000);
    expect(cpuMs(one) - before).toBeLessThan(50);
    expect(await one.outcome()).toMatchObject({ kind: "planned" });
  });

  test("released it removes secrets and work, and keeps what tells of the run", async () => {
    const one = await runner();
    await one.begin(simple, { variables: '{"greeting":"hello"}', backendConfig: { path: "x" } });
    await one.outcome();
    await one.client.release(within(10_000));
    expect(await one.ended).toBe(0);
    expect(readdirSync(one.folder.root).sort()).toEqual([
      "files",
      "journal",
      "log.txt",
      "run.json",
      "runner.json",
      "runner.log",
    ]);
    expect(readdirSync(one.folder.files)).toEqual([]);
  });

  test("it is not released while the run goes on", async () => {
    const two = await applying(slow(20, join(scratch, "released")), {
      backend: ownState().backend,
    });
    await two.logged(/at it/);
    await expect(two.client.release(within(5_000))).rejects.toMatchObject({ code: "Refused" });
    expect(await workers(two)).toBeGreaterThan(0);
  });

  test("it ends when its folder has vanished", async () => {
    const one = await runner();
    renameSync(one.folder.root, `${one.folder.root}-elsewhere`);
    expect(await one.ended).toBe(0);
  });
});

describe("what lies around", () => {
  test("is for our own user alone", async () => {
    const one = await runner();
    await one.begin(simple, { variables: '{"greeting":"hello"}' });
    await one.outcome();
    const open = readdirSync(one.folder.root, { recursive: true, withFileTypes: true })
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => !path.includes("/.terraform/"))
      .filter((path) => (statSync(path).mode & 0o077) !== 0);
    expect(
      open.filter((path) => path !== one.folder.identity && path !== one.folder.runnerLog),
    ).toEqual([]);
    expect(statSync(one.identity.socket).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(one.identity.socket)).mode & 0o777).toBe(0o700);
  });

  test("tells the runner from every other process, as its first act", async () => {
    const one = await runner();
    expect(readIdentityFile(one.folder.runner)).toMatchObject({ pid: one.process.pid });
  });

  test("is not touched by a second runner for the same run", async () => {
    const one = await runner();
    const env = { ...tofuTestEnvironment(), [RUN_TOKEN]: one.identity.token };
    const program = join(import.meta.dirname, "../../src/main/runner.ts");
    const options = { env, encoding: "utf8" as const };
    const second = spawnSync(process.execPath, [program, one.folder.root], options);
    expect(second.status).toBe(1);
    expect(second.stdout).toContain(`Run ${one.identity.runId} has had a runner already`);
    expect(await one.client.hello(within(5_000))).toMatchObject({ pid: one.process.pid });
  });
});

describe("a frozen runner", () => {
  test("each call ends at its bound, and once thawed the run goes on", async () => {
    const { backend } = ownState();
    const two = await applying(slow(3, join(scratch, "frozen")), { backend });
    await two.logged(/at it/);
    const escaped = vi.fn();
    process.on("uncaughtException", escaped);
    two.process.kill("SIGSTOP");
    for (let time = 0; time < 3; time += 1) {
      await expect(two.client.hello(within(500))).rejects.toMatchObject({
        code: "DeadlineExceeded",
      });
    }
    await sleep(500);
    two.process.kill("SIGCONT");
    expect(await two.outcome()).toMatchObject({ kind: "applied" });
    process.off("uncaughtException", escaped);
    expect(escaped).not.toHaveBeenCalled();
  });
});

/** CPU time of the runner process so far. */
function cpuMs(of: RealRunner): number {
  const stat = readFileSync(`/proc/${of.process.pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
