import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { EngineWorld } from "../../src/testing/harness/engine-world.ts";
import { SECRET } from "../../src/testing/harness/estate.ts";
import { leaksOf, openToOthers } from "../../src/testing/harness/secrecy.ts";
import { readyText, type Subject } from "../../src/testing/harness/subject.ts";

// Children as nobody wants them, as a person meets them: each object says what it was, and gives
// its place free; whoever is mended goes on. And children that tell everything they know.

const resources = [{ name: "one" }];
/** Bytes of a run's log at most. */
const LOG_BYTES = 9 << 20;

let world: EngineWorld;
beforeAll(() => {
  world = new EngineWorld();
});
afterAll(() => world.close());

/** Its run has failed, and Ready says why. */
async function failing(subject: Subject, why: RegExp): Promise<void> {
  const { object } = await subject.when("its failure is told", (each) => {
    return each.status?.run === undefined && why.test(readyText(each));
  });
  expect(object.status?.lastRun).toMatchObject({ outcome: "failed" });
  expect(object.status?.held).toBeUndefined();
}

async function mended(subject: Subject): Promise<void> {
  await subject.settled();
  expect(subject.workspace.actions()).toEqual({ "create terraform_data.one": 1 });
}

const stories: Record<string, (subject: Subject) => Promise<void>> = {
  async "asks-for-input"(subject) {
    await failing(subject, /^False TFExecInitFailed: error running Init: .*no input/s);
    subject.letGo("init");
    await mended(subject);
  },
  async "panics-in-plan"(subject) {
    await failing(subject, /^False TFExecPlanFailed: error running Plan: .*panic: runtime error/s);
    subject.letGo("plan");
    await mended(subject);
  },
  async "panics-in-apply"(subject) {
    const told = /^False TFExecApplyFailed: error running Apply: .*panic: runtime error/s;
    await failing(subject, told);
    subject.letGo("apply");
    await mended(subject);
  },
  async floods(subject) {
    await mended(subject);
    const folder = join(world.dataDir, "logs/default", subject.name);
    const sizes = readdirSync(folder).map((name) => statSync(join(folder, name)).size);
    expect(Math.max(...sizes)).toBeLessThan(LOG_BYTES);
  },
  async "leaves-a-grandchild"(subject) {
    await mended(subject);
  },
  async "ignores-signals"(subject) {
    await subject.begun("init");
    await world.remove(subject);
    await subject.gone(30_000);
    expect(subject.workspace.actions()).toEqual({});
  },
};

test("what children do wrong is told, costs no place, and stays with its object", async () => {
  const { gate } = world;
  const subjects = Object.keys(stories).map((name) => world.add(name, { resources }));
  gate.set("init", "ask", "asks-for-input");
  gate.set("plan", "panic", "panics-in-plan");
  gate.set("apply", "panic", "panics-in-apply");
  gate.set("plan", "flood", "floods");
  gate.set("plan", "leave-grandchild", "leaves-a-grandchild");
  gate.set("init", "ignore-signals", "ignores-signals");
  world.estate.commit();
  if (!world.runs) await world.start();
  await Promise.all(subjects.map((subject) => stories[subject.name]?.(subject)));
  await world.untilQuiet();
  expect(world.bugs()).toEqual([]);
});

/** Tells all it knows, and fails with it. */
const telltale = `
resource "terraform_data" "telltale" {
  input = nonsensitive(var.secret)
  provisioner "local-exec" {
    command = "cat ~/.told told.txt *.auto.tfvars.json; echo said ${SECRET}; env; env | base64 -w0"
  }
  provisioner "local-exec" {
    command = "(env; cat *.tfvars.json) >&2; exit $(cat '@')"
  }
}
variable "values" {
  type = any
}
output "told" {
  value = [nonsensitive(var.secret), var.values, file("told.txt")]
}
`;

test("no secret is in a log, an event, a condition or a file, whoever tells it", async () => {
  const failure = join(world.scratch, "exit-code");
  const secretRef = { name: "vars", key: "secret" };
  const spec = {
    storeReadablePlan: "human" as const,
    readInputsFromSecrets: [{ name: "vars", as: "vars" }],
    values: { told: "over $\u007b{ .vars.secret }}" },
    fileMappings: [
      { secretRef, location: "home" as const, path: ".told" },
      { secretRef, location: "workspace" as const, path: "told.txt" },
    ],
    runnerPodTemplate: { spec: { envFrom: [{ prefix: "TOLD_", secretRef: { name: "vars" } }] } },
  };
  const set = (code: number) => writeFileSync(failure, `${code}`);
  set(7);
  const more = telltale.replace("@", failure);
  const subject = world.add("telltale", { resources, spec, more });
  world.estate.commit();
  if (!world.runs) await world.start({ NIGARI_LOG_LEVEL: "debug" });
  await subject.when("it fails, and tells", (object) => {
    return /^False TFExecApplyFailed: .*exit status 7/s.test(readyText(object));
  });
  expect(subject.ready).toContain("(sensitive value)");
  const logs = await world.nigari("logs", "telltale");
  expect(logs.out).toMatch(/said \(sensitive value\)/);
  expect(logs.out).toContain("TF_HTTP_PASSWORD=(sensitive value)");
  expect(logs.out).toContain("TOLD_secret=(sensitive value)");
  expect(logs.out).toContain('{"told":"over (sensitive value)"}');
  expect(world.traces.passwords.length).toBeGreaterThan(0);
  expect(await leaksOf(world)).toEqual([]);
  set(0);
  await subject.settled();
  await world.untilQuiet();
  expect(openToOthers(world)).toEqual([]);
  expect(await leaksOf(world)).toEqual([]);
});
