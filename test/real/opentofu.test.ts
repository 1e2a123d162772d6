import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { findOpenTofu } from "../../src/adapters/opentofu/find.ts";
import { isMade } from "../../src/adapters/opentofu/make.ts";
import { openTofu, providerTime, toolsFolder } from "../../src/adapters/opentofu/programs.ts";
import { createClock } from "../../src/adapters/system/clock.ts";
import { runCommand } from "../../src/processes/command.ts";
import { pinnedTools } from "../../src/testing/pinned-tools.ts";

const root = join(import.meta.dirname, "../..");
const folder = toolsFolder({ env: process.env, root });
const scratch = mkdtempSync(join(tmpdir(), "nigari-opentofu-"));
afterAll(() => rmSync(scratch, { recursive: true }));
const call = { signal: AbortSignal.timeout(60_000) };

test("what is in .tools was built from the pins of this commit", async () => {
  const tools = [await openTofu(root), await providerTime(root)];
  const made = await Promise.all(tools.map((program) => isMade(program, folder)));
  expect(made, 'run "npm run tools"').toEqual([true, true]);
});

test("with nothing on PATH the pinned OpenTofu is found, and is no development build", async () => {
  const pinned = await openTofu(root);
  const found = await findOpenTofu(
    { root, folder, env: { PATH: scratch }, clock: createClock(), onProgress: () => {} },
    call,
  );
  expect(found).toEqual({
    path: pinnedTools().tofu,
    version: pinned.version,
    product: "opentofu",
    how: "built",
  });
});

test("it installs provider time from the mirror and applies with it", async () => {
  const { tofu, cliConfig } = pinnedTools();
  writeFileSync(join(scratch, "cli.tofurc"), cliConfig);
  writeFileSync(
    join(scratch, "main.tf"),
    'resource "time_sleep" "one" {\n  create_duration = "100ms"\n}\n' +
      'output "id" { value = time_sleep.one.id }\n',
  );
  const env = { PATH: "/bin", HOME: scratch, TF_CLI_CONFIG_FILE: join(scratch, "cli.tofurc") };
  const run = async (...args: string[]) => {
    const result = await runCommand({ file: tofu, args, cwd: scratch, env }, call);
    expect(result.code, result.stderr + result.stdout).toBe(0);
    return result.stdout.toString();
  };
  await run("init", "-input=false", "-no-color");
  await run("apply", "-input=false", "-no-color", "-auto-approve");
  expect(JSON.parse(await run("output", "-json"))).toMatchObject({ id: { type: "string" } });
});
