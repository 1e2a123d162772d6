import type { Terraform } from "../../api/terraform.ts";
import type { FakeRun } from "../fakes/fake-run.ts";

/** Moments in the life of an object at which a fault can strike. */

const planStages = [
  "launch",
  "artifact",
  "init",
  "workspace",
  "plan",
  "show",
  "outputs",
  "collect",
] as const;
const applyStages = [
  "launch",
  "artifact",
  "init",
  "workspace",
  "apply",
  "outputs",
  "collect",
] as const;

export const moments = [
  /** No run is under way. */
  "rest",
  ...planStages.map((stage) => `plan/${stage}` as const),
  ...applyStages.map((stage) => `apply/${stage}` as const),
  /** An apply that destroys. */
  "destroy",
] as const;
export type Moment = (typeof moments)[number];

/** Stages in which a process of tofu is at work, or the archive is taken in. */
export function hasWorker(moment: Moment): boolean {
  return hasRun(moment) && !moment.endsWith("/launch") && !moment.endsWith("/collect");
}

export function hasRun(moment: Moment): boolean {
  return moment !== "rest";
}

/** Where a run is now, as it knows itself, not as the engine believes. */
export function momentOf(run: FakeRun): Moment {
  const { order } = run;
  if (order === undefined) return "plan/launch";
  const stage = run.outcome === undefined ? run.stage : "collect";
  if (order.operation === "apply" && order.destroy && stage === "apply") return "destroy";
  return `${order.operation}/${stage}` as Moment;
}

/** The moment of an intent that has just been stored. */
export function launchOf(terraform: Terraform): Moment | undefined {
  const { run } = terraform.status ?? {};
  return run === undefined ? undefined : `${run.operation}/launch`;
}
