import type { Random } from "../../ports/clock.ts";
import { RunnerError } from "../../ports/runner.ts";
import { seededRandom } from "../fakes/clock.ts";
import type { FakeMethod } from "../fakes/runner-platform.ts";
import type { LivingEngine, World } from "./world.ts";

/** Things that happen in a world while an engine runs: people at work, and faults. */
export type Fault =
  | "commit"
  | "kill-runner"
  | "freeze"
  | "thaw"
  | "cut-off"
  | "reconnect"
  | "kill-engine"
  | "store-away"
  | "store-back"
  | "break-watches"
  | "expire-watches"
  | "fail-call"
  | "lose-answer"
  | "lag"
  | "kill-tofu"
  | "reboot";

/** Faults after which the work can still be ended without a person. */
export const mendable: readonly Fault[] = [
  "commit",
  "kill-runner",
  "freeze",
  "thaw",
  "cut-off",
  "reconnect",
  "kill-engine",
  "store-away",
  "store-back",
  "break-watches",
  "expire-watches",
  "fail-call",
  "lose-answer",
  "lag",
];
/** Faults after which a person may have to look first. */
export const grave: readonly Fault[] = ["kill-tofu", "reboot"];

const METHODS: readonly FakeMethod[] = [
  "launch",
  "inspect",
  "signal",
  "collect",
  "readFile",
  "remove",
  "hello",
  "putFile",
  "start",
  "watch",
  "release",
];

/**
 * Lets things go wrong at random for a while, then lets all be well. Each seed takes only some of
 * the kinds of faults, so that some are met alone. Answers with what happened, for the message of a
 * failing test.
 */
export async function chaos(
  world: World,
  how: { readonly seed: number; readonly faults: readonly Fault[]; readonly steps: number },
): Promise<string[]> {
  const random = seededRandom(how.seed);
  const faults = how.faults.filter((fault) => fault === "commit" || random.next() < 0.5);
  const story: string[] = [`seed ${how.seed}: ${faults.join(" ")}`];
  let engine = await world.start();
  let commits = 0;
  for (let step = 0; step < how.steps; step++) {
    await world.clock.advance(Math.floor(random.next() ** 3 * 12_000));
    const fault = pick(faults, random);
    if (fault === undefined) continue;
    story.push(`${world.clock.monotonic()} ${fault}`);
    if (fault === "commit") {
      commits += 1;
      await world.source("code", `commit ${commits}`);
    } else {
      engine = await strike(fault, world, engine, random);
    }
  }
  await calm(world);
  if (engine.life.dead) await world.start();
  return story;
}

async function strike(
  fault: Exclude<Fault, "commit">,
  world: World,
  engine: LivingEngine,
  random: Random,
): Promise<LivingEngine> {
  const { platform, faults } = world;
  const runId = pick(await platform.list(world.call()), random);
  const error = () => new RunnerError("Unavailable", "The connection broke");
  const onRun = (act: (id: string) => void) => {
    if (runId !== undefined) act(runId);
  };
  const acts: Record<Exclude<Fault, "kill-engine" | "commit">, () => void> = {
    "kill-runner": () => onRun((id) => platform.killRunner(id)),
    freeze: () => onRun((id) => platform.freeze(id)),
    thaw: () => onRun((id) => platform.thaw(id)),
    "cut-off": () => onRun((id) => platform.cutOff(id)),
    reconnect: () => onRun((id) => platform.reconnect(id)),
    "store-away": () => {
      faults.unavailable = true;
      faults.breakWatches("Unavailable");
    },
    "store-back": () => {
      faults.unavailable = false;
    },
    "break-watches": () => faults.breakWatches("Unavailable"),
    "expire-watches": () => faults.breakWatches("Expired"),
    "fail-call": () => platform.failNext(pick(METHODS, random) ?? "inspect", error()),
    "lose-answer": () => platform.loseNextAnswer(pick(METHODS, random) ?? "inspect"),
    lag: () => world.clock.setLag(random.next() < 0.5 ? 0 : 9_000),
    "kill-tofu": () => onRun((id) => platform.killWorkers(id)),
    reboot: () => platform.reboot(),
  };
  if (fault !== "kill-engine") {
    acts[fault]();
    return engine;
  }
  if (!engine.life.dead) engine.life.kill();
  await world.clock.advance(Math.floor(random.next() * 5_000));
  return await world.start();
}

/** Everything that still goes wrong ends; what has happened stays. */
async function calm(world: World): Promise<void> {
  world.faults.unavailable = false;
  world.clock.setLag(0);
  for (const runId of await world.platform.list(world.call())) {
    world.platform.thaw(runId);
    world.platform.reconnect(runId);
  }
}

function pick<T>(from: readonly T[], random: Random): T | undefined {
  return from[Math.floor(random.next() * from.length)];
}
