import { randomBytes } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import type { Terraform, TerraformSpec } from "../../../api/terraform.ts";
import { stateSecretOf } from "../../../engine/backend.ts";
import type { ObjectStore } from "../../../ports/object-store.ts";
import { StateDamaged, type StateId, StateRefused } from "../../../ports/state.ts";
import { stateText } from "../../../testing/contracts/state-storage.ts";
import { seededRandom, VirtualClock } from "../../../testing/fakes/clock.ts";
import { kubernetesStates } from "../../../testing/fakes/state-doors.ts";
import { TofuInSecrets } from "../../../testing/fakes/tofu-in-secrets.ts";
import { memoryObjectStore } from "../../memory/object-store.ts";
import { KubernetesStateAdmin } from "./admin.ts";

const call = { signal: new AbortController().signal };
const state: StateId = { namespace: "team", name: "net", workspace: "default" };
const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes);

let store: ObjectStore;
let tofu: TofuInSecrets;
let admin: KubernetesStateAdmin;
beforeEach(() => {
  const clock = new VirtualClock();
  store = memoryObjectStore({ clock, random: seededRandom(1) });
  tofu = new TofuInSecrets(store);
  const parts = { store, clock, random: seededRandom(2), secretOf: stateSecretOf };
  admin = new KubernetesStateAdmin(parts);
});

async function makeObject(name: string, spec: Partial<TerraformSpec>): Promise<void> {
  const sourceRef = { kind: "GitRepository", name: "repository" } as const;
  const object: Terraform = {
    ...{ apiVersion: "infra.contrib.fluxcd.io/v1alpha2", kind: "Terraform" },
    metadata: { namespace: "team", name },
    spec: { interval: "1h", sourceRef, ...spec },
  };
  await store.create(object, call);
}
const push = (text: string, force = false) =>
  admin.push(state, { from: "content", content: encode(text), force }, call);

test("lists every state by its object's name, with its lock and what is kept aside", async () => {
  await makeObject("web", { backendConfig: { secretSuffix: "other" } });
  await tofu.write({ ...state, name: "other" }, stateText(3));
  await tofu.takeLock({ ...state, workspace: "dev" }, { id: "l", who: "me@laptop" });
  await tofu.write(state, stateText(5));
  await kubernetesStates(store).rescue(state, "r1", encode(stateText(4)), call);
  await tofu.write({ ...state, name: "gone" }, stateText(1));
  const found = await admin.list(call);
  expect(found.map((each) => [each.name, each.workspace, each.serial, each.lock?.id])).toEqual([
    ["gone", "default", 1, undefined],
    ["net", "default", 5, undefined],
    ["net", "dev", 0, "l"],
    ["web", "default", 3, undefined],
  ]);
  expect(found[1]?.rescued).toMatchObject([{ id: "tfstate-rescue-r1", serial: 4 }]);
});

test("shows the state that the object's spec names", async () => {
  await makeObject("web", { backendConfig: { secretSuffix: "other" } });
  await tofu.write({ ...state, name: "other" }, stateText(3));
  expect(decode(await admin.show({ ...state, name: "web" }, undefined, call))).toBe(stateText(3));
  expect(await admin.show(state, undefined, call)).toBeUndefined();
  await tofu.put(state, Buffer.from("hunter2"));
  await expect(admin.show(state, undefined, call)).rejects.toThrow(StateDamaged);
});

test("one kept aside in pieces is shown whole, accepted or dropped", async () => {
  const large = JSON.stringify({
    ...JSON.parse(stateText(9)),
    mark: randomBytes(1_500_000).toString("base64"),
  });
  const { id } = await kubernetesStates(store).rescue(state, "r1", encode(large), call);
  expect(decode(await admin.show(state, id, call)) === large).toBe(true);
  expect(await admin.versions(state, call)).toMatchObject([
    { id, serial: 9, runId: "r1", sizeBytes: large.length, kept: "aside" },
  ]);
  const accepting = admin.push(state, { from: "rescued", id, force: true }, call);
  await expect(accepting).rejects.toThrow(/it takes \d+ bytes, and a Secret holds 1048576$/);
  await admin.drop(state, id, call);
  expect((await store.list("Secret", {}, call)).items).toEqual([]);
  await expect(admin.drop(state, id, call)).rejects.toThrow(StateRefused);
});

describe("a push", () => {
  test("becomes what OpenTofu reads, under the lock, which is free again", async () => {
    expect(await push(stateText(1))).toMatchObject({ name: "net", serial: 1, lineage: "L" });
    expect(await tofu.read(state)).toBe(stateText(1));
    expect((await tofu.secret(state))?.metadata.labels).toEqual({
      ...{ "app.kubernetes.io/managed-by": "terraform", tfstate: "true" },
      ...{ tfstateSecretSuffix: "net", tfstateWorkspace: "default" },
    });
    await tofu.takeLock(state, { id: "l", who: "me@laptop" });
    await expect(push(stateText(2), true)).rejects.toThrow("is locked by me@laptop (lock l)");
    expect(await tofu.read(state)).toBe(stateText(1));
  });

  test("is refused where it would lose something, but for force", async () => {
    await push(stateText(5));
    await expect(push(stateText(4))).rejects.toThrow("its serial 4 is not above 5");
    await expect(push(stateText(9, "", "X"))).rejects.toThrow("its lineage is X");
    await expect(push("{}", true)).rejects.toThrow("what was given is no state file");
    await push(stateText(1, "", "X"), true);
    expect(await tofu.read(state)).toBe(stateText(1, "", "X"));
  });

  test("mends what is damaged", async () => {
    await tofu.put(state, Buffer.from("hunter2"));
    await push(stateText(1));
    expect(await tofu.read(state)).toBe(stateText(1));
  });

  test("may be what was kept aside, which is aside no more", async () => {
    await tofu.write(state, stateText(5));
    const { id } = await kubernetesStates(store).rescue(state, "r1", encode(stateText(9)), call);
    const accepted = await admin.push(state, { from: "rescued", id, force: false }, call);
    expect(accepted).toMatchObject({ serial: 9, rescued: [] });
    expect(await admin.versions(state, call)).toMatchObject([{ serial: 9, kept: "current" }]);
  });
});

test("nothing is rolled back to, for Kubernetes keeps no history", async () => {
  await push(stateText(1));
  const back = admin.rollback(state, { version: "v1", force: true }, call);
  await expect(back).rejects.toThrow("Kubernetes keeps no earlier versions");
});
