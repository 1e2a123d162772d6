import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { StartOrder } from "../../src/ports/runner.ts";
import { type RealRunner, startRealRunner } from "../../src/testing/real-runner.ts";

// What a run does besides its plan or apply, with real OpenTofu: health checks, the inventory, and
// the release of a lock that a person has named.

const scratch = mkdtempSync(join(tmpdir(), "nigari-runner-fields-"));
const runners: RealRunner[] = [];
let web: Server;
let port = 0;
beforeAll(async () => {
  web = createServer((_request, response) => response.end("well"));
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  port = (web.address() as AddressInfo).port;
});
afterEach(async () => {
  for (const runner of runners.splice(0)) await runner.remove();
});
afterAll(() => {
  web.close();
  rmSync(scratch, { recursive: true });
});

async function run(files: Record<string, string>, order: Partial<StartOrder>, plan?: Buffer) {
  const runner = await startRealRunner();
  runners.push(runner);
  await runner.begin(files, order, plan);
  return { runner, outcome: await runner.outcome() };
}

const module = (served: number) => ({
  "main.tf": `
resource "terraform_data" "one" {}
module "inner" {
  source = "./inner"
}
output "port" { value = ${served} }
output "host" { value = "127.0.0.1" }
`,
  "inner/main.tf": 'resource "terraform_data" "two" {}\n',
});

/** The template that stands for an output. */
const out = (name: string) => `$\{{.${name}}}`;

describe("an order with health checks and an inventory", () => {
  const backend = () => {
    const path = join(scratch, `${randomUUID()}.tfstate`);
    return `terraform {\n  backend "local" {\n    path = "${path}"\n  }\n}\n`;
  };
  const checks = {
    inventory: true,
    outputNames: { "web.host": "host" },
    healthChecks: [
      { name: "tcp", type: "tcp", target: `${out("host")}:${out("port")}`, timeoutMs: 5_000 },
      {
        name: "http",
        type: "http",
        target: `http://$\{{ index . "web.host" }}:${out("port")}/`,
        timeoutMs: 5_000,
      },
      { name: "nobody", type: "tcp", target: `${out("host")}:1`, timeoutMs: 300 },
    ],
  } satisfies Partial<StartOrder>;

  test("is answered after the apply and after a plan without changes, by stage", async () => {
    const order = { ...checks, backend: backend() };
    const first = await run(module(port), order);
    expect(first.outcome).toMatchObject({ changes: true, inventory: { entries: [] } });
    expect(first.outcome).not.toHaveProperty("health");
    const applied = await run(module(port), order, await first.runner.file("plan.bin"));
    const again = await run(module(port), order);
    for (const { outcome, runner } of [applied, again]) {
      expect(outcome).toMatchObject({
        health: [
          { name: "tcp", trouble: undefined },
          { name: "http", trouble: undefined },
          { name: "nobody", trouble: expect.stringContaining(`url: ${out("host")}:1: `) },
        ],
        inventory: {
          entries: [
            { n: "one", t: "terraform_data", id: expect.stringMatching(/./) },
            { n: "two", t: "terraform_data", id: expect.stringMatching(/./) },
          ],
          more: 0,
        },
      });
      const stages = (await runner.events()).flatMap((each) =>
        each.type === "stage" ? [each.stage] : [],
      );
      expect(stages.slice(-2)).toEqual(["outputs", "health"]);
    }
    expect(applied.outcome.kind).toBe("applied");
    expect(again.outcome).toMatchObject({ kind: "planned", changes: false });
  });
});

/** A state server whose lock somebody else holds. */
async function lockedState() {
  const holder = { ID: randomUUID(), Operation: "OperationTypeApply", Who: "ann@laptop" };
  const lock = {
    ...holder,
    Version: "1.12.6",
    Created: "2026-01-01T00:00:00Z",
    Path: "",
    Info: "",
  };
  let held: string | undefined = lock.ID;
  let state = "";
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => {
      text += chunk;
    });
    request.on("end", () => {
      const id = text === "" || !/LOCK/.test(request.method ?? "") ? "" : JSON.parse(text).ID;
      if (request.method === "LOCK" && held !== undefined) {
        response.statusCode = 423;
        response.end(JSON.stringify(lock));
      } else {
        if (request.method === "LOCK") held = id;
        if (request.method === "UNLOCK") held = undefined;
        if (request.method === "POST") state = text;
        response.end(request.method === "GET" ? state : "");
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/state`;
  const backend =
    `terraform {\n  backend "http" {\n    address = "${address}"\n` +
    `    lock_address = "${address}"\n    unlock_address = "${address}"\n` +
    '    lock_method = "LOCK"\n    unlock_method = "UNLOCK"\n  }\n}\n';
  return { lockId: lock.ID, backend, held: () => held, close: () => server.close() };
}

describe("a lock of somebody else", () => {
  const files = { "main.tf": 'output "a" { value = 1 }\n' };

  test("is named and left; an order that names it has it released before the plan", async () => {
    const { backend, close, held, lockId } = await lockedState();
    const refused = await run(files, { backend });
    expect(refused.outcome).toMatchObject({
      kind: "failed",
      stage: "plan",
      lock: { id: lockId, who: "ann@laptop", operation: "OperationTypeApply" },
    });
    expect(held()).toBe(lockId);
    const released = await run(files, { backend, unlock: lockId });
    expect(released.outcome).toMatchObject({ kind: "planned", changes: true });
    expect(held()).toBeUndefined();
    expect(await released.runner.log()).toContain(`lock ${lockId} is released, as ordered`);
    close();
  });
});

test("a target that is not there and a path without a module are no plan in silence", async () => {
  const path = join(scratch, `${randomUUID()}.tfstate`);
  const backend = `terraform {\n  backend "local" {\n    path = "${path}"\n  }\n}\n`;
  const files = { ...module(0), "docs/README.md": "" };
  const targets = ["module.inner", "module.outer"];
  const { outcome } = await run(files, { backend, targets: targets.slice(1) });
  expect(outcome).toMatchObject({
    kind: "planned",
    changes: false,
    warnings: ['spec.targets: the module has no "module.outer", so nothing is planned for it'],
  });
  const { outcome: empty } = await run(files, { backend, path: "docs" });
  expect(empty).toMatchObject({ kind: "planned", changes: false });
  expect(empty).toMatchObject({ warnings: [expect.stringContaining('spec.path "docs" holds no')] });
});
