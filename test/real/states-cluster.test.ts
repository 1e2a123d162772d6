import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KubernetesStates } from "../../src/adapters/kubernetes/states/states.ts";
import type { Lease, Secret } from "../../src/api/core.ts";
import type { StateId } from "../../src/ports/state.ts";
import { withoutCluster } from "../../src/testing/cluster/api-server.ts";
import { stateDoorContract } from "../../src/testing/contracts/state-door.ts";
import { doorInSecrets, kubernetesStates } from "../../src/testing/fakes/state-doors.ts";
import { TofuInSecrets } from "../../src/testing/fakes/tofu-in-secrets.ts";
import { openCluster, type TestCluster } from "./support/cluster.ts";
import { type TofuModule, tofuModule } from "./support/tofu.ts";

const call = { signal: new AbortController().signal };
const without = withoutCluster();

describe.skipIf(without)("the contract, on a real API server", () => {
  stateDoorContract(async () => {
    const { store, makeNamespace, close } = await openCluster();
    return doorInSecrets(store, { makeNamespace, close });
  });
});

describe.skipIf(without)("beside a real OpenTofu", () => {
  let cluster: TestCluster;
  let door: KubernetesStates;
  let scratch: string;
  beforeAll(async () => {
    cluster = await openCluster();
    const reach = { by: "kubeconfig", path: cluster.kubeconfig } as const;
    door = kubernetesStates(cluster.store, { reach, clock: cluster.clock });
    scratch = mkdtempSync(join(tmpdir(), "nigari-states-"));
  });
  afterAll(async () => {
    await cluster?.close();
    rmSync(scratch, { recursive: true, force: true });
  });

  async function stateIn(namespace: string, more: Partial<StateId> = {}): Promise<StateId> {
    await cluster.makeNamespace(namespace);
    return { namespace, name: "net", workspace: "default", ...more };
  }
  const moduleIn = (name: string, hcl: string) => tofuModule(join(scratch, name), hcl);

  test("its Secret and Lease are what our own hands make, object for object", async () => {
    const secret = { suffix: "net-1", labels: { team: "a" } };
    const state = await stateIn("by-tofu", { workspace: "dev", secret });
    const module = moduleIn("by-tofu", resource("a"));
    const access = await door.access(state, "r1", call);
    await module.run(access, "init");
    await module.run(access, "workspace", "new", "dev");
    await module.run(access, "apply", "-auto-approve");
    const twin = await stateIn("by-hand", { workspace: "dev", secret });
    const hands = new TofuInSecrets(cluster.store);
    await hands.takeLock(twin, { id: "x", who: "me@here" });
    await hands.write(twin, (await new TofuInSecrets(cluster.store).read(state)) ?? "");
    await hands.returnLock(twin, "x");
    const tofu = new TofuInSecrets(cluster.store);
    expect(told(await tofu.secret(state))).toEqual(told(await hands.secret(twin)));
    expect(told(await tofu.lease(state))).toEqual(told(await hands.lease(twin)));
    expect(await door.head(state, call)).toMatchObject({
      ...{ state: "present", resources: 1, tofuVersion: "1.12.6" },
    });
  });

  test("the lock that it left is told, and released as it would itself", async () => {
    const state = await stateIn("locked");
    const module = moduleIn("locked", resource("a"));
    const access = await door.access(state, "r1", call);
    await module.run(access, "init");
    const free = told(await new TofuInSecrets(cluster.store).lease(state));
    writeFileSync(join(module.folder, "main.tf"), resource("b", "sleep 60"));
    const { child, end } = module.start(access, ["apply", "-auto-approve"]);
    const lock = await untilLocked(state);
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    await end;
    expect(lock).toMatchObject({ operation: "OperationTypeApply", runId: undefined });
    expect(Math.abs(Date.parse(lock.created) - Date.now())).toBeLessThan(120_000);
    const refused = await module.start(access, ["plan"]).end;
    expect(refused.text).toContain(lock.id);
    expect(await door.release(state, "another", "A test", call)).toBe(false);
    expect(await door.release(state, lock.id, "A test", call)).toBe(true);
    expect(told(await new TofuInSecrets(cluster.store).lease(state))).toEqual(free);
    writeFileSync(join(module.folder, "main.tf"), resource("b"));
    await module.run(access, "apply", "-auto-approve");
  });

  test("what was rescued is what it goes on from", async () => {
    const state = await stateIn("rescue");
    const module = moduleIn("rescue", resource("a"));
    const access = await door.access(state, "r1", call);
    await module.run(access, "init");
    await module.run(access, "apply", "-auto-approve");
    await doorInSecrets(cluster.store, { async close() {} }).note(state);
    const now = JSON.parse(await module.run(access, "state", "pull"));
    const left = JSON.stringify({ ...now, serial: now.serial + 1, resources: [] });
    const rescued = await door.rescue(state, "r1", new TextEncoder().encode(left), call);
    expect(rescued).toMatchObject({ became: "current" });
    expect(await door.lock(state, call)).toBeUndefined();
    expect(JSON.parse(await module.run(access, "state", "pull"))).toMatchObject({
      ...{ serial: now.serial + 1, resources: [] },
    });
    expect(await module.run(access, "plan")).toContain("1 to add");
  });

  test("a state that is too large for a Secret is kept aside whole", async () => {
    const state = await stateIn("large");
    const big = `resource "terraform_data" "a" { input = file("big.txt") }\n`;
    const module: TofuModule = moduleIn("large", big);
    writeFileSync(join(module.folder, "big.txt"), randomBytes(1_500_000).toString("base64"));
    const access = await door.access(state, "r1", call);
    await module.run(access, "init");
    const { code } = await module.start(access, ["apply", "-auto-approve"]).end;
    expect(code).toBe(1);
    const left = readFileSync(join(module.folder, "errored.tfstate"));
    await doorInSecrets(cluster.store, { async close() {} }).note(state);
    const { id, became } = await door.rescue(state, "r1", left, call);
    expect([id, became]).toEqual(["tfstate-rescue-r1", "aside"]);
    const [rescued] = await door.rescued(state, call);
    expect(rescued).toMatchObject({ id, runId: "r1", serial: JSON.parse(String(left)).serial });
    expect(await door.lock(state, call)).toBeUndefined();
  });

  async function untilLocked(state: StateId) {
    for (let attempt = 0; attempt < 300; attempt += 1) {
      const lock = await door.lock(state, call);
      if (lock !== undefined) return lock;
      await sleep(100);
    }
    throw new Error("OpenTofu took no lock");
  }
});

function resource(name: string, command?: string): string {
  const slow = command === undefined ? "" : `provisioner "local-exec" { command = "${command}" }`;
  return `resource "terraform_data" "${name}" {\n  input = "x"\n  ${slow}\n}\n`;
}

/** What an object says, besides what the server adds; its data unpacked. */
function told(object: Secret | Lease | undefined) {
  if (object === undefined) return undefined;
  const { name, labels, annotations } = object.metadata;
  if (object.kind === "Lease") return { name, labels, annotations, spec: object.spec };
  const bytes = Buffer.from(object.data?.tfstate ?? "", "base64");
  const { type, data } = object;
  return { name, labels, annotations, type, keys: Object.keys(data ?? {}), gzip: bytes[0] === 31 };
}
