import type { Condition } from "../../src/api/meta.ts";
import type { Terraform, TerraformSpec } from "../../src/api/terraform.ts";
import type { EngineOptions } from "../../src/engine/ports.ts";
import type { StartOrder } from "../../src/ports/runner.ts";
import type { RunScript } from "../../src/testing/fakes/fake-run.ts";
import { terraformOf } from "../../src/testing/simulation/objects.ts";
import { World } from "../../src/testing/simulation/world.ts";

export const REVISION_1 = "master/b8e362c206e3d0cbb7ed22ced771a0056455a2fb";
export const REVISION_2 = "master/ed22ced771a0056455a2fbb8e362c206e3d0cbb7";
export const PLAN_1 = "plan-master-b8e362c206";
export const PLAN_2 = "plan-master-ed22ced771";

/** What `output -json` says of one output of the module "hello". */
export const HELLO = { hello_world: { value: "Hello, World!", type: "string" } };

export interface Given {
  readonly name?: string;
  readonly namespace?: string;
  readonly kind?: "GitRepository" | "OCIRepository" | "Bucket";
  readonly revision?: string;
  /** What the module answers as `output -json`. */
  readonly outputs?: Readonly<Record<string, { value: unknown; type: unknown }>>;
  readonly script?: (order: StartOrder) => RunScript;
  readonly engine?: Partial<EngineOptions>;
}

/**
 * One of upstream's cases: the real engine and decisions, with runs that are played. What the runs
 * were told is in `orders`.
 */
export class Case {
  readonly world: World;
  readonly orders: StartOrder[] = [];
  readonly #given: Given;

  constructor(given: Given = {}) {
    this.#given = given;
    this.world = new World({
      engine: given.engine ?? {},
      script: (order) => {
        this.orders.push(order);
        return { ...this.#outputs(), ...given.script?.(order) };
      },
    });
  }

  /** Stores source and object, and starts an engine. */
  static async begin(spec: Partial<TerraformSpec>, given: Given = {}): Promise<Case> {
    const made = new Case(given);
    await made.source(given.revision ?? REVISION_1);
    await made.apply(spec);
    await made.world.start();
    return made;
  }

  get name(): string {
    return this.#given.name ?? "app";
  }

  async apply(spec: Partial<TerraformSpec>): Promise<void> {
    const { kind = "GitRepository" } = this.#given;
    const object = terraformOf({ sourceRef: { kind, name: "code" }, ...spec }, this.name);
    await this.world.apply(object);
  }

  /** The source is at this revision now; its content follows the revision. */
  async source(revision: string): Promise<void> {
    const { world } = this;
    const { kind = "GitRepository" } = this.#given;
    await world.source("made", revision);
    const made = await world.get("GitRepository", "made");
    const artifact = { ...made?.status?.artifact, revision };
    const stored = await world.apply({
      apiVersion: "source.toolkit.fluxcd.io/v1",
      kind,
      metadata: { name: "code", namespace: "default" },
      spec: { url: "file:///repository", interval: "1m" },
    } as never);
    const status = { observedGeneration: 1, artifact };
    await world.store.update({ ...(stored as object), status } as never, "status", world.call());
  }

  async edit(spec: Partial<TerraformSpec>): Promise<void> {
    await this.world.edit(this.name, (object) => Object.assign(object.spec, spec));
  }

  async object(): Promise<Terraform> {
    return await this.world.terraform(this.name);
  }
  async status(): Promise<NonNullable<Terraform["status"]>> {
    return (await this.object()).status ?? {};
  }
  async condition(type: string): Promise<Condition | undefined> {
    return (await this.status()).conditions?.find((each) => each.type === type);
  }
  /** Conditions as "Type status reason: message", in their order. */
  async conditions(): Promise<string[]> {
    return ((await this.status()).conditions ?? []).map(
      (each) => `${each.type} ${each.status} ${each.reason}: ${each.message}`,
    );
  }

  async untilReady(): Promise<Terraform> {
    return await this.world.untilReady(this.name);
  }
  /** Until Ready has this reason and nothing is under way. */
  async untilReason(reason: string): Promise<Condition> {
    let found: Condition | undefined;
    await this.world.until(`Ready is ${reason}`, async () => {
      found = await this.condition("Ready");
      return found?.reason === reason && (await this.status()).run === undefined;
    });
    if (found === undefined) throw new Error("There is no Ready");
    return found;
  }
  async untilPending(planId: string): Promise<void> {
    await this.world.until(`${planId} waits`, async () => {
      const { plan, run } = await this.status();
      return plan?.pending === planId && run === undefined;
    });
  }
  /** Until this plan is the one applied last. */
  async untilApplied(planId: string): Promise<void> {
    await this.world.until(`${planId} is applied`, async () => {
      const { plan, run } = await this.status();
      return plan?.lastApplied === planId && run === undefined;
    });
  }

  /** Data of a Secret, decoded; undefined if there is none. */
  async secret(name: string): Promise<Record<string, string> | undefined> {
    const secret = await this.world.get("Secret", name);
    if (secret === undefined) return undefined;
    return Object.fromEntries(
      Object.entries(secret.data ?? {}).map(([key, value]) => [
        key,
        Buffer.from(value, "base64").toString(),
      ]),
    );
  }

  /** The variables of the last order. */
  variables(): unknown {
    return JSON.parse(this.orders.at(-1)?.variables ?? "null");
  }

  #outputs(): RunScript {
    const outputs = this.#given.outputs ?? HELLO;
    return {
      outputs: Object.keys(outputs).map((name) => ({ name, sensitive: false })),
      files: { "outputs.json": JSON.stringify(outputs) },
    };
  }
}
