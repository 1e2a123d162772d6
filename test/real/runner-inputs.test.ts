import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import type { StartOrder } from "../../src/ports/runner.ts";
import { type RealRunner, startRealRunner } from "../../src/testing/real-runner.ts";

// What an order gives a run besides its artifact, with real OpenTofu.

const runners: RealRunner[] = [];
const scratch = mkdtempSync(join(tmpdir(), "nigari-inputs-"));
afterEach(async () => {
  for (const runner of runners.splice(0)) await runner.remove();
});
afterAll(() => rmSync(scratch, { recursive: true }));

async function begun(files: Record<string, string>, order: Partial<StartOrder>) {
  const runner = await startRealRunner();
  runners.push(runner);
  await runner.begin(files, order);
  return runner;
}

const bytes = (text: string) => Buffer.from(text);
const outside = () => `backend "local" {\n  path = "${join(scratch, randomUUID())}"\n}\n`;
const own = () => `terraform {\n${outside()}}\n`;

test("files stand below the run's own home and below the module, for their owner", async () => {
  const module = {
    "module/main.tf": 'output "home" { value = file(pathexpand("~/.conf/key")) }\n',
    "elsewhere/x": "",
  };
  const runner = await begun(module, {
    path: "module",
    backend: own(),
    files: [
      { location: "home", path: ".conf/key", content: bytes("from-home-from-home") },
      {
        location: "workspace",
        path: "more.tf",
        content: bytes('output "from_file_mapping" { value = "mapped" }\n'),
      },
    ],
    sensitive: ["from-home-from-home"],
    readablePlan: "human",
  });
  expect(await runner.outcome()).toMatchObject({ kind: "planned", changes: true });
  const plan = (await runner.file("plan.txt")).toString();
  expect(plan).toContain('+ from_file_mapping = "mapped"');
  expect(plan).toContain('+ home              = "(sensitive value)"');
  const home = join(runner.folder.home, ".conf/key");
  expect(readFileSync(home, "utf8")).toBe("from-home-from-home");
  for (const path of [home, join(runner.folder.work, "module/more.tf")]) {
    expect(statSync(path).mode & 0o777).toBe(0o600);
  }
  await runner.client.release({ signal: AbortSignal.timeout(10_000) });
  expect(existsSync(runner.folder.home)).toBe(false);
});

const refused: Record<string, { order: Partial<StartOrder>; says: string; reason: string }> = {
  "a variable file that is not there": {
    order: { varFiles: ["no.tfvars"] },
    says: 'tfvars file\'s path does not exist: spec.tfVarsFiles "no.tfvars"',
    reason: "TFExecPlanFailed",
  },
  "a path that leads up, whoever let it through": {
    order: { files: [{ location: "home", path: "a/../../x", content: bytes("") }] },
    says: 'spec.fileMappings: "a/../../x" leads out of its base folder',
    reason: "TFExecInitFailed",
  },
  "a module without a backend, whose state nobody would keep": {
    order: { backend: undefined, backendRequired: true },
    says: "The module names no backend, so its state would lie in the run's folder",
    reason: "TFExecInitFailed",
  },
  "a local backend in the run's folder": {
    order: { backend: 'terraform {\n  backend "local" {}\n}\n', backendRequired: true },
    says: "The module has a local backend, so its state would lie in the run's folder",
    reason: "TFExecInitFailed",
  },
};

describe("refused is", () => {
  test.each(Object.entries(refused))("%s", async (_why, { order, says, reason }) => {
    const runner = await begun({ "main.tf": "" }, { backend: own(), ...order });
    const outcome = await runner.outcome();
    expect(outcome).toMatchObject({ kind: "failed", reason });
    expect(outcome.kind === "failed" && outcome.message).toContain(says);
  });
});

test("targets, the module's own backend and attributes that it leaves open", async () => {
  const state = join(scratch, randomUUID());
  const one = 'resource "terraform_data" "one" {}\nresource "terraform_data" "two" {}\n';
  const runner = await begun(
    { "main.tf": `terraform {\n  backend "local" {}\n}\n${one}` },
    {
      backendRequired: true,
      backendConfig: { path: state },
      targets: ["terraform_data.two"],
      readablePlan: "human",
    },
  );
  expect(await runner.outcome()).toMatchObject({ kind: "planned", summary: { add: 1 } });
  expect((await runner.file("plan.txt")).toString()).toContain("terraform_data.two");
});

test("a root module that is a template of the variables", async () => {
  const template = `
variable "values" { type = any }
output "zones" { value = [{{ range $i, $zone := $.Values.zones }}{{ if $i }}, {{ end -}}
  {{ $zone | quote }}{{ end }}] }
output "name" { value = {{ $.values.name | upper | quote }} }
`;
  const variables = JSON.stringify({ values: { name: "web", zones: ["a", "b"] } });
  const files = { "main.tf.tpl": template };
  const good = await begun(files, { backend: own(), variables, readablePlan: "human" });
  expect(await good.outcome()).toMatchObject({ kind: "planned", changes: true });
  const plan = (await good.file("plan.txt")).toString();
  expect(plan).toMatch(/name {2}= "WEB"[\s\S]*"a",\s*\+ "b"/);
  const wanting = await begun(files, { backend: own() });
  expect(await wanting.outcome()).toMatchObject({
    reason: "TemplateGenerationFailed",
    message: expect.stringMatching(/^main.tf.tpl: /),
  });
});

test("the CLI configuration of the order is the one that counts", async () => {
  // A mirror that does not hold the provider, and no way around it.
  const mirror = `filesystem_mirror {\n    path = "${scratch}"\n  }`;
  const cliConfig = `provider_installation {\n  ${mirror}\n}\n`;
  const module =
    'terraform {\n  required_providers {\n    time = { source = "hashicorp/time" }\n  }\n}\n';
  const runner = await begun({ "main.tf": module }, { backend: own(), cliConfig });
  const outcome = await runner.outcome();
  expect(outcome.kind === "failed" && outcome.message).toContain("hashicorp/time");
  expect(outcome.kind === "failed" && outcome.message).toContain(scratch);
  expect(statSync(runner.folder.cliConfig).mode & 0o777).toBe(0o600);
});
