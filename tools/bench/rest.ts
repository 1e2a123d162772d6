import { setTimeout as sleep } from "node:timers/promises";
import type { Secret } from "../../src/api/core.ts";
import type { Terraform } from "../../src/api/terraform.ts";
import { openKept } from "../../src/main/store.ts";
import { type BenchEngine, isSettled, terraformOf } from "./engine.ts";

const QUIET_MS = 180_000;

/**
 * An engine with many objects at rest: one is applied for real, and its status is given to the
 * others while no engine runs. Then a Secret that all of them read gets a label, so that each has a
 * pass in which nothing is to be done.
 */
export async function atRest(
  engine: BenchEngine,
  { objects, rounds }: { readonly objects: number; readonly rounds: number },
): Promise<{ stepCpuMs: number; rssMiB: number; idleCpuPercent: number }> {
  const secret: Secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "shared", namespace: "default" },
    stringData: { text: "value" },
  };
  const spec = { path: "trivial", varsFrom: [{ kind: "Secret" as const, name: "shared" }] };
  await engine.client.store.create(secret, engine.call());
  await engine.create("first", spec);
  const first = await engine.until("first", (object) => isSettled(object));
  await engine.stop();
  await fill(engine, first, { objects, spec });
  await engine.start();
  await quiet(engine);
  const idle = await idleCpuMs(engine);
  const passes = () => engine.metric("controller_runtime_reconcile_total");
  const runs = await engine.metric("nigari_runs_started_total");
  const before = { cpu: await cpuMs(engine), passes: await passes(), at: performance.now() };
  for (let round = 0; round < rounds; round += 1) {
    await label(engine, `round-${round}`);
    await quiet(engine);
  }
  const spentMs = (await cpuMs(engine)) - before.cpu;
  const share = ((performance.now() - before.at) / 1_000) * idle;
  const made = (await passes()) - before.passes;
  if (made < objects * rounds) throw new Error(`Only ${made} passes were made`);
  if ((await engine.metric("nigari_runs_started_total")) > runs) throw new Error("Runs were begun");
  await sleep(5_000);
  const rss = await engine.metric("process_resident_memory_bytes");
  return {
    stepCpuMs: (spentMs - share) / made,
    rssMiB: rss / 1_024 / 1_024,
    idleCpuPercent: idle / 10,
  };
}

async function fill(
  engine: BenchEngine,
  first: Terraform,
  { objects, spec }: { objects: number; spec: Partial<Terraform["spec"]> },
): Promise<void> {
  const kept = openKept(engine.dataDir, engine.clock);
  const stateOf = (name: string) => ({ namespace: "default", name, workspace: "default" });
  const content = await kept.states.show(stateOf("first"), undefined, engine.call());
  if (content === undefined) throw new Error("The first object has no state");
  for (let number = 1; number < objects; number += 1) {
    const made = await kept.store.create(terraformOf(`object-${number}`, spec), engine.call());
    made.metadata.finalizers = [...(first.metadata.finalizers ?? [])];
    const held = await kept.store.update(made, "main", engine.call());
    const push = { from: "content", content, force: true } as const;
    await kept.states.push(stateOf(`object-${number}`), push, engine.call());
    const status = structuredClone(first.status) ?? {};
    await kept.store.update({ ...held, status }, "status", engine.call());
  }
  kept.database.close();
}

async function label(engine: BenchEngine, value: string): Promise<void> {
  const ref = { kind: "Secret", namespace: "default", name: "shared" } as const;
  const secret = await engine.client.store.get(ref, engine.call());
  if (secret === undefined) throw new Error("The Secret is gone");
  secret.metadata.labels = { round: value };
  await engine.client.store.update(secret, "main", engine.call());
}

/** Until no pass has been made for a second. */
async function quiet(engine: BenchEngine): Promise<void> {
  const until = performance.now() + QUIET_MS;
  for (let before = -1; ; ) {
    if (performance.now() > until) throw new Error(`Passes do not end: ${engine.log()}`);
    await sleep(1_000);
    const now = await engine.metric("controller_runtime_reconcile_total");
    const busy = (await engine.metric("workqueue_depth")) > 0;
    if (now === before && !busy) return;
    before = now;
  }
}

/** Milliseconds of processor a second while nothing happens. */
async function idleCpuMs(engine: BenchEngine): Promise<number> {
  const [cpu, at] = [await cpuMs(engine), performance.now()];
  await sleep(10_000);
  return ((await cpuMs(engine)) - cpu) / ((performance.now() - at) / 1_000);
}

async function cpuMs(engine: BenchEngine): Promise<number> {
  return (await engine.metric("process_cpu_seconds_total")) * 1_000;
}
