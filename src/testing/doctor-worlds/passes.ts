import { REVISION, type World } from "./world.ts";

/*
 * Passes of the controller as its log tells them, in the words of tofu-controller 0.16.
 */

/** What comes before the first call to the runner's program. */
const SETUP = [
  ">> Started Generation: 1",
  "getting source",
  "before lookup runner: checking ready condition",
  "trigger namespace tls secret generation",
  "show runner pod state: ",
  "runner is running",
  "setting up terraform",
  "write backend config: ok",
  "new terraform",
  "generate vars from tf: ok",
  "generated var files from spec",
  "generate template: ok",
  "generated template",
] as const;
const INITIALIZED = ["init reply: ok", "tfexec initialized terraform"] as const;
const WORKSPACE = "workspace select reply: ok";
const PLANNED = ["plan: ok, found drift: true", "save tfplan: ok"] as const;

/** The last line before each call, with all that comes before it. */
export const until = {
  setup: SETUP,
  lookup: SETUP.slice(0, 5),
  fetch: SETUP.slice(0, 7),
  "drift-plan": [...SETUP, ...INITIALIZED, WORKSPACE, "calling detectDrift ..."],
  plan: [...SETUP, ...INITIALIZED, WORKSPACE, "calling plan ..."],
  apply: [...SETUP, ...INITIALIZED, WORKSPACE, "calling plan ...", ...PLANNED, "load tf plan: ok"],
} as const;
export type Until = keyof typeof until;

/** Writes the lines of a pass, the last of them so many seconds ago. */
export function writeUntil(world: World, key: string, stage: Until, seconds: number): void {
  write(world, key, until[stage], seconds);
}

export function write(
  world: World,
  key: string,
  messages: readonly string[],
  seconds: number,
): void {
  for (const [index, message] of messages.entries()) {
    world.line(seconds + (messages.length - 1 - index) * 0.4, key, message);
  }
}

/** A pass that found nothing to do, ended so many seconds ago. */
export function writeQuietPass(world: World, key: string, seconds: number): void {
  const ending = [
    "plan for drift: ok found drift: false",
    "clean up dir: ok",
    "Reset reconciliation failures count. Reason: successful reconciliation",
    "Reconciliation completed. Generation: 1",
    "requeue after interval",
  ];
  write(world, key, [...until["drift-plan"], ...ending], seconds);
}

/** A pass that failed, ended so many seconds ago. */
export function writeFailedPass(
  world: World,
  key: string,
  failure: { readonly stage: Until; readonly line: string; readonly error: string },
  seconds: number,
): void {
  writeUntil(world, key, failure.stage, seconds + 2);
  world.line(seconds + 1, key, failure.line, failure.error);
  world.line(seconds, key, "clean up dir: ok");
  world.line(seconds, key, "Reconciliation failed after 2.1s, next try in 30s", failure.error);
  world.line(seconds, key, "Reconciliation failed, retry after 30s. Generation: 1");
}

/** An object that is well: its newest pass found no drift. */
export function healthy(world: World, key = world.key()): string {
  const seconds = world.between(65, 290);
  world.object(key, ["True", `No drift: ${REVISION}`, world.ago(seconds), "NoDrift"]);
  writeQuietPass(world, key, seconds);
  return key;
}
