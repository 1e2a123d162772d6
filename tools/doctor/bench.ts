// npm run doctor:bench [-- --json] [--only NAME]: how long the doctor takes and how much memory it
// needs, against its goals. Nothing fails by the figures, for machines differ.
import { spawn } from "node:child_process";
import { createWriteStream, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { finished } from "node:stream/promises";
import { parseArgs } from "node:util";
import { clusterPrograms, startApiServer } from "../../src/testing/cluster/api-server.ts";
import { putDump } from "../../src/testing/cluster/dump.ts";
import { startFakeKubelet } from "../../src/testing/cluster/kubelet.ts";
import { clusterOf, filesOf } from "../../src/testing/doctor-worlds/dump.ts";
import { makeWorld } from "../../src/testing/doctor-worlds/generate.ts";
import { startFakeApiServer } from "../../src/testing/fakes/api-server.ts";

/** One measurement; `share` is what it took of its goal: below 1 the goal is met. */
interface Row {
  readonly name: string;
  readonly of: string;
  readonly seconds: number;
  /** Of processor time: what a busy machine does not lengthen. */
  readonly cpuSeconds: number;
  readonly mebibytes: number;
  readonly goal: { readonly seconds: number } | { readonly mebibytes: number };
  readonly share: number;
}
type Taken = Pick<Row, "seconds" | "cpuSeconds" | "mebibytes">;

const { values } = parseArgs({
  options: { only: { type: "string" }, json: { type: "boolean", default: false } },
});
const root = join(import.meta.dirname, "../..");
const work = mkdtempSync(join(tmpdir(), "doctor-bench-"));
const GIGABYTE = 1_000_000_000;
const OBJECTS = 1_000;
/** Of a world with something of everything in it. */
const SEED = 7;

const benches: Readonly<
  Record<string, { of: string; goal: Row["goal"]; take: () => Promise<Taken | undefined> }>
> = {
  "50mb": {
    ...{ of: "a bundle of 50 MB", goal: { seconds: 2 } },
    take: () => saved(50_000_000, older),
  },
  "1gb": {
    ...{ of: "a bundle of 1 GB", goal: { mebibytes: 300 } },
    take: () => saved(GIGABYTE, older),
  },
  "1gb-noise": {
    ...{ of: "1 GB of log, of which little is kept", goal: { mebibytes: 300 } },
    take: () => saved(GIGABYTE, noise),
  },
  live: { of: "1,000 live objects of a fake", goal: { seconds: 5 }, take: fakeCluster },
  "live-real": {
    ...{ of: "1,000 live objects of a real API server", goal: { seconds: 5 } },
    take: realCluster,
  },
};

const rows: Row[] = [];
try {
  for (const [name, { of, goal, take }] of Object.entries(benches)) {
    if (values.only !== undefined && values.only !== name) continue;
    const taken = await take();
    if (taken === undefined) continue;
    const share =
      "seconds" in goal ? taken.seconds / goal.seconds : taken.mebibytes / goal.mebibytes;
    const row = { name, of, ...taken, goal, share: rounded(share) };
    rows.push(row);
    if (!values.json) print(row);
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}
if (values.json) process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);

/** Judges a folder of this size: objects of a thousand, and the controller's log. */
async function saved(bytes: number, before: (log: string) => string): Promise<Taken> {
  const folder = mkdtempSync(join(work, "dump-"));
  const files = filesOf(makeWorld(SEED, OBJECTS).dump);
  let size = 0;
  for (const { path, text } of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
    size += text.length;
  }
  const log = files.find(({ path }) => path.startsWith("logs/"));
  if (log === undefined) throw new Error("The world has no log");
  await grow(join(folder, log.path), { text: log.text, older: before(log.text) }, bytes - size);
  const taken = await measured("--bundle", folder);
  rmSync(folder, { recursive: true });
  return taken;
}

/** The same lines, of the day before. */
function older(log: string): string {
  return log.replaceAll('"ts":"2026-09-14', '"ts":"2026-09-13');
}

/** Each line far from the next, in console form: between them others that nobody keeps. */
function noise(log: string): string {
  const other = "2026-09-13T00:00:00Z\tDEBUG\tone of the many lines that say nothing\n".repeat(900);
  const lines = older(log).split("\n", 1_000);
  return lines.map((line) => `2026-09-13T00:00:00Z\tINFO\tpass\t${line}\n${other}`).join("");
}

/** Puts older lines before a log until it has grown by so much. */
async function grow(
  file: string,
  log: { readonly text: string; readonly older: string },
  bytes: number,
): Promise<void> {
  const stream = createWriteStream(file);
  for (let left = bytes; left > 0; left -= log.older.length) {
    if (!stream.write(log.older))
      await new Promise<void>((resolve) => stream.once("drain", () => resolve()));
  }
  stream.end(log.text);
  await finished(stream);
}

async function fakeCluster(): Promise<Taken> {
  const server = await startFakeApiServer(clusterOf(makeWorld(SEED, OBJECTS).dump));
  try {
    return await measured("--kubeconfig", kubeconfig({ server: server.url }, {}));
  } finally {
    await server.close();
  }
}

/** Undefined where "npm run cluster -- build" has not built it. */
async function realCluster(): Promise<Taken | undefined> {
  if (clusterPrograms() === undefined) {
    process.stderr.write('live-real: left out; "npm run cluster -- build" builds what it needs\n');
    return undefined;
  }
  const { dump } = makeWorld(SEED, OBJECTS);
  const server = await startApiServer(join(work, "server"));
  const texts = new Map(dump.logs.map((log) => [`${log.namespace}/${log.name}`, log.lines]));
  const kubelet = await startFakeKubelet(server.serving, (pod) => texts.get(pod)?.join("\n"));
  try {
    await putDump({ server, kubelet }, dump);
    const authority = Buffer.from(server.ca).toString("base64");
    const cluster = { server: server.url, "certificate-authority-data": authority };
    return await measured("--kubeconfig", kubeconfig(cluster, { token: server.tokens.admin }));
  } finally {
    await kubelet.close();
    await server.close();
  }
}

function kubeconfig(cluster: object, user: object): string {
  const file = join(work, "kubeconfig");
  const config = {
    "current-context": "bench",
    contexts: [{ name: "bench", context: { cluster: "bench", user: "bench" } }],
    clusters: [{ name: "bench", cluster }],
    users: [{ name: "bench", user }],
  };
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return file;
}

/** Runs `nigari doctor` as its own process; its memory is the largest it ever held. */
async function measured(...words: readonly string[]): Promise<Taken> {
  const begun = performance.now();
  const program = join(root, "tools/doctor/measured.ts");
  const child = spawn(process.execPath, [program, "doctor", "-o", "json", ...words], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let text = "";
  for await (const chunk of child.stderr) text += chunk;
  const seconds = (performance.now() - begun) / 1_000;
  const found = /maxRSS (\d+) cpu (\d+)/.exec(text);
  if (found === null) throw new Error(`The doctor did not run: ${text}`);
  const [, kibibytes, microseconds] = found.map(Number);
  return {
    seconds: rounded(seconds),
    cpuSeconds: rounded((microseconds ?? 0) / 1e6),
    mebibytes: Math.round((kibibytes ?? 0) / 1_024),
  };
}

function print({ of, seconds, cpuSeconds, mebibytes, goal, share }: Row): void {
  const wanted = "seconds" in goal ? `${goal.seconds} s` : `${goal.mebibytes} MiB`;
  const part = `${Math.round(share * 100)} % of ${wanted}`;
  process.stdout.write(`${of}: ${seconds} s (${cpuSeconds} s of CPU), ${mebibytes} MiB; ${part}\n`);
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
