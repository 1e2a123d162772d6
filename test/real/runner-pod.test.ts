import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import {
  type Certificate,
  makeAuthority,
  makeLeaf,
} from "../../src/adapters/kubernetes/certificates.ts";
import type { RunEvent } from "../../src/ports/runner.ts";
import { RunnerClient } from "../../src/protocol/client.ts";
import { readLastWord } from "../../src/protocol/last-word.ts";
import { CONTROLLER_IDENTITY, runnerIdentity, towards } from "../../src/protocol/mutual-tls.ts";
import { readPodOutput } from "../../src/protocol/pod-output.ts";
import {
  archiveOf,
  bareOrder,
  inputOf,
  tofuTestEnvironment,
} from "../../src/testing/real-runner.ts";

// The program of runner pods as a process of this machine, with real tofu and real certificates.

const DAY_MS = 86_400_000;
const RUN = "7-aabbccddeeff";
const OWN = runnerIdentity(RUN, "pod-a");
const program = join(import.meta.dirname, "../../src/main/runner-pod.ts");
const scratch = mkdtempSync(join(tmpdir(), "nrp-"));
const authority = await makeAuthority("a", Date.now(), 90 * DAY_MS);
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const call = (ms = 15_000) => ({ signal: AbortSignal.timeout(ms) });
const leaf = (purpose: "server" | "client", identity: string) =>
  makeLeaf(authority, { purpose, identity, lifeMs: DAY_MS }, Date.now());
const SLOW = `
resource "terraform_data" "slow" {
  provisioner "local-exec" { command = "sleep 600" }
}
`;

interface Pod {
  readonly process: ChildProcess;
  readonly client: RunnerClient;
  /** Exit code or signal, once it has ended. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
  output(): string;
  lastWord(): string;
}

async function startPod(): Promise<Pod> {
  const folder = mkdtempSync(join(scratch, "pod-"));
  const tls = join(folder, "tls");
  mkdirSync(tls);
  writeTls(tls, await leaf("server", OWN));
  const port = await freePort();
  const lastWord = join(folder, "termination-log");
  const child = spawn(process.execPath, [program], {
    env: {
      ...tofuTestEnvironment(),
      ...{ NIGARI_RUN_ID: RUN, NIGARI_OBJECT: "demo", NIGARI_EPOCH: "7" },
      ...{ POD_NAMESPACE: "team", NIGARI_GRACE_SECONDS: "30", NIGARI_PORT: String(port) },
      ...{ NIGARI_TLS_FOLDER: tls, NIGARI_LAST_WORD: lastWord },
      NIGARI_RUN_FOLDER: join(folder, "run"),
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => {
    text += chunk.toString("utf8");
  });
  closers.push(() => child.kill("SIGKILL"));
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once("exit", (code, signal) => resolve(signal ?? code));
  });
  const own = await leaf("client", CONTROLLER_IDENTITY);
  const identity = { ...own, trusted: authority.certificate };
  const address = `127.0.0.1:${port}`;
  const client = new RunnerClient({ runId: RUN, address, ...towards(OWN, identity) });
  closers.push(() => client.close());
  await until("it answers", () => client.hello(call(2_000)).then(Boolean, () => false));
  const word = () => readFileSync(lastWord, "utf8");
  return { process: child, client, ended, output: () => text, lastWord: word };
}

function writeTls(folder: string, { certificate, key }: Certificate): void {
  writeFileSync(join(folder, "tls.crt"), certificate);
  writeFileSync(join(folder, "tls.key"), key, { mode: 0o600 });
  writeFileSync(join(folder, "ca.crt"), authority.certificate);
}

async function begin({ client }: Pod, files: Record<string, string>, plan?: Uint8Array) {
  const artifact = inputOf("artifact.tar.gz", await archiveOf(files, scratch));
  await client.putFile(artifact, call());
  const planFile = plan === undefined ? undefined : inputOf("plan.bin", plan);
  if (planFile !== undefined) await client.putFile(planFile, call());
  const order = {
    ...{ ...bareOrder, runId: RUN, epoch: 7, artifactDigest: artifact.digest },
    operation: plan === undefined ? ("plan" as const) : ("apply" as const),
    planDigest: planFile?.digest,
  };
  await client.start(order, call());
}

async function heard({ client }: Pod, enough: (event: RunEvent) => boolean): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  const from = { fromSequence: 1, logOffset: 0 };
  for await (const event of client.watch(from, call(60_000))) {
    events.push(event);
    if (enough(event)) break;
  }
  return events;
}

test("a plan is printed whole, its last word is left, and the release ends it", async () => {
  const pod = await startPod();
  await begin(pod, { "main.tf": 'resource "terraform_data" "a" {}' });
  const events = await heard(pod, ({ type }) => type === "outcome");
  const outcome = events.at(-1);
  expect(outcome).toMatchObject({ outcome: { kind: "planned", changes: true } });
  await pod.client.release(call());
  expect(await pod.ended).toBe(0);
  const printed = readPodOutput(pod.output());
  const journalled = events.filter(({ type }) => type !== "heartbeat" && type !== "log");
  expect(printed.events).toEqual(journalled);
  expect(printed.log).toEqual(events.filter(({ type }) => type === "log"));
  expect(readLastWord(pod.lastWord())?.outcome).toMatchObject({ kind: "planned" });
});

test("told to go in an apply, it ends tofu in order and waits to be collected", async () => {
  const planning = await startPod();
  await begin(planning, { "main.tf": SLOW });
  await heard(planning, ({ type }) => type === "outcome");
  const plan = await planning.client.readFile("plan.bin", call());
  const pod = await startPod();
  await begin(pod, { "main.tf": SLOW }, plan);
  await heard(pod, (event) => event.type === "progress" && event.state === "started");
  expect(readLastWord(pod.lastWord())).toMatchObject({
    ...{ stage: "apply", inFlight: ["terraform_data.slow"], outcome: undefined },
  });
  pod.process.kill("SIGTERM");
  const events = await heard(pod, ({ type }) => type === "outcome");
  expect(events.some((event) => event.type === "log" && /told to go/.test(event.line))).toBe(true);
  expect(events.at(-1)).toMatchObject({ outcome: { stage: "apply" } });
  expect(pod.process.exitCode).toBeNull();
  await pod.client.release(call());
  expect(await pod.ended).toBe(0);
});

test("without its certificate it does not serve, and says why", async () => {
  const child = spawn(process.execPath, [program], {
    env: {
      ...{ NIGARI_RUN_ID: RUN, NIGARI_OBJECT: "demo", NIGARI_EPOCH: "7", POD_NAMESPACE: "team" },
      ...{ NIGARI_TLS_FOLDER: join(scratch, "none"), PATH: process.env.PATH },
      NIGARI_RUN_FOLDER: join(scratch, "run-without"),
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => {
    text += chunk.toString("utf8");
  });
  const code = await new Promise((resolve) => child.once("close", resolve));
  expect(code).toBe(1);
  expect(text).toMatch(/^nigari-runner: failed: .*tls\.crt/m);
});

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const untilMs = performance.now() + 20_000;
  while (!(await holds())) {
    if (performance.now() > untilMs) throw new Error(`It did not come about: ${what}`);
    await new Promise<void>((resolve) => setTimeout(resolve, 50));
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" ? (address?.port ?? 0) : 0));
    });
  });
}
