// make demo: the main job on real input, with the plug pulled twice. Exits 0 only if it all held.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { toolsFolder } from "../adapters/opentofu/programs.ts";
import { createClock } from "../adapters/system/clock.ts";
import type { Terraform } from "../api/terraform.ts";
import { serveModules } from "./demo/modules.ts";
import { type DemoName, demoObjects, demoResources } from "./demo/repository.ts";
import { closing, heading, line } from "./demo/screen.ts";
import { readyOf, Story } from "./demo/story.ts";
import {
  type DemoEngine,
  type DemoFolder,
  effectsOf,
  killRunner,
  makeDemoFolder,
  startEngine,
  watchObjects,
} from "./demo/world.ts";
import { packageRoot } from "./package.ts";

const WHOLE_MS = 180_000;
const INIT_DELAY_MS = 4_000;
const TRUTH_MS_MAX = 1_000;
const RESTART_MS_MAX = 15_000;

const clock = createClock();
const root = packageRoot();
const startedMs = clock.monotonic();
function since(): number {
  return clock.monotonic() - startedMs;
}
const story = new Story((moment) => process.stdout.write(line(moment)));
const objects = new Map<string, Terraform>();

const tofu = join(toolsFolder({ env: process.env, root }), "bin/tofu");
if (!existsSync(tofu)) {
  process.stderr.write('demo: OpenTofu is not built yet; "make demo" does that\n');
  process.exit(1);
}
const modules = await serveModules();
modules.delay(INIT_DELAY_MS);
const folder = makeDemoFolder(join(root, ".demo"), modules.address);
const end = new AbortController();
process.on("SIGINT", () => end.abort());
process.on("SIGTERM", () => end.abort());

process.stdout.write(heading(folder));
const engine = await startEngine(folder, tofu, clock);
let failure: string | undefined;
try {
  const watching = watch(engine);
  await Promise.race([play(folder, engine), watching]);
} catch (error) {
  failure = error instanceof Error ? error.message : String(error);
}
const verdict = await judge(folder, engine);
end.abort();
await engine.stop();
modules.close();
clock.close();
process.stdout.write(closing({ root, folder, story, verdict, failure }));
process.exit(failure === undefined && verdict.held ? 0 : 1);

async function watch({ client }: DemoEngine): Promise<never> {
  for await (const object of watchObjects(client, end.signal)) {
    objects.set(object.metadata.name, object);
    story.heard(object, since());
  }
  throw new Error(end.signal.aborted ? "Interrupted" : "The engine's stream ended");
}

/** Waits for something an object says; the whole demo has one bound. */
async function until(what: string, holds: () => boolean): Promise<void> {
  while (!holds()) {
    if (since() > WHOLE_MS) throw new Error(`Gave up after 3 minutes: ${what}`);
    if (end.signal.aborted) throw new Error("Interrupted");
    await sleep(20);
  }
}

async function play(place: DemoFolder, { client }: DemoEngine): Promise<void> {
  const stageOf = (name: DemoName) => objects.get(name)?.status?.run?.stage;
  await until("catalogue's init begins", () => stageOf("catalogue") === "init");
  // Well inside: tofu waits for the module server.
  await sleep(1_000);
  kill(place, "catalogue");
  await until("database creates its disk", () => effectsOf(place).includes("disk"));
  await until("database's apply is told", () => stageOf("database") === "apply");
  await sleep(1_000);
  kill(place, "database");
  // The new attempt's init is seen to begin before the module server gets quick.
  await until("catalogue's init begins again", () => story.kills[0]?.againAtMs !== undefined);
  modules.delay(0);
  await until("app asks for approval", () => pendingOf("app") !== undefined);
  await approve(client, pendingOf("app") ?? "");
  await until("every object is ready", () => demoObjects.every(isReady));
}

function kill(place: DemoFolder, name: DemoName): void {
  const run = objects.get(name)?.status?.run;
  if (run === undefined) throw new Error(`${name} has no run to kill`);
  const pid = killRunner(place, run.id);
  story.killed({ object: name, stage: run.stage, runId: run.id, pid, atMs: since() });
}

function pendingOf(name: DemoName): string | undefined {
  return objects.get(name)?.status?.plan?.pending;
}

async function approve(client: DemoEngine["client"], plan: string): Promise<void> {
  const call = () => ({ signal: clock.deadline("Approving", 10_000, end.signal) });
  const ref = { kind: "Terraform", namespace: "default", name: "app" } as const;
  const app = await client.store.get(ref, call());
  if (app === undefined) throw new Error("app is gone");
  story.note({ atMs: since(), object: "app", text: `a person approves ${plan}`, mood: "note" });
  await client.store.update({ ...app, spec: { ...app.spec, approvePlan: plan } }, "main", call());
}

function isReady(name: DemoName): boolean {
  const object = objects.get(name);
  if (object === undefined || object.status?.run !== undefined) return false;
  return (
    readyOf(object)?.status === "True" &&
    object.status?.lastAppliedRevision !== undefined &&
    object.status.observedGeneration === object.metadata.generation
  );
}

/** The bounds and the two questions: applied once, state whole. */
async function judge(place: DemoFolder, { client }: DemoEngine) {
  const effects = effectsOf(place);
  const expected = Object.values(demoResources).reduce((sum, each) => sum + each, 0);
  const appliedOnce = new Set(effects).size === expected && effects.length === expected;
  const [init, apply] = story.kills;
  const truths = story.kills.map(({ atMs, toldAtMs }) => (toldAtMs ?? Number.NaN) - atMs);
  const truthMs = Math.round(Math.max(...truths));
  const restartedMs = Math.round((init?.againAtMs ?? Number.NaN) - (init?.atMs ?? 0));
  const stateWhole = await statesWhole(client);
  return {
    truthMs,
    restartedMs,
    appliedOnce,
    stateWhole,
    kills: story.kills.length,
    wholeMs: Math.round(since()),
    held:
      apply !== undefined &&
      truthMs <= TRUTH_MS_MAX &&
      restartedMs <= RESTART_MS_MAX &&
      appliedOnce &&
      stateWhole,
  };
}

/** Every state can be read, holds what was created, and is locked by nobody. */
async function statesWhole(client: DemoEngine["client"]): Promise<boolean> {
  const call = () => ({ signal: clock.deadline("Reading states", 10_000) });
  try {
    const states = await client.states.list(call());
    for (const name of demoObjects) {
      const state = states.find((each) => each.name === name);
      if (state === undefined || state.lock !== undefined || state.rescued.length > 0) return false;
      const content = await client.states.show(state, undefined, call());
      const { resources } = JSON.parse(new TextDecoder().decode(content)) as {
        resources: { mode: string }[];
      };
      const managed = resources.filter(({ mode }) => mode === "managed").length;
      if (managed !== demoResources[name]) return false;
    }
    return true;
  } catch {
    return false;
  }
}
