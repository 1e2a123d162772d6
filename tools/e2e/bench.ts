// npm run -s e2e:bench [-- --json] [--rounds N]: how long a change takes on a whole cluster, what
// the programs weigh, and how soon an artifact server that is away is known. Nothing fails by it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { REQUESTED_AT } from "../../src/api/names.ts";
import type { Cluster } from "../../src/testing/cluster/cluster.ts";
import { run } from "../../src/testing/cluster/commands.ts";
import { Controllers } from "../../src/testing/e2e/controllers.ts";
import { Effects } from "../../src/testing/e2e/effects.ts";
import { Estate } from "../../src/testing/e2e/estate.ts";
import { withCluster } from "../../src/testing/e2e/own-cluster.ts";
import { median } from "../bench/ratios.ts";

const { values } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    rounds: { type: "string", default: "5" },
  },
});
const rounds = Number(values.rounds);
const others = Array.from({ length: 12 }, (_, index) => `other-${index + 1}`);
const figures: Record<string, number> = {};

await withCluster(async (cluster, folder) => {
  const effects = await Effects.listen(cluster.plan.host);
  const controllers = await Controllers.prepare(cluster, join(folder, "controllers"));
  const estate = await Estate.open(cluster, "bench", effects);
  try {
    await controllers.untilLeads(controllers.start());
    await measure(cluster, { effects, controllers, estate });
  } finally {
    await controllers.stopAll();
    await estate.close();
    await effects.close();
  }
});
if (!values.json) {
  for (const [name, value] of Object.entries(figures)) process.stdout.write(`${name} ${value}\n`);
}
process.stdout.write(`${JSON.stringify(figures)}\n`);

interface Parts {
  readonly effects: Effects;
  readonly controllers: Controllers;
  readonly estate: Estate;
}

async function measure(cluster: Cluster, parts: Parts): Promise<void> {
  const { controllers, estate } = parts;
  await estate.publish(["one", ...others]);
  await estate.create("one");
  await estate.whenReady("one");
  figures.commitToAppliedS = await medianOf(() => commitToApplied(estate));
  figures.noChangePassS = await medianOf(() => noChangePass(estate));
  figures.runnerMiB = await runnerMiB(cluster, parts);
  for (const name of others) await estate.create(name);
  for (const name of others) await estate.whenReady(name, 240_000);
  figures.controllerMiB = mib(residentKiB(controllers.pid(1)));
  figures.artifactServerAwayKnownS = await artifactServerAway(cluster, estate);
}

/** From the push to Git until the object says that this revision is applied. */
async function commitToApplied(estate: Estate): Promise<number> {
  const beganMs = performance.now();
  const sha = await estate.commit("one", `text ${Math.round(beganMs)}`);
  const { atMs } = await estate.when(
    "one",
    `revision ${sha} to be applied`,
    ({ status }) => status?.lastAppliedRevision?.endsWith(sha) === true,
  );
  return atMs - beganMs;
}

/** From a person's request until it is handled, where there is nothing to change. */
async function noChangePass(estate: Estate): Promise<number> {
  const beganMs = performance.now();
  const word = `request-${Math.round(beganMs)}`;
  await estate.annotate("one", REQUESTED_AT, word);
  const { atMs } = await estate.when(
    "one",
    "the request to be handled",
    ({ status }) => status?.lastHandledReconcileAt === word && status.run === undefined,
  );
  return atMs - beganMs;
}

/** Of the runner's own process, while its OpenTofu plans. */
async function runnerMiB(cluster: Cluster, { effects, estate }: Parts): Promise<number> {
  effects.hold("plan", "one");
  await estate.annotate("one", REQUESTED_AT, "held");
  await effects.untilHeld("plan", "one");
  const [pod] = await estate.pods();
  if (pod === undefined) throw new Error("There is no runner");
  const found = await cluster.pod(estate.namespace, pod.metadata.name);
  const sizes = found.pids().map((pid) => [commandOf(pid), residentKiB(pid)] as const);
  effects.open("plan", "one");
  await estate.when("one", "its end", ({ status }) => status?.run === undefined);
  return mib(Math.max(...sizes.flatMap(([command, kib]) => (/node/.test(command) ? kib : []))));
}

/** From an object's creation until it says that its artifact cannot be had. */
async function artifactServerAway(cluster: Cluster, estate: Estate): Promise<number> {
  await estate.publish(["late"], "second");
  await cluster.stopProcess("source-controller");
  const beganMs = performance.now();
  await estate.create("late", { sourceRef: { kind: "GitRepository", name: "second" } });
  const { atMs } = await estate.when("late", "the artifact to be missing", ({ status }) =>
    (status?.conditions ?? []).some(
      ({ type, reason }) => type === "Ready" && reason === "ArtifactFailed",
    ),
  );
  await cluster.startProcess("source-controller");
  return seconds(atMs - beganMs);
}

async function medianOf(once: () => Promise<number>): Promise<number> {
  const all: number[] = [];
  for (let round = 1; round <= rounds; round += 1) all.push(await once());
  return seconds(median(all));
}

function seconds(ms: number): number {
  return Math.round(ms / 10) / 100;
}

function mib(kib: number): number {
  return Math.round(kib / 102.4) / 10;
}

function residentKiB(pid: number): number {
  const text = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(text)?.[1] ?? Number.NaN);
}

function commandOf(pid: number): string {
  return run("cat", `/proc/${pid}/cmdline`).split("\0")[0] ?? "";
}
