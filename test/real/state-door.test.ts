import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { StateAccess, StateId } from "../../src/ports/state.ts";
import { type DoorProgram, startDoor, stopDoors } from "./support/door.ts";
import { readZip, type TofuModule, type TofuRun, tofuModule } from "./support/tofu.ts";

const state: StateId = { namespace: "team", name: "net", workspace: "default" };

let scratch: string;
let dataDir: string;
let program: DoorProgram;
beforeEach(async () => {
  scratch = mkdtempSync(join(tmpdir(), "nigari-door-"));
  dataDir = mkdtempSync(join(scratch, "data-"));
  program = await startDoor(dataDir);
});
afterEach(async () => {
  await stopDoors();
  rmSync(scratch, { recursive: true });
});

/** Resources that tell of each creation outside of the state, and take this long for it. */
function hcl(count: number, sleepSeconds: number): string {
  return `
resource "terraform_data" "step" {
  count = ${count}
  input = "step-\${count.index}"
  provisioner "local-exec" {
    command = "echo \${self.input} >> effects; sleep ${sleepSeconds}"
  }
}
output "secret" {
  value     = "a-secret-in-the-state"
  sensitive = true
}
`;
}
function tofu(count: number, sleepSeconds: number, name = "work"): TofuModule {
  return tofuModule(join(scratch, name), hcl(count, sleepSeconds));
}
const apply = ["apply", "-input=false", "-auto-approve"];

/** What the module has created, as it says itself. */
function effects(module: TofuModule): string[] {
  const path = join(module.folder, "effects");
  return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n").sort() : [];
}
function steps(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `step-${i}`);
}
/** What this state says was created. */
function recorded(content: Uint8Array | undefined): string[] {
  const { resources } = JSON.parse(Buffer.from(content ?? []).toString());
  return resources
    .flatMap(({ instances }: { instances: { attributes: { input: { value: string } } }[] }) =>
      instances.map(({ attributes }) => attributes.input.value ?? attributes.input),
    )
    .sort();
}
async function begun(run: TofuRun, what: RegExp): Promise<void> {
  await expect.poll(() => run.text(), { timeout: 30_000 }).toMatch(what);
}
const access = (runId: string) => program.door.access(state, runId);

test("a plan of one run is applied by another; no password is left anywhere", async () => {
  const module = tofu(3, 0);
  const planner = await access("plan-1");
  await module.run(planner, "init", "-input=false");
  await module.run(planner, "plan", "-input=false", "-out=plan.bin");
  expect(await program.door.lock(state)).toBeUndefined();
  await program.door.revoke("plan-1", "it has ended");
  const applier = await access("apply-1");
  await module.run(applier, "apply", "-input=false", "plan.bin");
  expect(effects(module)).toEqual(steps(3));
  expect(recorded(await program.door.show(state, undefined))).toEqual(steps(3));
  expect(await program.door.lock(state)).toBeUndefined();
  expect(await program.door.rescued(state)).toEqual([]);
  expect(await module.run(applier, "output", "-json")).toContain("a-secret-in-the-state");

  const passwords = [planner, applier].map(({ env }) => env.TF_HTTP_PASSWORD ?? "");
  const plan = readZip(readFileSync(join(module.folder, "plan.bin")));
  expect(plan.get("tfconfig/m-/main.tf")?.toString()).toContain("terraform_data");
  const places = [...plan, ...everyFile(module.folder), ...everyFile(dataDir)];
  expect(places.length).toBeGreaterThan(10);
  for (const [name, content] of places) {
    for (const password of passwords) expect(content.includes(password), name).toBe(false);
  }
  const log = (await program.log()).join("\n");
  for (const secret of [...passwords, "a-secret-in-the-state"]) expect(log).not.toContain(secret);
});

function everyFile(folder: string): [string, Buffer][] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .map((path) => [path, readFileSync(path)]);
}

test("a state that tofu encrypts is kept in order too, though it cannot be read", async () => {
  const module = tofuModule(
    join(scratch, "encrypted"),
    `${hcl(2, 0)}
terraform {
  encryption {
    key_provider "pbkdf2" "key" {
      passphrase = "a-pass-phrase-of-a-test"
    }
    method "aes_gcm" "method" {
      keys = key_provider.pbkdf2.key
    }
    state {
      method = method.aes_gcm.method
    }
  }
}
`,
  );
  const run = await access("apply-1");
  await module.run(run, "init", "-input=false");
  await module.run(run, ...apply);
  await module.run(run, ...apply, "-replace=terraform_data.step[1]");
  expect(await program.door.rescued(state)).toEqual([]);
  const [current, before] = await program.door.versions(state);
  expect(current?.lineage).toMatch(/^[0-9a-f-]{36}$/);
  expect(current?.serial).toBeGreaterThan(before?.serial ?? 0);
  const content = Buffer.from((await program.door.show(state, undefined)) ?? []).toString();
  expect(content).toContain("encrypted_data");
  expect(content).not.toContain("terraform_data");
  expect(await module.run(run, "plan", "-input=false")).toContain("No changes");
});

test("the second run sees who holds the lock", async () => {
  const module = tofu(1, 4);
  const first = await access("apply-1");
  await module.run(first, "init", "-input=false");
  const applying = module.start(first, apply);
  await begun(applying, /Creating/);
  const { code, text } = await module.start(await access("plan-2"), ["plan", "-input=false"]).end;
  expect(code).toBe(1);
  const holder = await program.door.lock(state);
  expect(holder).toMatchObject({ runId: "apply-1", operation: "OperationTypeApply" });
  expect(text).toContain("Error acquiring the state lock");
  expect(text).toMatch(new RegExp(`ID: +${holder?.id}`));
  expect(text).toMatch(/Info: +run apply-1/);
  expect(text).toMatch(/Path: +team\/net \(workspace default\)/);
  expect((await applying.end).code).toBe(0);
});

test("tofu waits for a door that was killed, and ends whole", async () => {
  const module = tofu(2, 2);
  const run = await access("apply-1");
  await module.run(run, "init", "-input=false");
  const applying = module.start(run, apply);
  await begun(applying, /Creating/);
  const { port } = program;
  await program.kill();
  // Long enough for the apply to end meanwhile: its last write finds nobody.
  await sleep(8_000);
  expect(applying.child.exitCode).toBeNull();
  program = await startDoor(dataDir);
  expect(program.port).toBe(port);
  const { code, text } = await applying.end;
  expect(code, text).toBe(0);
  expect(effects(module)).toEqual(steps(2));
  expect(recorded(await program.door.show(state, undefined))).toEqual(steps(2));
  expect(await program.door.lock(state)).toBeUndefined();
  expect(existsSync(join(module.folder, "errored.tfstate"))).toBe(false);
});

test("a door killed between a write and its answer has the write, once", async () => {
  const module = tofu(1, 1);
  const run = await access("apply-1");
  await module.run(run, "init", "-input=false");
  await program.kill();
  program = await startDoor(dataDir, "die-after-write");
  const applying = module.start(run, apply);
  await program.ended;
  program = await startDoor(dataDir);
  const { code, text } = await applying.end;
  expect(code, text).toBe(0);
  expect(recorded(await program.door.show(state, undefined))).toEqual(steps(1));
  expect(await program.door.versions(state)).toHaveLength(1);
  expect((await program.log()).join("\n")).toContain('"repeated":true');
  expect(await program.door.rescued(state)).toEqual([]);
});

test("a revoked run that still lives ends by itself, and what it knew is kept aside", async () => {
  const module = tofu(2, 0);
  const first = await access("apply-1");
  await module.run(first, "init", "-input=false");
  await module.run(first, ...apply);
  const before = await program.door.show(state, undefined);
  const zombie = await access("apply-2");
  const more = tofu(3, 3);
  const applying = more.start(zombie, apply);
  await begun(applying, /Creating/);
  const lock = await program.door.lock(state);
  await program.door.revoke("apply-2", "a person said so");
  expect(await program.door.release(state, lock?.id ?? "", "a person said so")).toBe(true);

  const { code, text } = await applying.end;
  expect(code).toBe(1);
  expect(text).toContain("Failed to save state");
  expect(text).toContain("HTTP error: 409");
  expect(text).not.toContain("Error releasing the state lock");
  expect(await program.door.show(state, undefined)).toEqual(before);
  const [aside, ...others] = await program.door.rescued(state);
  expect(others).toEqual([]);
  expect(aside).toMatchObject({ runId: "apply-2" });
  expect(recorded(await program.door.show(state, aside?.id))).toEqual(steps(3));

  // What tofu left behind tells the same; it is not asked about twice, nor taken over unasked.
  const errored = readFileSync(join(more.folder, "errored.tfstate"));
  expect(await program.door.rescue(state, "apply-2", errored)).toMatchObject({ became: "aside" });
  const asides = await program.door.rescued(state);
  expect(asides).toHaveLength(1);
  await program.door.push(state, { from: "rescued", id: asides[0]?.id ?? "", force: false });
  expect(recorded(await program.door.show(state, undefined))).toEqual(steps(3));
  const plan = await more.run(await access("plan-3"), "plan", "-input=false");
  expect(plan).toContain("No changes");
});

test("what tofu could not write is taken over from where it left it", async () => {
  const module = tofu(2, 2);
  const given = await access("apply-1");
  const impatient: StateAccess = { ...given, env: { ...given.env, TF_HTTP_RETRY_MAX: "1" } };
  await module.run(given, "init", "-input=false");
  const applying = module.start(impatient, apply);
  await begun(applying, /Creating/);
  await program.kill();
  const { code } = await applying.end;
  expect(code).toBe(1);
  program = await startDoor(dataDir);
  const lock = await program.door.lock(state);
  expect(lock).toMatchObject({ runId: "apply-1" });
  const errored = readFileSync(join(module.folder, "errored.tfstate"));
  expect(await program.door.rescue(state, "apply-1", errored)).toMatchObject({
    became: "current",
  });
  expect(await program.door.release(state, lock?.id ?? "", "its run has ended")).toBe(true);
  expect(recorded(await program.door.show(state, undefined))).toEqual(steps(2));
  const plan = await module.run(await access("plan-2"), "plan", "-input=false");
  expect(plan).toContain("No changes");
  expect(effects(module)).toEqual(steps(2));
});

/** Requests as tofu makes them, without tofu. */
async function send(
  run: StateAccess,
  method: string,
  body?: string | ReadableStream,
  query = "",
): Promise<Response> {
  const { TF_HTTP_ADDRESS = "", TF_HTTP_USERNAME, TF_HTTP_PASSWORD } = run.env;
  const basic = Buffer.from(`${TF_HTTP_USERNAME}:${TF_HTTP_PASSWORD}`).toString("base64");
  return fetch(`${TF_HTTP_ADDRESS}${query}`, {
    method,
    headers: { authorization: `Basic ${basic}` },
    ...(body === undefined ? {} : { body, duplex: "half" }),
  });
}
async function lock(run: StateAccess): Promise<void> {
  const body = JSON.stringify({ ID: "l", Created: "2026-01-01T00:00:00Z" });
  expect((await send(run, "LOCK", body)).status).toBe(200);
}

test("whenever the door is killed, what it acknowledged is there", async () => {
  const run = await access("apply-1");
  await lock(run);
  const text = (serial: number) =>
    JSON.stringify({ version: 4, serial, lineage: "L", pad: "x".repeat(serial * 200) });
  let acknowledged = 0;
  let serial = 0;
  for (let round = 0; round < 8; round++) {
    const dying = sleep(20 + round * 17).then(() => program.kill());
    for (;;) {
      serial += 1;
      const answer = await send(run, "POST", text(serial), "?ID=l").catch(() => undefined);
      if (answer === undefined) break;
      expect(answer.status).toBe(200);
      acknowledged = serial;
    }
    await dying;
    program = await startDoor(dataDir);
    const content = Buffer.from((await program.door.show(state, undefined)) ?? []).toString();
    const found = content === "" ? 0 : JSON.parse(content).serial;
    expect([acknowledged, serial]).toContain(found);
    if (found > 0) expect(content).toBe(text(found));
  }
  expect(acknowledged).toBeGreaterThan(8);
  expect(await program.door.rescued(state)).toEqual([]);
});

test("a state of 200 MiB goes in and out without being held in memory", async () => {
  const run = await access("apply-1");
  await lock(run);
  const before = await program.memoryBytes();
  const pad = randomBytes(512 * 1024).toString("hex");
  async function* content(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('{"version":4,"serial":1,"lineage":"L","pad":[');
    for (let i = 0; i < 200; i++) yield Buffer.from(`${i === 0 ? "" : ","}"${pad}"`);
    yield Buffer.from("]}");
  }
  const answer = await send(run, "POST", ReadableStream.from(content()), "?ID=l");
  expect(answer.status).toBe(200);
  const [version] = await program.door.versions(state);
  expect(version?.sizeBytes).toBeGreaterThan(200 * 1024 * 1024);
  let readBytes = 0;
  for await (const chunk of (await send(run, "GET")).body ?? []) readBytes += chunk.length;
  expect(readBytes).toBe(version?.sizeBytes);
  expect((await program.memoryBytes()) - before).toBeLessThan(100 * 1024 * 1024);
  expect(statSync(join(dataDir, "nigari.db")).size).toBeLessThan(1024 * 1024);
});
