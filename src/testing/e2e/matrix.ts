import { join } from "node:path";
import { RUN_LABEL } from "../../api/cluster-names.ts";
import { ACCEPT } from "../../api/names.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { pause, until } from "../cluster/commands.ts";
import { Controllers } from "./controllers.ts";
import { cordoned } from "./cordon.ts";
import { Effects } from "./effects.ts";
import { Estate, isReady } from "./estate.ts";
import {
  type Strike,
  type StrikeName,
  type StrikeStage,
  strikeStages,
  strikes,
} from "./strikes.ts";

/** From the end of the fault until all is done, with two pods for most objects. */
const RECOVERED_MS = 90_000;
const LEFT_MS = 30_000;
/** What a fault before has left undone takes no place from the next. */
const FLAGS = ["--concurrent=12"];
const CLOSING_MS = 2_000;

export interface CellResult {
  readonly fault: StrikeName;
  readonly stage: StrikeStage;
  /** Undefined: it came as it had to. */
  readonly failure: string | undefined;
  /** From the end of the fault until the object was Ready, in milliseconds. */
  readonly recoveredMs: number | undefined;
  /** A person had to let it go on. */
  readonly asked: boolean;
}

/** The world of all faults, which strike one after the other. */
export class Matrix {
  readonly #cluster: Cluster;
  readonly #effects: Effects;
  readonly #estate: Estate;
  readonly #controllers: Controllers;
  #leader = 1;

  private constructor(cluster: Cluster, parts: [Effects, Estate, Controllers]) {
    this.#cluster = cluster;
    [this.#effects, this.#estate, this.#controllers] = parts;
  }

  static async open(
    cluster: Cluster,
    folder: string,
    faults: readonly StrikeName[],
  ): Promise<Matrix> {
    const effects = await Effects.listen(cluster.plan.host);
    const controllers = await Controllers.prepare(cluster, join(folder, "controllers"), FLAGS);
    const estate = await Estate.open(cluster, "faults", effects);
    await controllers.untilLeads(controllers.start());
    const names = faults.flatMap((fault) => strikeStages.map((stage) => nameOf(fault, stage)));
    await estate.publish(names);
    return new Matrix(cluster, [effects, estate, controllers]);
  }

  /** Strikes three objects at once, in init, in plan and in apply. Never fails. */
  async run(fault: StrikeName): Promise<CellResult[]> {
    const strike: Strike = strikes[fault];
    try {
      await this.#hold(fault);
      const pods = await this.#podsOf(fault);
      const struck = { cluster: this.#cluster, estate: this.#estate, pods };
      const more = { controllers: this.#controllers, leader: this.#leader };
      this.#leader = await strike.strike({ ...struck, ...more });
    } catch (error) {
      this.#open(fault);
      const failure = `It could not be struck: ${messageOf(error)}`;
      return strikeStages.map((stage) => ({ ...unstruck, fault, stage, failure }));
    }
    const healedMs = performance.now();
    // The end of a connection whose process was killed is heard a moment later.
    await pause(CLOSING_MS);
    this.#open(fault);
    const results = await Promise.all(
      strikeStages.map((stage) => this.#judge(fault, stage, healedMs)),
    );
    const left = await this.#left(fault);
    if (left === undefined) return results;
    return results.map((each) => ({ ...each, failure: each.failure ?? left }));
  }

  async close(): Promise<void> {
    this.#effects.openAll();
    await this.#controllers.stopAll();
    await this.#estate.close();
    await this.#effects.close();
  }

  #open(fault: StrikeName): void {
    for (const stage of strikeStages) this.#effects.open(stage, nameOf(fault, stage));
  }

  /** Each is held in its stage, by a runner on node b. */
  async #hold(fault: StrikeName): Promise<void> {
    await cordoned(this.#cluster, "a", async () => {
      for (const stage of strikeStages) {
        this.#effects.hold(stage, nameOf(fault, stage));
        await this.#estate.create(nameOf(fault, stage));
      }
      for (const stage of strikeStages) await this.#effects.untilHeld(stage, nameOf(fault, stage));
    });
  }

  async #podsOf(fault: StrikeName): Promise<string[]> {
    const runs = strikeStages.map(
      (stage) => this.#estate.object(nameOf(fault, stage)).status?.run?.id,
    );
    const pods = await this.#estate.pods();
    const found = pods.filter(({ metadata }) => runs.includes(metadata.labels[RUN_LABEL]));
    if (found.length !== strikeStages.length) throw new Error(`${found.length} runners are there`);
    return found.map(({ metadata }) => metadata.name);
  }

  async #judge(fault: StrikeName, stage: StrikeStage, healedMs: number): Promise<CellResult> {
    const name = nameOf(fault, stage);
    let asked = false;
    try {
      const { object, atMs } = await this.#estate.when(
        name,
        "Ready, or a person is asked",
        (each) => isReady(each) || isAsking(each),
        RECOVERED_MS,
      );
      let readyMs = atMs;
      if (isAsking(object)) {
        asked = true;
        await this.#estate.annotate(name, ACCEPT, object.status?.plan?.pending ?? "");
        readyMs = (await this.#estate.whenReady(name, RECOVERED_MS)).atMs;
      }
      const failure = this.#wrong(fault, stage, asked);
      return { fault, stage, failure, recoveredMs: Math.round(readyMs - healedMs), asked };
    } catch (error) {
      return { fault, stage, failure: messageOf(error), recoveredMs: undefined, asked };
    }
  }

  /** What was done to the world: once to its end, and begun twice only if it was cut off. */
  #wrong(fault: StrikeName, stage: StrikeStage, asked: boolean): string | undefined {
    const name = nameOf(fault, stage);
    const { harm }: Strike = strikes[fault];
    const done = this.#effects.done(name);
    const begun = this.#effects.begun(name);
    const mayBegin = stage === "apply" && harm !== "none" ? 2 : 1;
    if (asked && !(harm === "asks" && stage === "apply")) return "A person was asked without need";
    if (done !== 1) return `The effect was had ${done} times (begun ${begun} times)`;
    return begun > mayBegin ? `The effect was begun ${begun} times` : undefined;
  }

  /** What is left behind, or not whole; undefined: nothing. */
  async #left(fault: StrikeName): Promise<string | undefined> {
    let left: string[] = [];
    try {
      await until("nothing to be left behind", LEFT_MS, async () => {
        const found = await this.#estate.leftovers();
        left = found.filter((each) => each.includes(fault));
        return left.length === 0 ? true : undefined;
      });
      const taken = await this.#controllers.metric(this.#leader, "nigari_run_slots_taken");
      const health = await this.#controllers.ask(this.#leader, "/healthz");
      if (taken !== 0) return `${taken} slots are taken, and nothing runs`;
      return health.startsWith("200") ? undefined : `The controller is not well: ${health}`;
    } catch (error) {
      return `${messageOf(error)}: ${left.join(", ")}`;
    }
  }
}

const unstruck = { recoveredMs: undefined, asked: false };

function nameOf(fault: StrikeName, stage: StrikeStage): string {
  return `${fault}-${stage}`;
}

function isAsking({ status }: Parameters<typeof isReady>[0]): boolean {
  return (status?.conditions ?? []).some(
    ({ type, status: is, reason }) =>
      type === "Stalled" && is === "True" && reason === "RunResultUnknown",
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
