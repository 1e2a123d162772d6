import { join } from "node:path";
import type { TerraformSpec } from "../../api/terraform.ts";
import type { DoorProxy } from "../harness/door-proxy.ts";
import type { EngineWorld, SubjectOptions } from "../harness/engine-world.ts";
import type { HealthServer } from "../harness/health-server.ts";
import type { Subject } from "../harness/subject.ts";
import { until, type Victim } from "../harness/victims.ts";
import type { StageName } from "./cells.ts";

/** What every object of the matrix makes, one after the other. */
export const resources = [
  { name: "first" },
  { name: "slow", gated: true },
  { name: "last", destroyGated: true },
];
export const addresses = resources.map(({ name }) => `terraform_data.${name}`).sort();

const PATIENCE_MS = 120_000;

/** Where the matrix takes place. */
export interface Stand {
  readonly world: EngineWorld;
  readonly door: DoorProxy;
  readonly health: { readonly url: string; readonly server: HealthServer };
  /** What the engine is started with. */
  readonly env: Readonly<Record<string, string>>;
  /** The engine's wall clock is wrong by so much. */
  bendClock(ms: number): void;
  silenceSource(silent: boolean): void;
  fillDisk(): void;
  makeRoom(): void;
}

/** An object whose run stands still in a stage, by a means that is not the fault. */
export interface Held {
  readonly stand: Stand;
  readonly stage: StageName;
  readonly subject: Subject;
  readonly runId: string;
  readonly runner: Victim;
}

/** An object for a stage, with its module, not wanted yet. */
export function addFor(stage: StageName, name: string, stand: Stand): Subject {
  const subject = stand.world.addModule(name, optionsOf(stage, name, stand));
  if (stage === "workspace" || stage === "show") subject.hold(stage);
  if (stage === "init" || stage === "plan") stand.door.hold(name, stage);
  if (stage === "outputs") stand.door.hold(name, "output");
  if (stage !== "apply") subject.workspace.passGate("slow");
  return subject;
}

function optionsOf(stage: StageName, name: string, { world, health }: Stand): SubjectOptions {
  const spec: Partial<TerraformSpec> = {
    ...(stage === "destroy" ? { destroyResourcesOnDeletion: true } : {}),
    // Only a backend that has workspaces has OpenTofu choose one.
    ...(stage === "health" ? checked(`${health.url}/${name}`) : {}),
    ...(stage === "workspace" ? ownBackend(join(world.scratch, "states", name)) : {}),
  };
  return { resources, spec, padded: stage === "artifact" };
}

function checked(url: string): Partial<TerraformSpec> {
  return { healthChecks: [{ name: "up", type: "http", url, timeout: "4m" }] };
}

const WORKSPACE = "blue";

function ownBackend(folder: string): Partial<TerraformSpec> {
  const path = join(folder, "default.tfstate");
  const text = `backend "local" {\n  path = "${path}"\n  workspace_dir = "${folder}"\n}`;
  return { workspace: WORKSPACE, backendConfig: { customConfiguration: text } };
}
/** The state of the object that has a backend of its own. */
export function ownStateFile({ world }: Stand, name: string): string {
  return join(world.scratch, "states", name, WORKSPACE, "terraform.tfstate");
}

/** Asks for the object and waits until a run of it is held in the stage. */
export async function reach(stage: StageName, subject: Subject, stand: Stand): Promise<Held> {
  const { door, health, world } = stand;
  const { name } = subject;
  world.want(subject, optionsOf(stage, name, stand));
  switch (stage) {
    case "artifact":
      await frozenInArtifact(subject);
      break;
    case "init":
    case "plan":
      await until(
        `${name} reads its state in ${stage}`,
        () => door.holds(name, stage),
        PATIENCE_MS,
      );
      break;
    case "outputs":
      await until(`${name} reads outputs`, () => door.holds(name, "output"), PATIENCE_MS);
      break;
    case "workspace":
    case "show":
      await subject.begun(stage);
      break;
    case "health":
      await until(`${name} is checked`, () => health.server.asked(name), PATIENCE_MS);
      break;
    case "apply":
      await subject.effect("slow");
      break;
    case "destroy":
      await subject.settled(PATIENCE_MS);
      await world.remove(subject);
      await subject.effect("last", "destroy");
      break;
  }
  const journalled = runStageOf(stage);
  await subject.when("its stage is told", ({ status }) => status?.run?.stage === journalled);
  await until(`${name} is held in ${stage}`, () => subject.stage() === journalled);
  return { stand, stage, subject, runId: subject.runId(), runner: subject.runner() };
}

/** As the run calls it: a destroy is an apply. */
export function runStageOf(stage: StageName): Exclude<StageName, "destroy"> {
  return stage === "destroy" ? "apply" : stage;
}

/** Nothing holds a runner in artifact but its work; so it is stopped there. */
async function frozenInArtifact(subject: Subject): Promise<void> {
  const inArtifact = () => subject.run?.stage === "artifact" && subject.stage() === "artifact";
  await until(`${subject.name} is in artifact`, inArtifact, PATIENCE_MS);
  await subject.runner().freeze();
}

/** Lets go of whatever holds the object's runs; a runner that was stopped to hold it too. */
export function release({ stage, subject, runner, stand }: Held): void {
  const { name, workspace } = subject;
  if (stage === "workspace" || stage === "show") subject.letGo(stage);
  if (stage === "init" || stage === "plan") stand.door.letGo(name, stage);
  if (stage === "outputs") stand.door.letGo(name, "output");
  if (stage === "health") stand.health.server.letGo(name);
  if (stage === "artifact" && runner.lives()) runner.thaw();
  workspace.passGate("slow");
  workspace.passGate("destroy-last");
}
