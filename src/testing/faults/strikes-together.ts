import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { GitRepository } from "../../api/core.ts";
import { TRUTH_MS, tellsLoss } from "../harness/truth.ts";
import { until } from "../harness/victims.ts";
import { type Held, release } from "./hold.ts";
import { endsWell } from "./judge.ts";
import { type Figures, within } from "./strikes.ts";
import type { Together } from "./together.ts";

// What befalls all runs at once, each of them in another stage.

/** Until a status tells of a disk that is full, and until a source says that it does not answer. */
const TOLD_MS = 30_000;
const SOURCE_TOLD_MS = 15_000;
const HOUR_MS = 3_600_000;
const BENT_MS = 12_000;

type All = Together<Held>;

export async function engineKilled(held: Held, together: All): Promise<Figures> {
  const { subject, runId, stand, stage } = held;
  const answersMs = await together.all(held, async (all) => {
    await stand.world.kill();
    // While nobody looks they go on: to the door of their state at most, and wait there.
    const extracting = all.find((each) => each.stage === "artifact");
    extracting?.subject.hold("init");
    for (const each of all) release(each);
    const inInit = () => extracting?.subject.stage(extracting.runId) === "init";
    if (extracting !== undefined) await until("the artifact is extracted", inInit, 60_000);
    return await stand.world.start(stand.env);
  });
  const told = await subject.when("its stage is told", ({ status }) => {
    const { run, lastRun } = status ?? {};
    if (lastRun?.id === runId) return lastRun.outcome === "succeeded";
    return run?.verdict === "alive" && run.stage === subject.stage(runId);
  });
  const toldMs = Math.max(0, told.atMs - answersMs);
  within("the truth", toldMs, TRUTH_MS);
  if (stage === "artifact") subject.letGo("init");
  await endsWell(held);
  return { toldMs };
}

export async function bothKilled(held: Held, together: All): Promise<Figures> {
  const { subject, runId, stand } = held;
  const answersMs = await together.all(held, async (all) => {
    const killing = stand.world.kill();
    for (const { runner } of all) await runner.kill();
    await killing;
    return await stand.world.start(stand.env);
  });
  const told = await subject.when("the loss is told", (object) => tellsLoss(object, runId));
  const toldMs = Math.max(0, told.atMs - answersMs);
  within("the truth", toldMs, TRUTH_MS);
  release(held);
  await endsWell(held);
  return { toldMs };
}

export async function diskFull(held: Held, together: All): Promise<Figures> {
  const { subject, stand, runId } = held;
  const struckMs = await together.all(held, async () => {
    stand.fillDisk();
    return performance.now();
  });
  release(held);
  await subject.whenever("it is told, or done", (object) => {
    const { run, lastRun } = object?.status ?? {};
    if (lastRun?.id === runId && lastRun.outcome === "succeeded") return true;
    const text = `${run?.note} ${lastRun?.message} ${subject.ready}`;
    return object === undefined || /no space left|ENOSPC|disk .*is full/i.test(text);
  });
  const toldMs = performance.now() - struckMs;
  within("it is told", toldMs, TOLD_MS);
  await together.all(held, async () => stand.makeRoom());
  await endsWell(held);
  return { toldMs };
}

export async function clockJumps(held: Held, together: All): Promise<Figures> {
  const { subject, runId, stand, stage } = held;
  const ended = subject.when("its run has ended", ({ status }) => status?.lastRun?.id === runId);
  const gone = ended.catch(() => undefined);
  await together.all(held, async () => stand.bendClock(HOUR_MS));
  // Its runner stands still and would be called silent, and rightly.
  if (stage === "artifact") release(held);
  for (const untilMs = performance.now() + BENT_MS; performance.now() < untilMs; ) {
    const { run } = subject.object?.status ?? {};
    if (stage !== "artifact") {
      assert.equal(run?.id, runId);
      assert.equal(run?.verdict, "alive");
    }
    await sleep(100);
  }
  await together.all(held, async () => stand.bendClock(0));
  release(held);
  if (stage !== "destroy") {
    assert.equal((await ended).object.status?.lastRun?.outcome, "succeeded");
  } else await gone;
  await endsWell(held);
  return {};
}

export async function sourceSilent(held: Held, together: All): Promise<Figures> {
  const { stage, stand, subject } = held;
  const name = stage === "artifact" ? "repository-padded" : "repository-plain";
  const struckMs = await together.all(held, async () => {
    stand.silenceSource(true);
    stand.world.estate.commitAnew("padded");
    return performance.now();
  });
  const source = () => sourceOf(stand, name.replace("repository-", ""));
  release(held);
  await until("the source tells it", async () => notReady(await source()), SOURCE_TOLD_MS);
  const toldMs = performance.now() - struckMs;
  const before = (await source())?.status?.artifact?.revision;
  await endsWell(held);
  await together.all(held, async () => stand.silenceSource(false));
  await until("the source is ready again", async () => !notReady(await source()), 30_000);
  if (stage === "artifact") {
    await until("the new commit is found", async () => {
      return (await source())?.status?.artifact?.revision !== before;
    });
    const revision = (await source())?.status?.artifact?.revision;
    await subject.when("the new commit is planned", ({ status }) => {
      return status?.attempted?.revision === revision;
    });
    await endsWell(held);
  }
  return { toldMs };
}

async function sourceOf(
  { world }: Held["stand"],
  name: string,
): Promise<GitRepository | undefined> {
  const ref = { kind: "GitRepository", namespace: "default", name } as const;
  return await world.client.store.get(ref, world.call());
}

function notReady(source: GitRepository | undefined): boolean {
  const ready = source?.status?.conditions?.find(({ type }) => type === "Ready");
  return (
    ready?.status === "False" && /longer than 5s|timed out|did not answer/i.test(ready.message)
  );
}
