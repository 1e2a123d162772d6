import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { DoorProxy } from "../../src/testing/harness/door-proxy.ts";
import { EngineWorld } from "../../src/testing/harness/engine-world.ts";
import { canMount } from "../../src/testing/harness/mount.ts";
import { PowerDisk } from "../../src/testing/harness/power-disk.ts";
import type { Subject } from "../../src/testing/harness/subject.ts";
import { Writer } from "../../src/testing/harness/writer.ts";

// The power is cut while the engine works: what was acknowledged before is there afterwards, on a
// real file system whose unsynced part is lost with the kernel's memory.

const CUTS = 3;
const OBJECTS = 3;
const all = Array.from({ length: 4 }, (_, index) => ({ name: `r${index}`, seconds: 1 }));

let world: EngineWorld;
let disk: PowerDisk;
let door: DoorProxy;
beforeEach(async () => {
  if (!canMount()) return;
  world = new EngineWorld();
  disk = new PowerDisk(world.dataDir);
  door = new DoorProxy();
  world.gate.lead(await door.listen());
});
afterEach(async () => {
  if (disk === undefined) return;
  await world.end();
  disk.unmount();
  await world.close();
  await door.close();
});

async function everythingIsThere(writer: Writer, states: ReadonlyMap<Subject, number>) {
  expect(await writer.lost()).toEqual([]);
  for (const [{ name }, serial] of states) {
    if (serial === 0) continue;
    expect((await world.state(name))?.serial, name).toBeGreaterThanOrEqual(serial);
  }
}

/** Every object ends as wanted; where a person has the word, he approves. */
async function allEnd(subjects: readonly Subject[]): Promise<void> {
  await Promise.all(subjects.map((subject) => ends(subject)));
}

async function ends(subject: Subject): Promise<void> {
  const { object } = await subject.when("it is settled or held", ({ status }) => {
    const held = status?.held !== undefined && status.plan?.pending !== undefined;
    return status?.run === undefined && (held || /^True /.test(subject.ready));
  });
  if (object.status?.held !== undefined) {
    expect(await world.nigari("approve", subject.name)).toMatchObject({ code: 0 });
  }
  await subject.settled();
  const addresses = all.map(({ name }) => subject.workspace.address(name)).sort();
  const whole = { resources: addresses, locked: false };
  expect(await world.state(subject.name), subject.name).toMatchObject(whole);
}

test("a power cut loses nothing that was acknowledged", async ({ skip }) => {
  if (disk === undefined) {
    return skip("no file system may be mounted here: run as root, or with sudo");
  }
  const subjects = Array.from({ length: OBJECTS }, (_, index) =>
    world.add(`cut-${index}`, { resources: all }),
  );
  world.estate.commit();
  await world.start();
  const writer = new Writer(world);
  for (let round = 1; round <= CUTS; round += 1) {
    writer.begin();
    // Somewhere in the work of the engine: another moment each time.
    await sleep(1_200 + 1_700 * round);
    world.freeze();
    await world.traces.freezeAll();
    disk.cut();
    const states = new Map(subjects.map((each) => [each, door.acknowledged(each.name)]));
    await writer.stop();
    await world.kill();
    await world.traces.killAll();
    disk.powerUp();
    await world.start();
    await everythingIsThere(writer, states);
  }
  expect(writer.acknowledged.length).toBeGreaterThan(CUTS * 10);
  await allEnd(subjects);
  await world.untilQuiet();
  expect(world.bugs()).toEqual([]);
  process.stdout.write(
    `${CUTS} power cuts: ${writer.acknowledged.length} writes acknowledged and kept\n`,
  );
});
