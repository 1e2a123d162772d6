import type { RunStatus, Terraform } from "../../api/terraform.ts";
import { seededRandom } from "../fakes/clock.ts";
import type { FakeRun } from "../fakes/fake-run.ts";
import { Engines } from "./engines.ts";
import { type Cell, type FaultName, faults, Knobs } from "./faults.ts";
import { hasRun, launchOf, type Moment, momentOf } from "./moments.ts";
import { secretOf, terraformOf } from "./objects.ts";
import { hasConverged, type Violation, Watch } from "./oracles.ts";
import { People } from "./people.ts";
import { INPUT, mendedMs, type Scenario, SOURCE, type Strike } from "./scenario.ts";
import { World } from "./world.ts";

/** One world lived through: what struck, which oracle spoke, and how it ended. */
export interface Lived {
  readonly violations: readonly Violation[];
  /** Cells that really struck. */
  readonly struck: readonly Cell[];
  /** What happened, a line each. */
  readonly story: readonly string[];
  readonly end: string;
  readonly virtualMs: number;
  /** Writes of the first engine, by which the moments of a crash are counted. */
  readonly writes: number;
  /** The write at which the engine died, if that was planned and came to be. */
  readonly crashedAt: string | undefined;
}

/** Calls that change the world. Between two of them a crash makes no difference. */
const WRITES = new RegExp(
  [
    "^(store\\.(create|update|delete)|platform\\.(launch|signal|remove)",
    "|platform\\.connect\\.(putFile|start|cancel|release)",
    "|door\\.(access|revoke|release|rescue)|logs\\.append)$",
  ].join(""),
);
/** How long nobody starts another engine after a crash, in milliseconds. */
const DOWN_MS = 3_000;

/** How often people and oracles look, in milliseconds. */
const STEP_MS = 1_000;
/** Time for people's acts and for strikes to find their moment, beyond the acts themselves. */
const LIFE_MS = 120_000;
/** How often a run is caused for strikes that have not found their moment. */
const CHANCES = 6;
/** Everything has come to rest by then, if nothing is left that takes longer. */
const REST_MS = 240_000;
/** How long after its end a run is struck at the most, in milliseconds, while it is collected. */
const COLLECT_MS = 15_000;

export async function live(scenario: Scenario): Promise<Lived> {
  const life = new Simulation(scenario);
  await life.run();
  const lived = life.lived();
  await life.end();
  return lived;
}

class Simulation {
  readonly #scenario: Scenario;
  readonly #world: World;
  readonly #engines: Engines;
  readonly #watch: Watch;
  readonly #people: People;
  readonly #knobs = new Knobs();
  readonly #story: string[] = [];
  readonly #struck: Cell[] = [];
  readonly #waiting: Strike[];
  /** Strikes whose moment has come, and that wait for their time in it. */
  #aimed = 0;
  /** How faults that go on are ended. */
  readonly #ends = new Map<Strike, () => void>();
  /** Objects that are to go. */
  readonly #leaving = new Set<string>();
  /** Every intent that was stored, by its id. */
  readonly #intents = new Map<string, RunStatus>();
  /** Of this world alone: who sleeps on it when the world ends is forgotten with it. */
  readonly #never = new AbortController().signal;
  #calm = false;
  #writes = 0;
  #crashedAt: string | undefined;
  #read: readonly Terraform[] = [];
  #readAt = -1;
  #end = "";

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
    const world: World = new World({
      seed: scenario.seed,
      engine: { maxRuns: scenario.maxRuns },
      script: ({ artifactDigest }) => ({
        resources: world.contents(artifactDigest).split(" "),
        stageMs: scenario.stageMs,
        outputs: [{ name: "address", sensitive: false }],
        files: { "outputs.json": OUTPUTS, "plan.txt": "The plan, for people" },
      }),
    });
    this.#world = world;
    world.platform.launchMs = scenario.launchMs;
    const mayPause = scenario.strikes.some(({ fault }) => fault.startsWith("engine-"));
    this.#engines = new Engines(world, mayPause);
    this.#watch = new Watch(world, this.#engines);
    this.#people = new People(world, (line) => this.#tell(line));
    this.#waiting = [...scenario.strikes];
    this.#turnKnobs();
    this.#engines.onCall = (call, side) => this.#called(call, side);
    world.platform.world.onStage = (run, stage) => {
      if (stage === "apply") this.#watch.applies(run);
      if (stage === "artifact") this.#watch.ordered(run, this.#intents.get(run.launch.runId));
      if (stage === "collect") this.#watch.ended(run);
      this.#tell(`${run.launch.name}: run ${run.launch.runId} is in ${momentOf(run)}`);
      this.#met(momentOf(run), run.launch.name, run);
    };
    world.onDeadline = (what, ms) => this.#watch.waits(what, ms);
    world.onLateWrite = (call) => this.#watch.wroteLate(call);
    world.door.onRelease = (lockId) => this.#watch.released(lockId);
    const stored = world.onStatus;
    world.onStatus = (after, before) => {
      stored(after, before);
      this.#stored(after, before);
    };
  }

  async end(): Promise<void> {
    await this.#world.end();
  }

  lived(): Lived {
    return {
      violations: [...this.#watch.violations],
      struck: this.#struck,
      story: this.#story,
      end: this.#end,
      virtualMs: this.#world.clock.monotonic(),
      writes: this.#writes,
      crashedAt: this.#crashedAt,
    };
  }

  async run(): Promise<void> {
    const { objects, acts } = this.#scenario;
    await this.#world.apply(secretOf(INPUT, { word: "word" }));
    await this.#world.source(SOURCE, "base one two");
    this.#engines.start();
    for (const { name, spec } of objects) await this.#world.apply(terraformOf(spec, name));
    for (const act of acts) {
      await this.#pass(act.afterMs);
      if (act.do === "delete") {
        if (this.#leaving.size === 0) await this.#settled(REST_MS, false);
        this.#leaving.add(act.name);
      }
      await this.#people.act(act);
      if (act.do === "request") await this.#noteRequest(act.name);
    }
    await this.#letStrike();
    this.#beCalm();
    const limitMs = REST_MS + mendedMs(this.#scenario);
    if (!(await this.#settled(limitMs, true))) return;
    if (!(await this.#confirm())) return;
    await this.#pass(10_000);
    await this.#lookAtEnd();
  }

  /** Faults that have not found their moment get chances, for a while. */
  async #letStrike(): Promise<void> {
    const endMs = this.#world.clock.monotonic() + LIFE_MS;
    let asked = 0;
    const left = () => this.#waiting.length + this.#aimed > 0;
    while (left() && this.#world.clock.monotonic() < endMs) {
      await this.#pass(STEP_MS);
      const objects = await this.#objects();
      const idle = objects.every(({ status }) => status?.run === undefined);
      const first = objects.find(({ metadata }) => metadata.deletionTimestamp === undefined);
      if (objects.length === 0) return;
      if (!idle || first === undefined || asked >= CHANCES || (await this.#isResting()) === false)
        continue;
      asked += 1;
      const forApply = this.#waiting.some(({ moment }) => moment.startsWith("apply"));
      if (forApply && asked % 2 === 1) {
        await this.#people.act({ do: "commit", name: first.metadata.name, afterMs: 0 });
      } else {
        await this.#people.act({ do: "request", name: first.metadata.name, afterMs: 0 });
        await this.#noteRequest(first.metadata.name);
      }
    }
    // What comes due by a clock that jumped is noticed without any other cause.
    if (this.#struck.some(({ fault }) => faults[fault].onlyTime === true)) await this.#pass(70_000);
    // The last fault may go on a little, unseen by an early calm.
    if (this.#ends.size > 0) await this.#pass(15_000);
  }

  async #noteRequest(name: string): Promise<void> {
    const object = await this.#world.get("Terraform", name);
    const value = object?.metadata.annotations?.["reconcile.fluxcd.io/requestedAt"];
    if (value !== undefined) this.#watch.requested(name, value);
  }

  /** Lets time pass; people and oracles look on. */
  async #pass(ms: number): Promise<void> {
    const { clock } = this.#world;
    const endMs = clock.monotonic() + ms;
    while (clock.monotonic() < endMs) {
      await clock.advance(Math.min(STEP_MS, endMs - clock.monotonic()));
      const objects = await this.#objects();
      for (const object of objects) {
        await this.#people.answer(object);
        if (object.status?.run === undefined) this.#met("rest", object.metadata.name, undefined);
      }
      this.#watch.look(objects);
    }
  }

  /** All objects; read again only if something was written since. */
  async #objects(): Promise<readonly Terraform[]> {
    const { writes } = this.#world;
    if (writes !== this.#readAt) {
      const { items } = await this.#world.store.list("Terraform", {}, this.#world.call());
      this.#read = items;
      this.#readAt = writes;
    }
    return this.#read;
  }

  /** Lets time pass until all has come to where it should; false if it does not. */
  async #settled(limitMs: number, isEnd: boolean): Promise<boolean> {
    const endMs = this.#world.clock.monotonic() + limitMs;
    while (!(await this.#isResting())) {
      if (this.#world.clock.monotonic() >= endMs) {
        if (isEnd) await this.#unsettled(limitMs);
        return false;
      }
      await this.#pass(STEP_MS);
    }
    return true;
  }

  async #isResting(): Promise<boolean> {
    const revision = (await this.#world.get("GitRepository", SOURCE))?.status?.artifact?.revision;
    const objects = await this.#objects();
    return objects.every(
      (each) => !this.#leaving.has(each.metadata.name) && hasConverged(each, revision),
    );
  }

  async #unsettled(limitMs: number): Promise<void> {
    const revision = (await this.#world.get("GitRepository", SOURCE))?.status?.artifact?.revision;
    const late = (await this.#objects()).find((each) => !hasConverged(each, revision));
    const { run, nextDueAt, conditions = [] } = late?.status ?? {};
    const texts = conditions.map(({ type, status, message }) => `${type}=${status} (${message})`);
    this.#watch.say(
      "converges",
      `${late?.metadata.name} is not there ${limitMs / 1_000} s after the last fault: ` +
        `${texts.join("; ")}; run ${run?.id ?? "none"} ${run?.stage ?? ""}; next ${nextDueAt}`,
    );
  }

  /** One more commit, and then a person asks for a last look, so that all worlds end alike. */
  async #confirm(): Promise<boolean> {
    await this.#world.source(SOURCE, "base last");
    if (!(await this.#settled(REST_MS, true))) return false;
    for (const { metadata } of await this.#objects()) {
      await this.#people.request(metadata.name, "last");
      this.#watch.requested(metadata.name, "last");
    }
    return await this.#settled(REST_MS, true);
  }

  async #lookAtEnd(): Promise<void> {
    const objects = await this.#objects();
    const { recorded } = this.#world.platform.world;
    const secrets = (await this.#world.store.list("Secret", {}, this.#world.call())).items;
    const ends = objects.map(({ metadata: { name }, status }) => ({
      name,
      conditions: (status?.conditions ?? [])
        .map(({ type, status: value, reason }) => `${type}=${value} ${reason}`)
        .sort(),
      applied: status?.lastAppliedRevision,
      pending: status?.plan?.pending,
      held: status?.held,
    }));
    const states = this.#scenario.objects.flatMap(({ name, spec }) => {
      const isLeft = this.#leaving.has(name) && spec.destroyResourcesOnDeletion !== true;
      // What was left as it was is as it was.
      return isLeft ? [] : [[name, [...(recorded.get(`default/${name}`) ?? [])].sort()]];
    });
    this.#end = JSON.stringify({
      objects: ends,
      states,
      secrets: secrets.map(({ metadata }) => metadata.name).sort(),
    });
    const left = (await this.#world.platform.list(this.#world.call())).filter(
      (id) => !objects.some(({ status }) => status?.run?.id === id),
    );
    if (left.length > 0 && !(await this.#clears(left))) {
      this.#watch.say("nothing-left", `${left.join(", ")} is kept, and no object names it`);
    }
  }

  /** The sweep of runs comes within ten minutes. */
  async #clears(left: readonly string[]): Promise<boolean> {
    for (let minutes = 0; minutes < 12; minutes++) {
      await this.#world.clock.advance(60_000);
      const kept = await this.#world.platform.list(this.#world.call());
      if (!left.some((id) => kept.includes(id))) return true;
    }
    return false;
  }

  #tell(line: string): void {
    const seconds = (this.#world.clock.monotonic() / 1_000).toFixed(1).padStart(7);
    this.#story.push(`${seconds}s  ${line}`);
  }

  #stored(after: Terraform, before: Terraform | undefined): void {
    const { name } = after.metadata;
    const ready = after.status?.conditions?.find(({ type }) => type === "Ready");
    const old = before?.status?.conditions?.find(({ type }) => type === "Ready");
    if (ready !== undefined && (ready.message !== old?.message || ready.status !== old.status)) {
      const { status, reason, message } = ready;
      this.#tell(`${name}: Ready ${status} ${reason}: ${message}`);
    }
    const { run } = after.status ?? {};
    if (run !== undefined && !this.#intents.has(run.id)) this.#intents.set(run.id, run);
    const moment = launchOf(after);
    if (moment === undefined || before?.status?.run?.id === after.status?.run?.id) return;
    this.#tell(`${name}: intends run ${after.status?.run?.id}, ${moment}`);
    this.#met(moment, name, undefined);
  }

  /** An engine has called: counted, and perhaps its last call. */
  #called(call: string, side: "before" | "after"): void {
    const { crash } = this.#scenario;
    if (!WRITES.test(call) || (crash !== undefined && side !== crash.side)) return;
    if (crash !== undefined || side === "before") this.#writes += 1;
    if (crash?.write !== this.#writes || this.#crashedAt !== undefined) return;
    this.#crashedAt = call;
    this.#tell(`STRIKES engine-killed ${side} write ${crash.write}, ${call}`);
    this.#watch.troubleMs = this.#world.clock.monotonic();
    this.#engines.kill();
    this.#world.clock.sleep(DOWN_MS, this.#never).then(
      () => this.#engines.start(),
      () => {},
    );
  }

  /** A moment has come: strikes that wait for it are begun. */
  #met(moment: Moment, name: string, run: FakeRun | undefined): void {
    if (this.#calm) return;
    for (const strike of this.#waiting.filter((each) => each.moment === moment)) {
      this.#waiting.splice(this.#waiting.indexOf(strike), 1);
      this.#strikeIn(strike, name, run).catch((error: unknown) => {
        this.#watch.say("no-bug", `the simulation itself: ${String(error)}`);
      });
    }
  }

  /** At the time the strike names within its moment; it waits again if the moment has passed. */
  async #strikeIn(strike: Strike, name: string, begun: FakeRun | undefined): Promise<void> {
    const { fault, moment, when } = strike;
    const needed = faults[fault].needs;
    // A runner is there a moment after its launch is intended.
    const leastMs = needed === "run" && moment.endsWith("/launch") ? 10 : 0;
    const delayMs = Math.max(leastMs, this.#delayMs(moment, when));
    this.#aimed += 1;
    if (delayMs > 0) await this.#world.clock.sleep(delayMs, this.#never);
    this.#aimed -= 1;
    const object = await this.#world.get("Terraform", name);
    const runId = begun?.launch.runId ?? object?.status?.run?.id ?? "";
    const run = this.#world.platform.find(runId);
    const there = isNow(moment, run, object?.status?.run !== undefined);
    const needs = faults[fault].needs;
    const mute = needs === "launch" && run === undefined;
    const lacks = needs !== undefined && run === undefined && !mute;
    if (this.#calm) return;
    if (!there || lacks || (needs === "tofu" && run?.workersAlive === 0)) {
      // The moment was over, or had not quite come: another time it strikes sooner.
      this.#waiting.push({ ...strike, when: when / 2 });
      return;
    }
    this.#struck.push({ fault, moment });
    this.#tell(`${name}: STRIKES ${fault} at ${moment}: ${faults[fault].why}`);
    await this.#strike(strike, name, run);
  }

  #delayMs(moment: Moment, when: number): number {
    const { stageMs, launchMs } = this.#scenario;
    // The outcome is heard at once; what a pass makes of it may take some time.
    if (moment.endsWith("/collect")) return when < 0.6 ? 0 : (when - 0.6) * COLLECT_MS;
    if (moment === "rest") return when * 10_000;
    if (moment.endsWith("/launch")) return when < 0.3 ? 0 : when * launchMs;
    const stage = moment === "destroy" ? "apply" : moment.split("/")[1];
    return when * (Object.entries(stageMs).find(([name]) => name === stage)?.[1] ?? 100);
  }

  async #strike(strike: Strike, name: string, run: FakeRun | undefined): Promise<void> {
    const { fault, lasts } = strike;
    const rules = faults[fault];
    const random = seededRandom(strike.seed);
    const chance = () => random.next();
    const { clock } = this.#world;
    const watch = this.#watch;
    if (rules.blinds) watch.blindMs = clock.monotonic();
    if (rules.onlyTime) watch.jumpedMs = clock.monotonic();
    else watch.troubleMs = clock.monotonic();
    const parts = { world: this.#world, engines: this.#engines, knobs: this.#knobs };
    const end = rules.strike({ ...parts, name, run, chance });
    if (end === undefined) return;
    watch.troubles += 1;
    this.#ends.set(strike, () => {
      this.#ends.delete(strike);
      watch.troubles -= 1;
      watch.troubleMs = clock.monotonic();
      if (rules.blinds) watch.blindMs = clock.monotonic();
      this.#tell(`ends ${fault}`);
      end();
    });
    if (rules.lastsMs === undefined) return;
    await clock.sleep(lasts * rules.lastsMs, this.#never);
    this.#ends.get(strike)?.();
  }

  /** Everything that still goes wrong ends; what has happened stays. */
  #beCalm(): void {
    this.#calm = true;
    this.#tell("nothing goes wrong any more");
    for (const end of [...this.#ends.values()]) end();
    this.#engines.resume();
    this.#engines.wakeFormer();
    this.#engines.start();
  }

  #turnKnobs(): void {
    const { store, events, platform, artifacts } = this.#knobs;
    const { faults: storeFaults } = this.#world;
    storeFaults.onCall = (call) => firstOf(store, (knob) => knob(call));
    storeFaults.onEvent = (event) => {
      const fates = [...events].map((knob) => knob(event));
      return fates.find((fate) => fate !== "deliver") ?? "deliver";
    };
    this.#world.platform.onCall = (method, runId) =>
      firstOf(platform, (knob) => knob(method, runId));
    this.#world.artifactFate = () => [...artifacts][0];
  }
}

const OUTPUTS = JSON.stringify({
  address: { sensitive: false, type: "string", value: "10.0.0.1" },
});

function firstOf<K, T>(knobs: Iterable<K>, ask: (knob: K) => T | undefined): T | undefined {
  for (const knob of knobs) {
    const found = ask(knob);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isNow(moment: Moment, run: FakeRun | undefined, named: boolean): boolean {
  if (!hasRun(moment)) return !named;
  if (moment.endsWith("/launch")) return named && (run === undefined || run.order === undefined);
  return run !== undefined && momentOf(run) === moment;
}

export type { FaultName };
