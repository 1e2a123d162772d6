// npm run doctor:bench [-- --only NAME]: how long the doctor takes and how much memory it needs.
// Prints figures; nothing fails by them, for machines differ.
import { spawnSync } from "node:child_process";
import { createWriteStream, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { finished } from "node:stream/promises";
import { parseArgs } from "node:util";
import { clusterOf, filesOf } from "../../src/testing/doctor-worlds/dump.ts";
import { makeWorld } from "../../src/testing/doctor-worlds/generate.ts";
import { startFakeApiServer } from "../../src/testing/fakes/api-server.ts";

const { values } = parseArgs({ options: { only: { type: "string" } } });
const root = join(import.meta.dirname, "../..");
const work = mkdtempSync(join(tmpdir(), "doctor-bench-"));
const MEGABYTE = 1_000_000;
/** A world with something of everything in it. */
const SEED = 7;

try {
  if (wanted("50mb")) await saved("a bundle of 50 MB", 50 * MEGABYTE, "goal: 2 s");
  if (wanted("1gb")) await saved("a bundle of 1 GB", 1_000 * MEGABYTE, "goal: 300 MiB");
  if (wanted("live")) await live("1,000 live objects", 1_000, "goal: 5 s");
} finally {
  rmSync(work, { recursive: true, force: true });
}

function wanted(name: string): boolean {
  return values.only === undefined || values.only === name;
}

/** Judges a folder of this size: objects of a thousand, and the controller's log. */
async function saved(title: string, bytes: number, goal: string): Promise<void> {
  const folder = join(work, String(bytes));
  const files = filesOf(makeWorld(SEED, 1_000).dump);
  let size = 0;
  for (const { path, text } of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
    size += text.length;
  }
  const log = files.find(({ path }) => path.startsWith("logs/"));
  if (log === undefined) throw new Error("The world has no log");
  await grow(join(folder, log.path), log.text, bytes - size);
  print(title, measured(["--bundle", folder], process.env), goal);
}

/** Puts older lines of the same kind before a log until it has grown by so much. */
async function grow(file: string, text: string, bytes: number): Promise<void> {
  const older = text.replaceAll('"ts":"2026-09-14', '"ts":"2026-09-13');
  const stream = createWriteStream(file);
  for (let left = bytes; left > 0; left -= older.length) {
    if (!stream.write(older))
      await new Promise<void>((resolve) => stream.once("drain", () => resolve()));
  }
  stream.end(text);
  await finished(stream);
}

async function live(title: string, objects: number, goal: string): Promise<void> {
  const server = await startFakeApiServer(clusterOf(makeWorld(SEED, objects).dump));
  const kubeconfig = join(work, "kubeconfig");
  const config = {
    "current-context": "bench",
    contexts: [{ name: "bench", context: { cluster: "bench", user: "" } }],
    clusters: [{ name: "bench", cluster: { server: server.url } }],
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
  const result = await measuredApart(["--kubeconfig", kubeconfig]);
  print(`${title} (${server.requests.length} requests)`, result, goal);
  await server.close();
}

interface Measure {
  readonly ms: number;
  readonly memoryBytes: number;
}

/** Runs `nigari doctor` as its own process; its memory is the largest it ever held. */
function measured(words: readonly string[], env: NodeJS.ProcessEnv): Measure {
  const begun = performance.now();
  const run = spawnSync(process.execPath, command(words), { encoding: "utf8", env });
  return result(performance.now() - begun, run.stderr);
}

/** The same while this process serves. */
async function measuredApart(words: readonly string[]): Promise<Measure> {
  const { spawn } = await import("node:child_process");
  const begun = performance.now();
  const child = spawn(process.execPath, command(words), { stdio: ["ignore", "ignore", "pipe"] });
  let text = "";
  for await (const chunk of child.stderr) text += chunk;
  return result(performance.now() - begun, text);
}

function command(words: readonly string[]): string[] {
  return [join(root, "tools/doctor/measured.ts"), "doctor", "-o", "json", ...words];
}

function result(ms: number, text: string): Measure {
  const kibibytes = /maxRSS (\d+)/.exec(text)?.[1];
  if (kibibytes === undefined) throw new Error(`The doctor did not run: ${text}`);
  return { ms, memoryBytes: Number(kibibytes) * 1_024 };
}

function print(title: string, { ms, memoryBytes }: Measure, goal: string): void {
  const seconds = (ms / 1_000).toFixed(2);
  const mebibytes = Math.round(memoryBytes / 1_024 / 1_024);
  process.stdout.write(`${title}: ${seconds} s, ${mebibytes} MiB (${goal})\n`);
}
