import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { credentials } from "@grpc/grpc-js";
import { create } from "tar";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import type { RunEvent, StartOrder } from "../ports/runner.ts";
import { RunnerClient } from "../protocol/client.ts";
import { socketAddress } from "../protocol/grpc.ts";
import { readJournal } from "../protocol/journal.ts";
import { orderFromText } from "../protocol/messages.ts";
import { PROTOCOL_VERSION, runFolder } from "../protocol/run-folder.ts";
import { type FakeTofuScript, makeFakeTofu } from "../testing/fake-tofu.ts";
import { archiveOf, bareOrder, inputOf, within } from "../testing/real-runner.ts";
import { Run } from "./run.ts";
import { serveRun } from "./server.ts";

// The runner's server and its stages in this process, with a shell script for OpenTofu.

const scratch = mkdtempSync(join(tmpdir(), "nrs-"));
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});
afterAll(() => rmSync(scratch, { recursive: true }));

const START = { fromSequence: 1, logOffset: 0 };
const artifact = await archiveOf({ "main.tf": "", "live/a.tfvars": "" }, scratch);
const plan = Buffer.from("a plan");

interface Setting {
  readonly script?: FakeTofuScript;
  readonly protocolVersion?: number;
  readonly environment?: Record<string, string>;
}

async function setUp({ script = {}, protocolVersion, environment = {} }: Setting = {}) {
  const home = mkdtempSync(join(scratch, "r-"));
  const folder = runFolder(join(home, "run"));
  mkdirSync(folder.root, { mode: 0o700 });
  const tofu = makeFakeTofu(home, script);
  const token = `test-${process.pid}-${closers.length}-${Math.random()}`;
  const identity = {
    runId: "run-1",
    namespace: "team",
    name: "demo",
    epoch: 5,
    token,
    socket: join(home, "s.sock"),
    createdAt: "2026-01-01T00:00:00Z",
  };
  const env = { PATH: "/usr/bin:/bin", NIGARI_TOFU: tofu.program, NIGARI_RUN_TOKEN: token };
  const run = new Run(identity, folder, { ...env, ...environment });
  const facts = { version: "1.2.3", bootId: "boot", pid: 42 };
  const versioned = protocolVersion === undefined ? facts : { ...facts, protocolVersion };
  const server = await serveRun(run, versioned);
  const clientOf = (version: number) =>
    new RunnerClient(
      {
        runId: "run-1",
        address: socketAddress(identity.socket),
        credentials: credentials.createInsecure(),
      },
      { protocolVersion: version },
    );
  const client = clientOf(PROTOCOL_VERSION);
  closers.push(async () => {
    client.close();
    run.cancel(0);
    await run.shutDown(0);
    await server.close();
  });
  return { run, folder, tofu, client, clientOf, server };
}
type Bench = Awaited<ReturnType<typeof setUp>>;

const digestOf = (file: Buffer) => inputOf("plan.bin", file).digest;
const order: StartOrder = {
  ...bareOrder,
  runId: "run-1",
  epoch: 5,
  artifactDigest: digestOf(artifact),
};
const applyOrder: StartOrder = { ...order, operation: "apply", planDigest: digestOf(plan) };

async function put({ client }: Bench): Promise<void> {
  await client.putFile(inputOf("artifact.tar.gz", artifact), within(5_000));
  await client.putFile(inputOf("plan.bin", plan), within(5_000));
}

async function all(events: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const found: RunEvent[] = [];
  for await (const event of events) found.push(event);
  return found;
}

/** Puts, starts and watches to the end. */
async function carriedOut(bench: Bench, what: StartOrder = order) {
  await put(bench);
  await bench.client.start(what, within(5_000));
  const events = await all(bench.client.watch(START, within(15_000)));
  const last = events.at(-1);
  return { events, outcome: last?.type === "outcome" ? last.outcome : undefined };
}

async function refused(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  const code = /Epoch \d+ is over/.test(String(error)) ? "Superseded" : "Refused";
  expect(error).toMatchObject({ name: "RunnerError", code });
  return String(error);
}

describe("a start", () => {
  const rows: Record<string, { more: Partial<StartOrder>; says: string }> = {
    "for another run": { more: { runId: "run-2" }, says: "Run run-1 is served here, not run-2" },
    "from an older epoch": { more: { epoch: 4 }, says: "Epoch 4 is over" },
    "of another artifact": { more: { artifactDigest: "00" }, says: "not 00 as ordered" },
    "of another plan": {
      more: { operation: "apply", planDigest: "00" },
      says: "File plan.bin has digest",
    },
    "of an apply without a plan": {
      more: { operation: "apply", planDigest: undefined },
      says: "An apply needs the digest of its plan",
    },
  };
  test.each(Object.entries(rows))("%s is refused, and leaves no trace", async (_, row) => {
    const bench = await setUp();
    await put(bench);
    const start = bench.client.start({ ...order, ...row.more }, within(5_000));
    expect(await refused(start)).toContain(row.says);
    expect(await bench.client.hello(within(5_000))).toMatchObject({ started: false });
    expect(existsSync(bench.folder.order)).toBe(false);
    await bench.client.start(order, within(5_000));
    expect(await bench.client.hello(within(5_000))).toMatchObject({ started: true });
  });

  test("before its files is refused, and says which is missing", async () => {
    const { client } = await setUp();
    expect(await refused(client.start(order, within(5_000)))).toContain(
      "File artifact.tar.gz is missing",
    );
  });

  test("is on the disk when it is acknowledged", async () => {
    const bench = await setUp({ script: { init: "sleep 5" } });
    await put(bench);
    const full = { ...order, sensitive: ["hunter2"], env: { A: "1" }, epoch: 6 };
    await bench.client.start(full, within(5_000));
    expect(orderFromText(readFileSync(bench.folder.order, "utf8"))).toEqual(full);
    expect(statSync(bench.folder.order).mode & 0o777).toBe(0o600);
  });

  test("again, also at the same time, changes nothing", async () => {
    const bench = await setUp();
    await put(bench);
    const starts = [1, 2, 3].map(() => bench.client.start(order, within(5_000)));
    await Promise.all(starts);
    await all(bench.client.watch(START, within(15_000)));
    await bench.client.start({ ...order, epoch: 9 }, within(5_000));
    expect(bench.tofu.calls().filter((call) => call.startsWith("init"))).toHaveLength(1);
  });

  test("and every other call from an epoch that is over is refused", async () => {
    const bench = await setUp();
    const { socket } = bench.run.identity;
    const from = (epoch: number) =>
      new RunnerClient({
        runId: "run-1",
        address: socketAddress(socket),
        credentials: credentials.createInsecure(),
        epoch,
      });
    const [former, present] = [from(6), from(7)];
    await former.hello(within(5_000));
    await present.hello(within(5_000));
    expect(await refused(former.hello(within(5_000)))).toContain("Epoch 6 is over");
    expect(await refused(former.cancel(0, within(5_000)))).toContain("Epoch 6 is over");
    await present.hello(within(5_000));
    former.close();
    present.close();
  });

  test("again from an epoch that is over is refused", async () => {
    const bench = await setUp();
    await put(bench);
    await bench.client.start({ ...order, epoch: 7 }, within(5_000));
    const late = bench.client.start({ ...order, epoch: 6 }, within(5_000));
    expect(await refused(late)).toContain("Epoch 6 is over");
  });
});

describe("files", () => {
  test("that came in wrong are not there", async () => {
    const { client, folder } = await setUp();
    const short = { ...inputOf("artifact.tar.gz", artifact), sizeBytes: artifact.length + 1 };
    const long = { ...inputOf("artifact.tar.gz", artifact), sizeBytes: artifact.length - 1 };
    const other = { ...inputOf("artifact.tar.gz", artifact), digest: "0".repeat(64) };
    for (const file of [short, long, other]) {
      await expect(client.putFile(file, within(5_000))).rejects.toMatchObject({
        code: "DataLoss",
      });
    }
    expect(existsSync(join(folder.inputs, "artifact.tar.gz"))).toBe(false);
  });

  test("of other names, or larger than anything can be, are refused", async () => {
    const { client } = await setUp();
    const named = { ...inputOf("plan.bin", plan), name: "../order.json" as "plan.bin" };
    expect(await refused(client.putFile(named, within(5_000)))).toContain("No file");
    const huge = { ...inputOf("plan.bin", plan), sizeBytes: 2 ** 31 };
    expect(await refused(client.putFile(huge, within(5_000)))).toContain("larger than");
  });

  test("after the start are taken if they are the same, and else refused", async () => {
    const bench = await setUp();
    await carriedOut(bench);
    await bench.client.putFile(inputOf("artifact.tar.gz", artifact), within(5_000));
    const other = inputOf("artifact.tar.gz", Buffer.from("other"));
    expect(await refused(bench.client.putFile(other, within(5_000)))).toContain("has started");
  });

  test("of the run are read whole; others are not there", async () => {
    const bench = await setUp();
    await carriedOut(bench);
    expect(String(await bench.client.readFile("plan.bin", within(5_000)))).toBe("a plan\n");
    expect(await bench.client.readFile("errored.tfstate", within(5_000))).toBeUndefined();
    const outside = bench.client.readFile("../order.json" as "plan.bin", within(5_000));
    expect(await outside).toBeUndefined();
  });
});

describe("what OpenTofu is called with", () => {
  test("a plan, from init to show", async () => {
    const bench = await setUp();
    const { outcome } = await carriedOut(bench, { ...order, backendConfig: { key: "v" } });
    const { root, files } = bench.folder;
    expect(bench.tofu.calls()).toEqual([
      "init -no-color -input=false -backend=true -get=true -upgrade=false" +
        ` -backend-config=${root}/backend.tfbackend`,
      "plan -json -no-color -input=false -detailed-exitcode -lock-timeout=0s" +
        ` -out=${files}/plan.bin -lock=true -parallelism=10 -refresh=true`,
      `show -json -no-color ${files}/plan.bin`,
      `show -no-color ${files}/plan.bin`,
    ]);
    expect(outcome).toEqual({
      kind: "planned",
      changes: true,
      summary: { add: 1, change: 0, destroy: 0, import: 0 },
      planDigest: digestOf(Buffer.from("a plan\n")),
      nothingToDestroy: false,
      outputs: undefined,
    });
  });

  test("an apply, of the file that was put", async () => {
    const bench = await setUp();
    const { outcome } = await carriedOut(bench, { ...applyOrder, workspace: "prod" });
    expect(bench.tofu.calls()).toEqual([
      "init -no-color -input=false -backend=true -get=true -upgrade=false",
      "workspace select -no-color -or-create=true prod",
      "apply -json -no-color -input=false -auto-approve -lock=true -parallelism=10" +
        ` ${bench.folder.inputs}/plan.bin`,
      "output -json -no-color",
    ]);
    expect(outcome).toEqual({ kind: "applied", outputs: [] });
  });

  test("nothing more than is wanted: no outputs, no workspace of its own", async () => {
    const bench = await setUp({ script: { plan: "exit 0" } });
    const what = { ...order, outputs: false, workspace: "prod", workspaceByAddress: true };
    const { outcome } = await carriedOut(bench, what);
    expect(bench.tofu.calls().map((call) => call.split(" ")[0])).toEqual(["init", "plan"]);
    expect(outcome).toMatchObject({ changes: false, outputs: undefined });
  });

  test("files of ours in the place of what the source has there", async () => {
    const home = mkdtempSync(join(scratch, "links-"));
    writeFileSync(join(home, "victim"), "mine");
    const links = ["generated.auto.tfvars.json", "backend_override.tf"];
    for (const link of links) symlinkSync("victim", join(home, link));
    const file = join(home, "a.tar.gz");
    await create({ gzip: true, cwd: home, file }, ["victim", ...links]);
    const linked = readFileSync(file);
    const bench = await setUp();
    await bench.client.putFile(inputOf("artifact.tar.gz", linked), within(5_000));
    const what = { ...order, artifactDigest: digestOf(linked), backend: "terraform {}\n" };
    await bench.client.start(what, within(5_000));
    await all(bench.client.watch(START, within(15_000)));
    expect(readFileSync(join(bench.folder.work, "victim"), "utf8")).toBe("mine");
    const ours = join(bench.folder.work, "backend_override.tf");
    expect(lstatSync(ours).isFile()).toBe(true);
  });

  test("its folder, its files and its environment", async () => {
    const script = { init: "pwd >pwd; cat generated.auto.tfvars.json backend_override.tf" };
    const bench = await setUp({ script, environment: { FROM_PLATFORM: "1" } });
    const { events } = await carriedOut(bench, {
      ...order,
      path: "live",
      env: { FROM_ORDER: "2" },
      variables: '{"n": 12345678901234567890}',
      backend: "terraform {}\n",
    });
    const log = events.flatMap((event) => (event.type === "log" ? [event.line] : []));
    expect(log).toEqual(expect.arrayContaining(['{"n": 12345678901234567890}terraform {}']));
    expect(readFileSync(join(bench.folder.work, "live/pwd"), "utf8").trim()).toMatch(/live$/);
    expect(bench.tofu.environment()).toMatchObject({
      FROM_PLATFORM: "1",
      FROM_ORDER: "2",
      TF_IN_AUTOMATION: "1",
      TF_INPUT: "0",
      CHECKPOINT_DISABLE: "1",
    });
  });
});

describe("what is told", () => {
  test("is in the journal before it is on the stream", async () => {
    const bench = await setUp();
    await put(bench);
    await bench.client.start(order, within(5_000));
    const onDisk: boolean[] = [];
    for await (const event of bench.client.watch(START, within(15_000))) {
      if (!("sequence" in event)) continue;
      const journal = readJournal(bench.folder.journal);
      onDisk.push(journal.some((each) => each.sequence === event.sequence));
    }
    expect(onDisk.length).toBeGreaterThan(5);
    expect(onDisk).not.toContain(false);
  });

  test("goes on from any place, with no event lost or doubled", async () => {
    const bench = await setUp();
    const { events } = await carriedOut(bench);
    const numbered = events.filter((event) => "sequence" in event);
    const lines = events.filter((event) => event.type === "log");
    const from = { fromSequence: 3, logOffset: lines[1]?.offset ?? 0 };
    const rest = await all(bench.client.watch(from, within(5_000)));
    expect(rest.filter((event) => "sequence" in event)).toEqual(numbered.slice(2));
    expect(rest.filter((event) => event.type === "log")).toEqual(lines.slice(2));
  });

  test("comes to everybody who listens, each at their own pace", async () => {
    const bench = await setUp({ script: { init: "sleep 0.3" } });
    await put(bench);
    await bench.client.start(order, within(5_000));
    const [one, two] = await Promise.all(
      [1, 2].map(() => all(bench.client.watch(START, within(15_000)))),
    );
    const told = (events?: RunEvent[]) => events?.filter((event) => event.type !== "heartbeat");
    expect(told(one)).toEqual(told(two));
  });

  test("is a heartbeat at once and every two seconds, when there is nothing else", async () => {
    const bench = await setUp();
    const at: number[] = [];
    const begun = performance.now();
    for await (const event of bench.client.watch(START, within(15_000))) {
      expect(event).toEqual({ type: "heartbeat" });
      if (at.push(performance.now() - begun) === 2) break;
    }
    expect(at[0]).toBeLessThan(1_000);
    expect(at[1]).toBeGreaterThan(1_500);
    expect(at[1]).toBeLessThan(4_000);
  });

  test("progress, as it goes on", async () => {
    const line = (type: string) =>
      JSON.stringify({
        "@level": "info",
        "@message": "x",
        hook: { resource: { addr: "a.b" }, action: "create" },
        type,
      });
    const apply = `echo '${line("apply_start")}'; sleep 0.5; echo '${line("apply_complete")}'`;
    const bench = await setUp({ script: { apply } });
    await put(bench);
    await bench.client.start(applyOrder, within(5_000));
    const times: number[] = [];
    for await (const event of bench.client.watch(START, within(15_000))) {
      if (event.type === "progress") times.push(performance.now());
    }
    expect(times).toHaveLength(2);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(200);
  });
});

describe("a killed apply", () => {
  const line = (type: string, addr: string) =>
    JSON.stringify({
      "@level": "info",
      "@message": "x",
      hook: { resource: { addr }, action: "create", id_key: "id", id_value: `id of ${addr}` },
      type,
    });
  const lines = [
    line("apply_start", "a.recorded"),
    line("apply_complete", "a.recorded"),
    line("apply_start", "a.done"),
    line("apply_complete", "a.done"),
    line("apply_start", "a.going"),
  ];
  const apply = `${lines.map((each) => `echo '${each}'`).join("\n")}\nkill -KILL $$`;
  const attributes = { id: "id of a.recorded" };
  const state = {
    resources: [{ mode: "managed", type: "a", name: "recorded", instances: [{ attributes }] }],
  };

  test("leaves unrecorded what was in flight, and what is done and not in the state", async () => {
    const bench = await setUp({ script: { apply, state: `echo '${JSON.stringify(state)}'` } });
    const { outcome } = await carriedOut(bench, applyOrder);
    expect(outcome).toMatchObject({
      kind: "failed",
      stage: "apply",
      exitCode: undefined,
      unrecorded: ["a.done", "a.going"],
    });
    expect(bench.tofu.calls().at(-1)).toBe("state pull");
  });

  test.each(["exit 1", "echo nonsense"])(
    "of whose state nothing is known (%s) leaves all of it unrecorded",
    async (pull) => {
      const bench = await setUp({ script: { apply, state: pull } });
      const { outcome } = await carriedOut(bench, applyOrder);
      expect(outcome).toMatchObject({ unrecorded: ["a.done", "a.going", "a.recorded"] });
    },
  );

  test("that panicked is no other", async () => {
    const panicking = apply.replace("kill -KILL $$", "echo 'panic: no' >&2; exit 2");
    const bench = await setUp({ script: { apply: panicking } });
    const { outcome } = await carriedOut(bench, applyOrder);
    expect(outcome).toMatchObject({
      exitCode: 2,
      message: "panic: no",
      unrecorded: ["a.done", "a.going", "a.recorded"],
    });
  });

  test("a failure by itself has handed its state on, and leaves nothing", async () => {
    const failing = apply.replace(
      "kill -KILL $$",
      `echo '${line("apply_errored", "a.going")}'; exit 1`,
    );
    const bench = await setUp({ script: { apply: failing } });
    const { outcome } = await carriedOut(bench, applyOrder);
    expect(outcome).toMatchObject({ exitCode: 1, unrecorded: [] });
    expect(bench.tofu.calls()).not.toContain("state pull");
  });
});

describe("times beyond all measure", () => {
  test("are long, not short", async () => {
    const bench = await setUp({ script: { plan: "sleep 1; exit 2" } });
    const { outcome } = await carriedOut(bench, { ...order, stageLimitMs: { plan: 2 ** 40 } });
    expect(outcome).toMatchObject({ kind: "planned" });
  });

  test("also those of a grace", async () => {
    const bench = await setUp({ script: { apply: "trap '' INT; mark deaf; sleep 1; exit 0" } });
    await put(bench);
    await bench.client.start(applyOrder, within(5_000));
    await vi.waitFor(() => expect(bench.tofu.marks()).toEqual(["deaf"]), 5_000);
    await bench.client.cancel(2 ** 40, within(5_000));
    const events = await all(bench.client.watch(START, within(15_000)));
    expect(events.at(-1)).toMatchObject({ outcome: { kind: "applied" } });
  });
});

describe("applied is applied", () => {
  test("though the outputs fail", async () => {
    const bench = await setUp({ script: { output: "echo no >&2; exit 1" } });
    const { outcome } = await carriedOut(bench, applyOrder);
    expect(outcome).toMatchObject({
      kind: "failed",
      stage: "outputs",
      reason: "TFExecOutputFailed",
      message: "no",
    });
  });

  test("though somebody wants the run to stop: outputs can be read later", async () => {
    const bench = await setUp({ script: { apply: "trap '' INT; mark deaf; sleep 1; exit 0" } });
    await put(bench);
    await bench.client.start(applyOrder, within(5_000));
    await vi.waitFor(() => expect(bench.tofu.marks()).toEqual(["deaf"]), 5_000);
    await bench.client.cancel(5_000, within(5_000));
    const events = await all(bench.client.watch(START, within(15_000)));
    expect(events.at(-1)).toMatchObject({ outcome: { kind: "applied", outputs: undefined } });
  });
});

describe("a result that is none", () => {
  test.each(["echo nonsense", "exit 0"])("of show (%s) fails without quoting it", async (show) => {
    const bench = await setUp({ script: { show } });
    const { outcome } = await carriedOut(bench);
    expect(outcome).toMatchObject({
      kind: "failed",
      stage: "show",
      message: "OpenTofu's result is not the JSON that it should be",
    });
  });
});

describe("an upgrade in the middle of a run", () => {
  const before = PROTOCOL_VERSION - 1;

  test("an engine of the next version collects the run, and starts none", async () => {
    const bench = await setUp();
    await put(bench);
    await bench.client.start(order, within(5_000));
    const next = bench.clientOf(PROTOCOL_VERSION + 1);
    const events = await all(next.watch(START, within(15_000)));
    expect(events.at(-1)).toMatchObject({ outcome: { kind: "planned" } });
    expect(String(await next.readFile("plan.bin", within(5_000)))).toBe("a plan\n");
    await expect(next.start(order, within(5_000))).rejects.toMatchObject({ code: "Incompatible" });
    await next.release(within(5_000));
    await bench.server.released;
    next.close();
  });

  test("a runner of the version before lets its run end and be collected", async () => {
    const bench = await setUp({ protocolVersion: before });
    const old = bench.clientOf(before);
    await old.putFile(inputOf("artifact.tar.gz", artifact), within(5_000));
    // The order bears the version of who writes it, which is refused by another one.
    expect(await refused(old.start(order, within(5_000)))).toContain("Nothing is started by");
    await bench.run.start(order);
    const events = await all(bench.client.watch(START, within(15_000)));
    expect(events.at(-1)).toMatchObject({ outcome: { kind: "planned" } });
    await bench.client.release(within(5_000));
    old.close();
  });
});

describe("a release", () => {
  test("before anything was started is taken", async () => {
    const bench = await setUp();
    await bench.client.release(within(5_000));
    await bench.server.released;
  });

  test("while the run goes on is refused", async () => {
    const bench = await setUp({ script: { init: "sleep 5" } });
    await put(bench);
    await bench.client.start(order, within(5_000));
    expect(await refused(bench.client.release(within(5_000)))).toContain("goes on");
    expect(existsSync(bench.folder.order)).toBe(true);
  });
});
