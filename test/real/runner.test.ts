import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import type { StartOrder } from "../../src/ports/runner.ts";
import { type RealRunner, startRealRunner, within } from "../../src/testing/real-runner.ts";

// The runner program with real OpenTofu. The state is a local file outside of the run folder.

const runners: RealRunner[] = [];
const scratch = mkdtempSync(join(tmpdir(), "nigari-states-"));
afterEach(async () => {
  for (const runner of runners.splice(0)) await runner.remove();
});
afterAll(() => rmSync(scratch, { recursive: true }));

async function runner(): Promise<RealRunner> {
  const started = await startRealRunner();
  runners.push(started);
  return started;
}

/** A backend of one's own: the text of backend_override.tf. */
function ownState(): { backend: string; path: string } {
  const path = join(scratch, `${randomUUID()}.tfstate`);
  return { path, backend: `terraform {\n  backend "local" {\n    path = "${path}"\n  }\n}\n` };
}

/** Plans and hands back the plan file. */
async function planned(files: Record<string, string>, order: Partial<StartOrder>): Promise<Buffer> {
  const one = await runner();
  await one.begin(files, order);
  expect(await one.outcome()).toMatchObject({ kind: "planned", changes: true });
  return await one.file("plan.bin");
}

const simple = {
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

describe("a plan and its apply", () => {
  test("what was planned is applied, and outputs are read", async () => {
    const { backend } = ownState();
    const variables = '{"greeting":"hello"}';
    const plan = await planned(simple, { backend, variables });
    const two = await runner();
    await two.begin(simple, { backend, variables }, plan);
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
    await two.client.release(within(10_000));
    expect(await two.ended).toBe(0);
  });
});
