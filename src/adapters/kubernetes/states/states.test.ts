import { gzipSync } from "node:zlib";
import { beforeEach, describe, expect, test } from "vitest";
import type { Lease } from "../../../api/core.ts";
import type { ObjectStore } from "../../../ports/object-store.ts";
import { EpochOver, StateDamaged, type StateId } from "../../../ports/state.ts";
import { stateDoorContract } from "../../../testing/contracts/state-door.ts";
import { stateText } from "../../../testing/contracts/state-storage.ts";
import { seededRandom, VirtualClock } from "../../../testing/fakes/clock.ts";
import { doorInSecrets, kubernetesStates } from "../../../testing/fakes/state-doors.ts";
import { TofuInSecrets } from "../../../testing/fakes/tofu-in-secrets.ts";
import { memoryObjectStore } from "../../memory/object-store.ts";
import type { KubernetesStates } from "./states.ts";

const call = { signal: new AbortController().signal };
const state: StateId = { namespace: "team", name: "net", workspace: "default" };
const bytes = (...of: Parameters<typeof stateText>) => new TextEncoder().encode(stateText(...of));

let store: ObjectStore;
let tofu: TofuInSecrets;
let door: KubernetesStates;
beforeEach(() => {
  store = memoryObjectStore({ clock: new VirtualClock(), random: seededRandom(1) });
  tofu = new TofuInSecrets(store);
  door = kubernetesStates(store);
});

describe("on a store in memory", () => {
  stateDoorContract(async () => {
    const own = memoryObjectStore({ clock: new VirtualClock(), random: seededRandom(1) });
    return doorInSecrets(own, { async close() {} });
  });
});

describe("the backend that a run is told", () => {
  const hcl = (suffix: string, own: boolean, path = "", labels = "") =>
    `terraform {
  backend "kubernetes" {
    secret_suffix = "${suffix}"
    in_cluster_config = ${own}
    config_path = "${path}"
    namespace = "team"
    labels = {${labels}}
  }
}
`;
  test("is tofu-controller's, with workspaces, and holds no secret", async () => {
    expect(await door.access(state, "r1", call)).toEqual({
      ...{ backend: hcl("net", true), env: {}, hasWorkspaces: true },
    });
    const secret = { suffix: "x", labels: { a: "b" }, inCluster: false };
    const { backend } = await door.access({ ...state, secret }, "r1", call);
    expect(backend).toBe(hcl("x", false, "", '"a" = "b"'));
  });

  test("leads to a kubeconfig where the engine is not in the cluster", async () => {
    const outside = kubernetesStates(store, { reach: { by: "kubeconfig", path: "/k" } });
    const { backend } = await outside.access({ ...state, secret: { inCluster: true } }, "r1", call);
    expect(backend).toBe(hcl("net", false, "/k"));
  });

  test("is none where Kubernetes knows no such name", async () => {
    for (const odd of [{ workspace: "Prod_EU" }, { name: "x".repeat(250) }]) {
      await expect(door.access({ ...state, ...odd }, "r1", call)).rejects.toThrow(
        /^State team\/.* cannot lie in a Secret "tfstate-.*": choose a spec.workspace/,
      );
    }
  });
});

describe("a Secret that holds no state", () => {
  const damages: Record<string, { put: Uint8Array; says: string }> = {
    "plain text": { put: Buffer.from("hunter2"), says: "it is not gzipped" },
    "nothing at all": { put: Buffer.from(""), says: "it is not gzipped" },
    "half a gzip": {
      put: gzipSync(stateText(1)).subarray(0, 40),
      says: "its gzip is damaged or cut off",
    },
    "another document": {
      put: gzipSync('{"password":"hunter2"}'),
      says: "it has neither version nor encrypted_data",
    },
  };
  test.each(Object.entries(damages))("%s: said in words, and never its content", async (_, of) => {
    await tofu.put(state, of.put);
    const head = await door.head(state, call);
    const damage = head.state === "present" ? head.damage : undefined;
    expect(damage).toContain('Secret team/tfstate-default-net holds under "tfstate" no state');
    expect(damage).toContain(of.says);
    expect(damage).not.toContain("hunter2");
    await expect(door.read(state, call)).rejects.toThrow(StateDamaged);
    await tofu.takeLock(state, { id: "l", who: "me@net-tf-runner-r1" });
    expect(await door.rescue(state, "r1", bytes(9), call)).toMatchObject({ became: "aside" });
    await tofu.put(state, gzipSync(stateText(2)));
    expect(await door.head(state, call)).toMatchObject({ serial: 2, writerHidden: true });
  });

  test("one without the key is none: so OpenTofu has it", async () => {
    await tofu.write(state, stateText(1));
    const secret = await tofu.secret(state);
    if (secret !== undefined) await store.update({ ...secret, data: {} }, "main", call);
    expect(await door.head(state, call)).toEqual({ state: "absent", former: undefined });
  });
});

describe("a lock", () => {
  test.each([undefined, "", "{", "null", "[]", '{"Who":7}'])(
    "described by %j is held all the same",
    async (info) => {
      const annotations = info === undefined ? {} : { "app.terraform.io/lock-info": info };
      const lease: Lease = {
        ...{ apiVersion: "coordination.k8s.io/v1", kind: "Lease" },
        metadata: { namespace: "team", name: "lock-tfstate-default-net", annotations },
        spec: { holderIdentity: "l" },
      };
      await store.create(lease, call);
      const unknown = { operation: "", who: "", created: "", runId: undefined };
      expect(await door.lock(state, call)).toEqual({ id: "l", ...unknown });
      expect(await door.release(state, "l", "A test", call)).toBe(true);
    },
  );

  test("is a run's of ours by its pod, and nobody's else", async () => {
    const usual = kubernetesStates(store, { runOfHost: undefined });
    const hosts: [string, string | undefined][] = [
      ["net-tf-runner-1764527400000-0a1b2c3d4e5f", "1764527400000-0a1b2c3d4e5f"],
      ["net-tf-runner", undefined],
      ["laptop", undefined],
      ["my-tf-runner-box", undefined],
    ];
    for (const [host, runId] of hosts) {
      await tofu.takeLock(state, { id: host, who: `runner@${host}` });
      expect((await usual.lock(state, call))?.runId).toBe(runId);
      await tofu.returnLock(state, host);
    }
  });

  test("of tofu-controller's plan is abandoned once its runner is gone, and no other", async () => {
    let gone: string | undefined;
    const asked: object[] = [];
    const judging = kubernetesStates(store, {
      async formerRunnerGone(runner) {
        asked.push(runner);
        return gone;
      },
    });
    const plan = { id: "l", who: "runner@net-tf-runner", operation: "OperationTypePlan" };
    await tofu.takeLock(state, plan);
    expect((await judging.lock(state, call))?.abandoned).toBeUndefined();
    gone = "net-tf-runner does not exist any more";
    expect((await judging.lock(state, call))?.abandoned).toBe(`its runner ${gone}`);
    const since = "2026-01-01T00:00:00.123456789Z";
    expect(asked[0]).toEqual({ namespace: "team", pod: "net-tf-runner", since });
    for (const other of [
      { ...plan, operation: "OperationTypeApply" },
      { ...plan, who: "runner@web-tf-runner" },
      { ...plan, who: "me@laptop" },
    ]) {
      await tofu.returnLock(state, "l");
      await tofu.takeLock(state, other);
      expect((await judging.lock(state, call))?.abandoned).toBeUndefined();
    }
  });
});

describe("a state kept aside", () => {
  test("lies in a Secret of nobody's, with what tells of it beside it", async () => {
    await tofu.write(state, stateText(5));
    await door.rescue(state, "r1", bytes(3), call);
    const ref = { kind: "Secret", namespace: "team", name: "tfstate-rescue-r1" } as const;
    const secret = await store.get(ref, call);
    expect(secret?.metadata.ownerReferences).toBeUndefined();
    expect(secret?.metadata.labels).toEqual({
      "nigari.dev/rescued": "true",
      "nigari.dev/rescued-state": "tfstate-default-net",
    });
    expect(secret?.metadata.annotations).toMatchObject({
      "nigari.dev/rescued-run": "r1",
      "nigari.dev/rescued-serial": "3",
      "nigari.dev/rescued-lineage": "L",
    });
  });

  test("if somebody writes in the middle, although the lock is ours", async () => {
    await tofu.write(state, stateText(5));
    await tofu.takeLock(state, { id: "l", who: "runner@net-tf-runner-r1" });
    const racing: ObjectStore = Object.assign(Object.create(store), {
      async update(...args: Parameters<ObjectStore["update"]>) {
        if (args[0].kind === "Secret") await tofu.write(state, stateText(6, "theirs"));
        return await store.update(...args);
      },
    });
    for (const each of ["get", "list", "create", "delete"] as const) {
      Object.assign(racing, { [each]: store[each].bind(store) });
    }
    const answer = await kubernetesStates(racing).rescue(state, "r1", bytes(9), call);
    expect(answer.became).toBe("aside");
    expect(await tofu.read(state)).toBe(stateText(6, "theirs"));
  });

  test("also where a lock of the rescue itself was left by a crash", async () => {
    await tofu.write(state, stateText(5));
    const failing: ObjectStore = Object.assign(Object.create(store), {
      async update(): Promise<never> {
        throw new Error("The engine was killed");
      },
    });
    for (const each of ["get", "list", "create", "delete"] as const) {
      Object.assign(failing, { [each]: store[each].bind(store) });
    }
    const cut = kubernetesStates(failing).rescue(state, "r1", bytes(6), call);
    await expect(cut).rejects.toThrow("The engine was killed");
    expect(await door.lock(state, call)).toMatchObject({ runId: "r1", operation: "rescue" });
    await doorInSecrets(store, { async close() {} }).note(state);
    expect(await door.rescue(state, "r1", bytes(6), call)).toMatchObject({ became: "current" });
    expect(await door.lock(state, call)).toBeUndefined();
  });
});

describe("the epoch of who asks", () => {
  const by = (epoch: number) => ({ ...call, epoch });
  const asks: Record<string, (epoch: number) => Promise<unknown>> = {
    access: (epoch) => door.access(state, "r1", by(epoch)),
    revoke: (epoch) => door.revoke("r1", "a test", by(epoch)),
    release: (epoch) => door.release(state, "l", "a test", by(epoch)),
    rescue: (epoch) => door.rescue(state, "r1", bytes(9), by(epoch)),
  };
  test.each(Object.entries(asks))("%s: of one that is over it does nothing", async (_, ask) => {
    let leads = 7;
    door = kubernetesStates(store, { leaderEpoch: async () => leads });
    await tofu.takeLock(state, { id: "l", who: "me@laptop" });
    await expect(ask(6)).rejects.toThrow(EpochOver);
    expect(await door.lock(state, call)).toMatchObject({ id: "l" });
    expect(await door.rescued(state, call)).toEqual([]);
    await ask(7);
    leads = 0;
    await expect(ask(6)).rejects.toThrow(EpochOver);
  });
});
