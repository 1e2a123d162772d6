import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { RunnerConnection, StartOrder } from "../../src/ports/runner.ts";
import { LocalRuns, outcomeOf, within } from "../../src/testing/harness/local-runs.ts";
import { pinnedTools } from "../../src/testing/pinned-tools.ts";

// Outputs are read without asking OpenTofu where it has told them already. What it would have said
// is held against that, by OpenTofu itself.

const PLAIN = `
output "big" { value = 12345678901234567890.125 }
output "small" { value = 0.1 }
output "text" { value = "<b> \\u2028 ü \\"quoted\\"" }
output "none" { value = null }
output "deep" { value = { list = [1, true, null, { version = 12345678901234567890 }], "a b" = {} } }
output "old" {
  value      = "x"
  deprecated = "Use text"
}
`;
const SECRET = `${PLAIN}
output "secret" {
  value     = "correct-horse"
  sensitive = true
}
`;
const order: Partial<StartOrder> = { outputs: true };

let runs: LocalRuns;
beforeEach(() => {
  runs = new LocalRuns();
});
afterEach(() => runs.close());

/** Plans the module; with `plan` applies it. What the run knows of the outputs, as JSON text. */
async function outputsOf(main: string, plan?: Uint8Array): Promise<string> {
  const run = await runs.prepareFiles({ "main.tf": main }, order, plan);
  const connection = await runs.begin(run);
  const outcome = await outcomeOf(connection);
  expect(outcome.kind).toBe(plan === undefined ? "planned" : "applied");
  expect("outputs" in outcome && outcome.outputs).toBeTruthy();
  return await file(run.launch.runId, "outputs.json", connection);
}

async function file(
  runId: string,
  name: "outputs.json",
  connection: RunnerConnection,
): Promise<string> {
  const content = await runs.platform.readFile(runId, name, within());
  await connection.release(within());
  return Buffer.from(content ?? []).toString("utf8");
}

async function planOf(main: string): Promise<Uint8Array> {
  const run = await runs.prepareFiles({ "main.tf": main }, order);
  const connection = await runs.begin(run);
  expect(await outcomeOf(connection)).toMatchObject({ kind: "planned", changes: true });
  const plan = await runs.platform.readFile(run.launch.runId, "plan.bin", within());
  await connection.release(within());
  return plan ?? new Uint8Array();
}

/** In one form, every digit as it is. */
function exact(text: string): string {
  const numbers = text.replaceAll(/(?<=[\s:[,])-?\d[\d.eE+-]*(?=[\s,\]}])/g, '"#$&"');
  const sorted = (value: unknown): unknown =>
    typeof value !== "object" || value === null || Array.isArray(value)
      ? value
      : Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  return JSON.stringify(
    JSON.parse(numbers, (_key, value: unknown) => sorted(value)),
    undefined,
    1,
  );
}

/** What OpenTofu says when it is asked. */
function asked(): string {
  const state = join(runs.scratch, "terraform.tfstate");
  const args = ["output", "-json", `-state=${state}`];
  const env = { PATH: process.env.PATH ?? "", HOME: runs.scratch };
  return execFileSync(pinnedTools().tofu, args, { cwd: runs.scratch, env, encoding: "utf8" });
}

test("of an apply that tells them all, and of a plan without changes", async () => {
  const applied = await outputsOf(PLAIN, await planOf(PLAIN));
  expect(exact(applied)).toBe(exact(asked()));
  expect(applied).toContain("12345678901234567890.125");
  const planned = await outputsOf(PLAIN);
  expect(exact(planned)).toBe(exact(asked()));
  expect(runs.gate.calls("output")).toBe(0);
});

test("OpenTofu is asked after an apply with a secret, not after an idle plan", async () => {
  const applied = await outputsOf(SECRET, await planOf(SECRET));
  expect(runs.gate.calls("output")).toBe(1);
  expect(exact(applied)).toBe(exact(asked()));
  expect(applied).toContain("correct-horse");
  const planned = await outputsOf(SECRET);
  expect(runs.gate.calls("output")).toBe(1);
  expect(exact(planned)).toBe(exact(asked()));
});
