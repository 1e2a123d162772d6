import { Life } from "../fakes/mortal.ts";
import type { LivingEngine, World } from "./world.ts";

const STORE_WRITE = /^store\.(create|update|delete)$/;

/** The engines of one world, one after the other: killed, stopped, replaced, started again. */
export class Engines {
  readonly #world: World;
  readonly #mayPause: boolean;
  /** When the one that leads was started or let go on, on the clock that never jumps. */
  healthySinceMs = 0;
  /** Told of every call that an engine makes. */
  onCall: Life["onCall"] = () => {};
  #current: LivingEngine | undefined;
  readonly #former: Life[] = [];

  /** `mayPause`: one of them is going to be stopped, which costs some time to prepare for. */
  constructor(world: World, mayPause: boolean) {
    this.#world = world;
    this.#mayPause = mayPause;
  }

  /** The engine that is at work; undefined: none is. */
  get working(): LivingEngine | undefined {
    const current = this.#current;
    return current === undefined || current.life.dead || current.life.paused ? undefined : current;
  }

  /** Whether the one at work has been at work since then. */
  workedSince(ms: number): boolean {
    return this.working !== undefined && this.healthySinceMs <= ms;
  }

  start(): void {
    if (this.#current !== undefined && !this.#current.life.dead) return;
    const life = new Life();
    life.mayPause = this.#mayPause;
    life.onCall = (call, side) => {
      if (life.deposed && side === "before" && STORE_WRITE.test(call)) {
        this.#world.onLateWrite(call);
      }
      this.onCall(call, side);
    };
    this.healthySinceMs = this.#world.clock.monotonic();
    this.#current = this.#world.begin({ life });
  }

  kill(): void {
    this.#current?.life.kill();
  }

  /** SIGSTOP. */
  pause(): void {
    this.#current?.life.pause();
  }

  resume(): void {
    if (this.#current?.life.paused !== true) return;
    this.#current.life.resume();
    this.healthySinceMs = this.#world.clock.monotonic();
  }

  /** The one that leads is stopped, and another leads; the first does not know of it yet. */
  replace(): void {
    const life = this.#current?.life;
    life?.pause();
    this.#current = undefined;
    this.start();
    if (life !== undefined) this.#former.push(life);
  }

  /** Another leads; the first goes on until it hears of it. */
  outlive(): void {
    if (this.#current?.life.dead !== false) return;
    this.#current = undefined;
    this.start();
  }

  /** Engines that were replaced wake up. */
  wakeFormer(): void {
    for (const life of this.#former.splice(0)) life.resume();
  }
}
