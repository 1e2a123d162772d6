import { execFile } from "node:child_process";
import { join } from "node:path";
import type { Cluster } from "../cluster/cluster.ts";
import { until } from "../cluster/commands.ts";
import type { Dials } from "../faults/dials.ts";
import { Controllers } from "./controllers.ts";
import { cordoned } from "./cordon.ts";
import { Effects } from "./effects.ts";
import { Estate, isReady, type Seen } from "./estate.ts";

/** As many runs at once as the controller of the incident is given here. */
const SLOTS = 4;
const CLI = join(import.meta.dirname, "../../../dist/cli.js");
const DOCTOR_MS = 90_000;

/**
 * Twelve objects for four slots. On node b: one run in init, one in plan, one in apply; on node a
 * one in apply. The others need no run, or wait for something.
 */
export const struck = ["in-init", "in-plan", "in-apply"] as const;
const healthy = ["well-1", "well-2", "well-3", "well-4", "paused"] as const;
const ASKS = "asks";
const NEXT = "next";
const ELSEWHERE = "on-a";
const DEPENDENT = "waits";
const everybody = [...healthy, ASKS, ...struck, ELSEWHERE, DEPENDENT, NEXT];

/** Lost without a word, or stopped in order and told so by its runner. */
const unreached = /RunnerUnreachable|RunnerLost|Stopped in /;

/** What every object has to say while node b is away, and nothing else. */
export const truths: Readonly<Record<string, RegExp>> = {
  ...Object.fromEntries(healthy.map((name) => [name, /^True TerraformAppliedSucceed/])),
  asks: /TerraformPlannedWithChanges/,
  "on-a": /^Unknown Progressing: Applying/,
  waits: /DependencyNotReady/,
};

/** The incident, set up and ready to strike. */
export class Incident {
  readonly cluster: Cluster;
  readonly effects: Effects;
  readonly estate: Estate;
  readonly controllers: Controllers;
  readonly #before = new Map<string, string>();

  private constructor(
    cluster: Cluster,
    parts: { effects: Effects; estate: Estate; controllers: Controllers },
  ) {
    this.cluster = cluster;
    this.effects = parts.effects;
    this.estate = parts.estate;
    this.controllers = parts.controllers;
  }

  /** `folder`: for the controller's files. `dials`: of a controller that is not ours. */
  static async open(
    cluster: Cluster,
    places: { readonly namespace: string; readonly folder: string; readonly dials?: Dials },
  ): Promise<Incident> {
    const { namespace, folder, dials } = places;
    const effects = await Effects.listen(cluster.plan.host);
    const flags = [`--concurrent=${SLOTS}`];
    const controllers = await Controllers.prepare(cluster, folder, flags);
    const estate = await Estate.open(cluster, namespace, effects);
    await controllers.untilLeads(controllers.start(dials));
    return new Incident(cluster, { effects, estate, controllers });
  }

  /** Everything is as it was when the node died. */
  async setUp(): Promise<void> {
    const { effects, estate } = this;
    await estate.publish(everybody);
    for (const name of healthy) await estate.create(name);
    await estate.create(ASKS, { approvePlan: "" });
    for (const name of healthy) await estate.whenReady(name);
    await this.says(ASKS, /TerraformPlannedWithChanges/);
    await estate.change("paused", (object) => ({
      ...object,
      spec: { ...object.spec, suspend: true },
    }));
    effects.hold("init", "in-init");
    effects.hold("plan", "in-plan");
    for (const name of ["in-apply", ELSEWHERE]) effects.hold("apply", name);
    await cordoned(this.cluster, "b", async () => {
      await estate.create(ELSEWHERE);
      await effects.untilHeld("apply", ELSEWHERE);
    });
    await cordoned(this.cluster, "a", async () => {
      for (const name of struck) await estate.create(name);
      await effects.untilHeld("init", "in-init");
      await effects.untilHeld("plan", "in-plan");
      await effects.untilHeld("apply", "in-apply");
    });
    await estate.create(DEPENDENT, { dependsOn: [{ name: "in-plan" }] });
    await estate.create(NEXT);
    await this.says(NEXT, /free slot/);
    await this.says(DEPENDENT, /DependencyNotReady/);
    for (const name of [...struck, ELSEWHERE]) {
      const { id } = estate.object(name).status?.run ?? {};
      if (id === undefined) throw new Error(`${name} has no run`);
      const node = await estate.nodeOf(id);
      const expected = name === ELSEWHERE ? "a" : "b";
      if (node !== expected) throw new Error(`The runner of ${name} is on node ${node}`);
      this.#before.set(name, id);
    }
  }

  /** The run that was struck, or might have been. */
  runBefore(name: string): string {
    return this.#before.get(name) ?? "";
  }

  /** When each struck object first said that its runner is lost, after this moment. */
  async known(limitMs: number): Promise<Map<string, Seen>> {
    const seen = await Promise.all(struck.map((name) => this.says(name, unreached, limitMs)));
    return new Map(seen.map((each) => [each.object.metadata.name, each]));
  }

  /** A new attempt of the object runs in this stage, on node a. */
  async runsAgain(name: "in-init" | "in-plan", limitMs: number): Promise<Seen> {
    const before = this.runBefore(name);
    const stage = name === "in-init" ? "init" : "plan";
    const seen = await this.estate.when(
      name,
      `a new attempt in ${stage}`,
      ({ status }) =>
        status?.run !== undefined && status.run.id !== before && status.run.stage === stage,
      limitMs,
    );
    const node = await this.estate.nodeOf(seen.object.status?.run?.id ?? "");
    if (node !== "a") throw new Error(`The new attempt of ${name} is on node ${node}`);
    return seen;
  }

  /** Everything that does not need node b has come to its end. */
  async othersDone(): Promise<void> {
    for (const name of ["in-init", "in-plan", NEXT, DEPENDENT]) {
      await this.estate.whenReady(name);
    }
  }

  async says(name: string, words: RegExp, limitMs?: number): Promise<Seen> {
    const what = `"${words.source}"`;
    return await this.estate.when(name, what, (object) => words.test(wordsOf(object)), limitMs);
  }

  /** Nothing is left of any run, no place is taken, and the controller is well. */
  async wholeAgain(): Promise<void> {
    const { controllers, estate } = this;
    let left: string[] = [];
    await until("nothing to be left behind", 30_000, async () => {
      left = await estate.leftovers();
      return left.length === 0 ? true : undefined;
    }).catch((error: Error) => {
      throw new Error(`${error.message}: ${left.join(", ")}`);
    });
    const number = 1;
    const taken = await controllers.metric(number, "nigari_run_slots_taken");
    if (taken !== 0) throw new Error(`${taken} slots are taken, and nothing runs`);
    const health = await controllers.ask(number, "/healthz");
    if (!health.startsWith("200")) throw new Error(`The controller is not well: ${health}`);
  }

  /** What `nigari doctor` says of the cluster as it is: ids of its findings, by severity. */
  async doctor(): Promise<{ readonly id: string; readonly severity: string }[]> {
    const args = [CLI, "doctor", "--kubeconfig", this.cluster.kubeconfig, "-o", "json"];
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const options = { encoding: "utf8", timeout: DOCTOR_MS, maxBuffer: 1 << 26 } as const;
    execFile(process.execPath, args, options, (_error, stdout, stderr) => {
      // It ends with another code than 0 if it has found something.
      if (stdout === "") reject(new Error(`The doctor said nothing: ${stderr}`));
      else resolve(stdout);
    });
    const { findings } = JSON.parse(await promise) as {
      readonly findings: { readonly id: string; readonly severity: string }[];
    };
    return findings.map(({ id, severity }) => ({ id, severity }));
  }

  /** Objects that were to do something to the world. */
  applied(): string[] {
    return everybody.filter((name) => name !== ASKS);
  }

  /** Who is not Ready, of all but these. */
  allReady(except: readonly string[] = []): string[] {
    const { estate } = this;
    const expected = everybody.filter((name) => !except.includes(name));
    return expected.filter((name) => !isReady(estate.object(name)));
  }

  async close(): Promise<void> {
    this.effects.openAll();
    await this.controllers.stopAll();
    await this.estate.close();
    await this.effects.close();
  }
}

/** Ready and Stalled, as "status reason: message", each in a line. */
export function wordsOf({ status }: Seen["object"]): string {
  const told = (status?.conditions ?? []).filter(({ type }) => /^(Ready|Stalled)$/.test(type));
  return told.map(({ status: is, reason, message }) => `${is} ${reason}: ${message}`).join("\n");
}
