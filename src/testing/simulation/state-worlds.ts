import { createHash } from "node:crypto";
import { judgeSecretRescue } from "../../domain/state-rules.ts";
import type { Random } from "../../ports/clock.ts";
import { type StateId, StateRefused, type StateVersion } from "../../ports/state.ts";
import { lockOf } from "../contracts/state-storage.ts";
import { seededRandom, VirtualClock } from "../fakes/clock.ts";
import { MemoryStates } from "../fakes/memory-states.ts";
import type { Violation } from "./oracles.ts";
import { pick } from "./scenario.ts";
import { StateTruth, type Text, textOf } from "./state-truth.ts";

const call = { signal: new AbortController().signal };
const HOME: StateId = { namespace: "default", name: "a", workspace: "default" };
const STEPS = 60;
/** Every so many worlds one is long, so that its history outgrows what is kept of it. */
const LONG_EVERY = 8;
const LONG_STEPS = 400;
const RUNS_MAX = 4;
/** How much of what happened is told with a violation. */
const STORY_LINES = 20;
/** Kept beside the current one and what is aside, as it is documented. */
const HISTORY_MAX = 50;

/** A run that works on the state, well or badly. */
interface Writer {
  readonly id: string;
  /** Locks it has taken, the last of which it believes to hold. */
  readonly locks: string[];
  /** What it has in memory, with all that it read and wrote. */
  mine: Text | undefined;
  /** What was current when it was given access. */
  readonly at: Text | undefined;
  /** Writes that are on their way. */
  readonly late: { readonly text: Text; readonly lockId: string | undefined }[];
}

/**
 * One state in one world: runs take its lock, write, die and write again from beyond, what they
 * left is collected, people push, accept and roll back, answers are lost and writes come late. What
 * the storage makes current or drops is held against what really happened.
 */
export async function liveStates(seed: number): Promise<Violation[]> {
  const world = new StateWorld(seededRandom(seed ^ 0x57a7e));
  const steps = seed % LONG_EVERY === 0 ? LONG_STEPS : STEPS;
  for (let step = 0; step < steps && world.violations.length === 0; step++) await world.step();
  return world.violations;
}

class StateWorld {
  readonly violations: Violation[] = [];
  readonly #random: Random;
  readonly #states = new MemoryStates(new VirtualClock());
  readonly #truth = new StateTruth();
  #writers: Writer[] = [];
  #count = 0;
  readonly #texts = new Map<string, string>();
  /** What was done, a line each. */
  readonly #story: string[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  async step(): Promise<void> {
    const writer = pick(this.#writers, this.#random);
    const acts = writer === undefined ? [this.#begin] : this.#acts(writer);
    try {
      await (pick(acts, this.#random) ?? this.#begin)();
    } catch (error) {
      // Refusals are in order; whether what was done is, is looked at below.
      if (!(error instanceof StateRefused)) this.#say(`fails with ${String(error)}`);
    }
    await this.#look();
  }

  #acts(writer: Writer): (() => Promise<void>)[] {
    const write = () => this.#write(writer);
    return [
      ...(this.#writers.length < RUNS_MAX ? [this.#begin] : []),
      ...[write, write, write, () => this.#lock(writer), () => this.#lock(writer)],
      () => this.#unlock(writer),
      () => this.#writeLate(writer),
      () => this.#arrive(writer),
      () => this.#arrive(writer),
      () => this.#writeWithoutLock(writer),
      () => this.#lose(writer),
      this.#push,
      this.#rollback,
      this.#settleAside,
    ];
  }

  readonly #begin = async (): Promise<void> => {
    const id = `run-${++this.#count}`;
    const at = this.#truth.current;
    this.#writers.push({ id, locks: [], mine: undefined, at, late: [] });
    // One in eight comes to nothing before it is given access.
    if (this.#random.next() < 0.125) return;
    await this.#states.grant(HOME, id, createHash("sha256").update(id).digest(), call);
    this.#truth.granted.add(id);
  };

  async #lock(writer: Writer): Promise<void> {
    if (this.#truth.lock?.runId === writer.id) return;
    const id = `lock-${++this.#count}`;
    const { taken } = await this.#states.takeLock(lockOf(writer.id, id, HOME), call);
    if (!taken) return;
    this.#tell(`${writer.id} takes ${id}`);
    writer.locks.push(id);
    this.#truth.lock = { id, runId: writer.id };
    this.#read(writer);
  }

  async #unlock(writer: Writer): Promise<void> {
    const id = writer.locks.at(-1);
    if (id === undefined) return;
    const { returned } = await this.#states.returnLock(HOME, writer.id, id, call);
    this.#tell(`${writer.id} returns ${id}: ${returned}`);
    if (returned && this.#truth.lock?.id === id) this.#truth.lock = undefined;
  }

  /** tofu takes in what is there, and loses nothing of what it has itself. */
  #read(writer: Writer): void {
    const { current } = this.#truth;
    const { mine } = writer;
    if (current === undefined || current === mine) return;
    const resources = new Set([...current.resources, ...(mine?.resources ?? [])]);
    const before = new Set([...current.before, current.text, ...(mine?.before ?? [])]);
    if (mine !== undefined) before.add(mine.text);
    const serial = Math.max(current.serial, mine?.serial ?? 0);
    writer.mine = { ...current, serial, resources, before, runId: writer.id };
  }

  /** One more resource, and the text that tells of it. */
  #grow(writer: Writer): Text {
    const { mine, id } = writer;
    const head = { serial: (mine?.serial ?? 0) + 1, lineage: mine?.lineage ?? `lineage-of-${id}` };
    const resources = new Set([...(mine?.resources ?? []), `r${++this.#count}`]);
    const before = new Set([...(mine?.before ?? []), ...(mine === undefined ? [] : [mine.text])]);
    const text = textOf(head, resources, this.#random.next() < 0.1);
    writer.mine = this.#truth.note({ ...head, text, resources, before, runId: id });
    return writer.mine;
  }

  /** Sometimes it is heard twice, for the first answer was lost. */
  async #write(writer: Writer): Promise<void> {
    const lockId = writer.locks.at(-1);
    const { lock, revoked } = this.#truth;
    if (lockId === undefined) return;
    const text = this.#grow(writer);
    const isRight = lock?.id === lockId && !revoked.has(writer.id) && this.#truth.builds(text);
    const became = await this.#send(text, lockId);
    if (isRight && became !== "current")
      this.#say(`the holder's write of ${text.serial} ${became}`);
    if (this.#random.next() < 0.1) await this.#send(text, lockId);
  }

  /** It waits somewhere on the way, and the writer goes on. */
  async #writeLate(writer: Writer): Promise<void> {
    if (writer.locks.length === 0) return;
    writer.late.push({ text: this.#grow(writer), lockId: writer.locks.at(-1) });
  }

  async #arrive(writer: Writer): Promise<void> {
    const late = writer.late.shift();
    if (late !== undefined) await this.#send(late.text, late.lockId);
  }

  /** As with `-lock=false`. */
  async #writeWithoutLock(writer: Writer): Promise<void> {
    if (this.#random.next() < 0.5) this.#read(writer);
    await this.#send(this.#grow(writer), undefined);
  }

  async #send(text: Text, lockId: string | undefined): Promise<string> {
    const wrong = this.#truth.wrongWrite(text, lockId);
    const target = { state: HOME, runId: text.runId ?? "", lockId };
    const { became } = await this.#states.write(target, chunksOf(text.text));
    this.#tell(`${text.runId} writes ${nameOf(text)} with ${lockId}: ${became}`);
    if (became === "aside") this.#truth.aside.set(text.text, text);
    await this.#changed(text, wrong);
    return became;
  }

  /** It dies: what it could not write is collected; then it is revoked, and its lock released. */
  async #lose(writer: Writer): Promise<void> {
    const { lock, granted, current, revoked } = this.#truth;
    const text = this.#grow(writer);
    const wrong = this.#truth.wrongRescue(text);
    if (granted.has(writer.id) && !revoked.has(writer.id)) this.#askSecret(writer, text);
    const { became } = await this.#states.rescue(HOME, writer.id, bytesOf(text.text), call);
    this.#tell(`${writer.id} dies and leaves ${nameOf(text)}: ${became}`);
    if (became === "aside") this.#truth.aside.set(text.text, text);
    await this.#changed(text, wrong);
    const isRight = lock?.runId === writer.id && current !== undefined && wrong === undefined;
    if (isRight && became !== "current") this.#say(`what ${writer.id} left is kept aside`);
    await this.#states.revoke(writer.id, "a test", call);
    this.#truth.revoked.add(writer.id);
    // From beyond.
    while (writer.late.length > 0) await this.#arrive(writer);
    if (lock?.runId === writer.id) await this.#send(this.#grow(writer), lock.id);
    if (lock?.runId === writer.id && (await this.#states.release(HOME, lock.id, "a test", call))) {
      this.#truth.lock = undefined;
    }
    await this.#states.rescue(HOME, writer.id, bytesOf(text.text), call);
    this.#writers = this.#writers.filter((each) => each !== writer);
  }

  /** What would be done if the state were in a Secret, where nobody notes who wrote it. */
  #askSecret({ id, at }: Writer, text: Text): void {
    const { current, lock } = this.#truth;
    const before = lock?.runId === id ? "held" : at && { present: true, ...headOf(at) };
    const { serial, lineage } = text;
    const refused = judgeSecretRescue({ serial, lineage }, current && headOf(current), before);
    // By force the same serial may come back with other content: nobody can see that in a Secret.
    const same = current?.serial === at?.serial && current?.lineage === at?.lineage;
    if (refused === undefined && !this.#truth.builds(text) && !same) {
      this.#say(`in a Secret, what ${id} left would replace what it did not know`);
    }
  }

  /** A person takes the state out, and brings back another; with force one of another life. */
  readonly #push = async (): Promise<void> => {
    const force = this.#random.next() < 0.3;
    const { current } = this.#truth;
    const foreign = force || current === undefined || this.#random.next() < 0.3;
    const head = {
      serial: (current?.serial ?? 0) + 1,
      lineage: foreign ? `lineage-${++this.#count}` : current.lineage,
    };
    const stale = !foreign && this.#random.next() < 0.3;
    const resources = new Set([...(foreign ? [] : current.resources), `r${++this.#count}`]);
    const before = new Set(foreign || stale ? [] : [...current.before, current.text]);
    const serial = stale ? current.serial : head.serial;
    const text = textOf({ ...head, serial }, resources, false);
    const pushed = this.#truth.note({ ...head, serial, text, resources, before, runId: undefined });
    const wrong = this.#truth.wrongPush(pushed, force);
    await this.#states.push(HOME, { from: "content", content: bytesOf(text), force }, call);
    this.#tell(`a person pushes ${nameOf(pushed)}${force ? " by force" : ""}`);
    await this.#changed(pushed, wrong);
  };

  readonly #rollback = async (): Promise<void> => {
    const versions = await this.#states.versions(HOME, call);
    const former = versions.filter(({ kept }) => kept === "history");
    const to = pick(former, this.#random);
    if (to === undefined) return;
    const force = this.#random.next() < 0.3;
    const { current, lock } = this.#truth;
    await this.#states.rollback(HOME, { version: to.id, force }, call);
    this.#tell(`a person rolls back to ${to.id}${force ? " by force" : ""}`);
    const found = await this.#text(undefined);
    const old = this.#truth.known.get((await this.#text(to)) ?? "");
    if (found === undefined || found === current?.text) return;
    if (lock !== undefined) this.#say(`a rollback, although ${lock.runId} had the lock`);
    const other = current !== undefined && current.lineage !== to.lineage;
    if (other && !force) this.#say("a rollback to another lineage, unforced");
    const { serial } = JSON.parse(found) as { serial: number };
    if (versions.some((each) => each.serial >= serial)) this.#say(`a rollback to serial ${serial}`);
    // The serial stands inside of what is encrypted too, where nobody can raise it.
    if (found.includes("encrypted_data")) this.#say("an encrypted version was rolled back to");
    const before = new Set(this.#truth.known.keys());
    const resources = old?.resources ?? new Set<string>();
    const { lineage } = to;
    const back = { text: found, serial, lineage, resources, before, runId: undefined };
    this.#truth.current = this.#truth.note(back);
  };

  /** A person accepts what was kept aside, or drops it. */
  readonly #settleAside = async (): Promise<void> => {
    const kept = (await this.#states.versions(HOME, call)).filter((each) => each.kept === "aside");
    const one = pick(kept, this.#random);
    if (one === undefined) return;
    const text = this.#truth.known.get((await this.#text(one)) ?? "");
    if (this.#random.next() < 0.5) await this.#states.drop(HOME, one.id, call);
    else {
      const wrong = this.#truth.lock && `${this.#truth.lock.runId} had the lock`;
      await this.#states.push(HOME, { from: "rescued", id: one.id, force: true }, call);
      if (text !== undefined) await this.#changed(text, wrong);
    }
    this.#tell(`a person settles ${one.id}, kept aside: ${text && nameOf(text)}`);
    this.#truth.aside.delete(text?.text ?? "");
  };

  /** Takes note of a text that has become current, and says so if it must not. */
  async #changed(text: Text, wrong: string | undefined): Promise<void> {
    const { current } = this.#truth;
    if (current?.text === text.text || (await this.#text(undefined)) !== text.text) return;
    if (wrong !== undefined) this.#say(`serial ${text.serial} became current, and ${wrong}`);
    this.#truth.current = text;
  }

  /** What is current, and what is kept, is what it should be. */
  async #look(): Promise<void> {
    const versions = await this.#states.versions(HOME, call);
    const found = await this.#text(undefined);
    if (found !== this.#truth.current?.text)
      this.#say("what is current is not what was acknowledged");
    const history = versions.filter(({ kept }) => kept === "history");
    if (history.length > HISTORY_MAX) this.#say(`${history.length} earlier versions are kept`);
    const kept = await Promise.all(versions.map(async (each) => await this.#text(each)));
    const known = kept.flatMap((text) => this.#truth.known.get(text ?? "") ?? []);
    for (const one of [...this.#truth.aside.values()]) {
      if (known.some((each) => each.text === one.text)) continue;
      const isTold = known.some((each) => each.runId === one.runId && tellsAllOf(each, one));
      if (!isTold) this.#say(`serial ${one.serial} of ${one.runId}, kept aside, is nowhere`);
      this.#truth.aside.delete(one.text);
    }
  }

  /** Of a version, which never changes; undefined: what is current. */
  async #text(version: StateVersion | undefined): Promise<string | undefined> {
    const known = this.#texts.get(version?.id ?? "");
    if (known !== undefined) return known;
    const bytes = await this.#states.show(HOME, version?.id, call);
    const text = bytes && Buffer.from(bytes).toString("utf8");
    if (text !== undefined && version !== undefined) this.#texts.set(version.id, text);
    return text;
  }

  #tell(line: string): void {
    this.#story.push(line);
  }

  #say(message: string): void {
    if (this.violations.length > 0) return;
    const story = this.#story.slice(-STORY_LINES).join("\n    ");
    this.violations.push({ oracle: "state-kept", message: `${message}, after\n    ${story}` });
  }
}

function nameOf({ serial, lineage }: Text): string {
  return `serial ${serial} of ${lineage}`;
}

function headOf({ serial, lineage }: Text) {
  return { serial, lineage };
}

function tellsAllOf(more: Text, less: Text): boolean {
  return [...less.resources].every((each) => more.resources.has(each));
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

async function* chunksOf(text: string): AsyncGenerator<Uint8Array> {
  yield bytesOf(text);
}
