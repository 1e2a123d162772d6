import { type ConditionWords, type LogWords, type PodFacts, Scene } from "../../evidence/scene.ts";
import type { Random } from "../../ports/clock.ts";
import { type Dump, dumpOf } from "./dump.ts";
import type { Thinning } from "./thin.ts";

/**
 * What a doctor may say of something that is true: `recognized`; `either`, where what it needs was
 * taken out: recognized or inconclusive; `open`: nothing that is left tells; `gone`: it is not
 * true any more.
 */
export type Outcome = "recognized" | "either" | "open" | "gone";

/** One true thing about a world. */
export interface Truth {
  readonly id: string;
  /** `Kind/namespace/name`, or `Kind/name`. */
  readonly object: string;
  /** `recognized` where a thinning has no row. */
  readonly under: Partial<Record<Thinning, Outcome>>;
}

/** The day of all worlds: times in them are fixed, so that a seed says everything. */
export const AS_OF_MS = Date.parse("2026-09-14T12:00:00Z");
export const CONTROLLER = "tofu-controller-5d9c7b-q2x8v";
export const SYSTEM = "flux-system";

/**
 * A cluster that is made up: healthy at first, then with whatever faults are put into it. It
 * keeps what is true of it, so that a verdict can be scored.
 */
export class World {
  readonly scene = new Scene(new Date(AS_OF_MS).toISOString());
  readonly random: Random;
  readonly truths: Truth[] = [];
  /** What may be said or not: nobody would call either wrong. */
  readonly unscored: Pick<Truth, "id" | "object">[] = [];
  /** Passes that run now: since when. For the controller's own numbers. */
  readonly running: number[] = [];
  /** Keys that wait for a worker though every one is held; undefined: some are free. */
  #starved: number | undefined;
  /** How long ago the controller's pod was told to stop, in seconds. */
  #toldToStop: number | undefined;
  /** How long the controller's process has run, in seconds. */
  controllerAge = 40 * 3_600;
  readonly #lines: { readonly atMs: number; readonly words: LogWords }[] = [];
  readonly #names = new Set<string>();
  readonly #runners = new Map<string, number>();
  #nodes = 0;

  constructor(random: Random) {
    this.random = random;
  }

  /** RFC 3339 of so many seconds ago; the API server writes whole seconds. */
  ago(seconds: number): string {
    return new Date(AS_OF_MS - Math.round(seconds) * 1_000).toISOString().replace(".000Z", "Z");
  }

  between(least: number, most: number): number {
    return Math.floor(least + this.random.next() * (most - least + 1));
  }

  pick<T>(list: readonly T[]): T {
    return list[this.between(0, list.length - 1)] as T;
  }

  chance(share: number): boolean {
    return this.random.next() < share;
  }

  /** `namespace/name` of an object that is not there yet. */
  key(namespace = this.pick(NAMESPACES)): string {
    for (;;) {
      const name = `${this.pick(WORDS)}-${this.pick(WORDS)}-${this.between(0, 9_999)}`;
      if (this.#names.has(name)) continue;
      this.#names.add(name);
      return `${namespace}/${name}`;
    }
  }

  expect(id: string, object: string, under: Truth["under"] = {}): void {
    this.truths.push({ id, object, under });
  }

  /** A node that is Ready unless something else is said. */
  node(facts: { readonly ready?: boolean; readonly since?: string } = {}): string {
    this.#nodes += 1;
    const name = `node-${this.#nodes}`;
    this.scene.node(name, { since: this.ago(90 * 3_600), ...facts });
    return name;
  }

  /** A Terraform object; `ready` as in a scene, times by `ago`. */
  object(
    key: string,
    ready: ConditionWords,
    more: { readonly spec?: object; readonly status?: object; readonly metadata?: object } = {},
  ): void {
    this.scene.terraform(key, {
      ready,
      ...(ready[0] === "Unknown"
        ? { conditions: { Reconciling: ["True", "Fulfilling prerequisites", ready[2]] } }
        : {}),
      spec: { sourceRef: { kind: "GitRepository", name: "code", namespace: SYSTEM }, ...more.spec },
      status: {
        lastAttemptedRevision: REVISION,
        lastAppliedRevision: REVISION,
        lastPlannedRevision: REVISION,
        lastPlanAt: ready[2],
        lastSuccessfulReconcileAt: ready[0] === "True" ? ready[2] : this.ago(3 * 3_600),
        ...more.status,
      },
      ...(more.metadata === undefined ? {} : { metadata: more.metadata }),
    });
  }

  /** The runner of an object; counted, for the fleet's spread is a risk of its own. */
  runner(key: string, facts: PodFacts): void {
    const node = facts.node ?? "";
    if (node !== "") this.#runners.set(node, (this.#runners.get(node) ?? 0) + 1);
    this.scene.runner(key, facts);
  }

  /** A runner that an orderly shutdown of its node ended. */
  failedRunner(key: string, node: string, created: string, at: string): void {
    this.#runners.set(node, (this.#runners.get(node) ?? 0) + 1);
    this.scene.failedRunner(key, node, created, at);
  }

  /** A runner that a power loss started anew in place. */
  revivedRunner(key: string, node: string, created: string, back: string): void {
    this.#runners.set(node, (this.#runners.get(node) ?? 0) + 1);
    this.scene.revivedRunner(key, node, created, back);
  }

  /** A line of the controller's log, so many seconds ago. */
  line(seconds: number, key: string, message: string, error?: string): void {
    const at = this.ago(seconds);
    const words: LogWords = error === undefined ? [at, key, message] : [at, key, message, error];
    this.#lines.push({ atMs: Date.parse(at), words });
  }

  /** A pass runs since so many seconds ago. */
  runs(seconds: number): void {
    this.running.push(seconds);
  }

  /** What every world has: nodes 1 and 2, the source and its controller. */
  base(): void {
    this.node();
    this.node();
    this.scene.source(`${SYSTEM}/code`, REVISION, this.ago(9_000));
    this.scene.pod(`${SYSTEM}/source-controller-6f-kx2`, {
      ...{ container: "manager", node: "node-1", created: this.ago(90 * 3_600) },
      image: "ghcr.io/fluxcd/source-controller:v1.9.6",
      args: ["--storage-adv-addr=source-controller.flux-system.svc.cluster.local."],
    });
  }

  /** Every worker is held while so many keys wait. */
  exhaust(starved: number): void {
    this.#starved = (this.#starved ?? 0) + starved;
    const workersKnown = { "objects-and-metrics": "recognized" as const };
    this.expect("tofu/worker-pool-exhausted", `Pod/${SYSTEM}/${CONTROLLER}`, workersKnown);
  }

  /** The process that leads was told to stop so many seconds ago. */
  shutDown(seconds: number): void {
    this.#toldToStop = seconds;
    this.expect("tofu/leader-shutting-down", `Pod/${SYSTEM}/${CONTROLLER}`);
  }

  /** Writes the log and the numbers; the world is whole then. */
  finish(): Dump {
    const lines = this.#lines.toSorted((one, two) => one.atMs - two.atMs);
    const pod = { namespace: SYSTEM, name: CONTROLLER };
    this.scene.log(
      lines.map(({ words }) => words),
      pod,
    );
    const active = this.running.length;
    this.#controller();
    this.scene.workers(
      {
        active,
        maximum: this.#maximum,
        longest: Math.max(0, ...this.running),
        unfinished: this.running.reduce((sum, each) => sum + each, 0),
        depth: this.#starved === undefined ? 0 : this.#starved + active,
      },
      pod,
    );
    this.#spread();
    return dumpOf(this.scene);
  }

  get #maximum(): number {
    return this.#starved === undefined ? this.running.length + 6 : this.running.length;
  }

  #controller(): void {
    const started = this.ago(this.controllerAge);
    const told = this.#toldToStop;
    const restarts = this.controllerAge < 3_600 * 4 ? 1 : 0;
    this.scene.controller({
      ...{ name: CONTROLLER, namespace: SYSTEM, node: "node-1", concurrent: this.#maximum },
      ...{ created: this.ago(41 * 3_600), started, restarts },
      ...(told === undefined
        ? {}
        : {
            metadata: { deletionTimestamp: this.ago(told - 250), deletionGracePeriodSeconds: 250 },
          }),
    });
    if (told === undefined) return;
    const name = "tofu-controller-7f8d6c-new01";
    const since = this.ago(told - 5);
    const more = { node: "node-2", started: since, created: since, leads: false };
    this.scene.controller({ name, namespace: SYSTEM, ...more });
  }

  /** A fleet on one node is a risk; how nearly all of it must be there is a matter of taste. */
  #spread(): void {
    const all = [...this.#runners.values()].reduce((sum, each) => sum + each, 0);
    for (const [node, own] of this.#runners) {
      const id = "tofu/runners-on-one-node";
      const object = `Node/${node}`;
      if (own >= 4 && own === all) this.expect(id, object, { "failed-pods-gone": "open" });
      else this.unscored.push({ id, object });
    }
  }
}

export const REVISION = "main@sha1:3f1c9a";
const NAMESPACES = ["apps", "data", "edge", "payments", "platform"];
const WORDS = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet"];
