import { fromBinary, fromJsonString, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { stages } from "../api/terraform.ts";
import type { StartOrder } from "../ports/runner.ts";
import { EntrySchema, StartRequestSchema } from "./generated/runner_pb.ts";
import {
  entryFromMessage,
  entryToMessage,
  type JournalEvent,
  orderFromMessage,
  orderFromText,
  orderToMessage,
  orderToText,
  stageFrom,
} from "./messages.ts";

const full: StartOrder = {
  runId: "run-1",
  epoch: 7,
  namespace: "team",
  name: "network",
  operation: "apply",
  destroy: true,
  path: "./live",
  artifactDigest: "aa",
  planDigest: "bb",
  env: { AWS_REGION: "eu-1" },
  variables: '{"n":12345678901234567890}',
  backend: 'terraform {\n  backend "http" {}\n}\n',
  backendConfig: { bucket: "states" },
  backendRequired: true,
  files: [
    { location: "home", path: ".aws/config", content: Uint8Array.of(0, 255, 10) },
    { location: "workspace", path: "more.tf", content: Uint8Array.of(35) },
  ],
  cliConfig: "disable_checkpoint = true",
  workspace: "prod",
  workspaceByAddress: true,
  upgrade: true,
  lock: false,
  lockTimeout: "30s",
  refresh: true,
  targets: ["a.b", 'c.d["e"]'],
  parallelism: 3,
  varFiles: ["common.tfvars"],
  readablePlan: "human",
  outputs: true,
  sensitive: ["hunter2"],
  stageLimitMs: { init: 600_000, plan: 1_800_000 },
  outputLimitBytes: 2 ** 40,
  healthChecks: [
    { name: "a", type: "tcp", target: "h:1", timeoutMs: 20_000 },
    { name: "b", type: "http", target: "http://h/x", timeoutMs: 1 },
  ],
  outputNames: { "age.key": "age_key" },
  inventory: true,
  unlock: "lock-1",
  stateTofuVersion: "1.12.6",
};

const bare: StartOrder = {
  ...full,
  operation: "plan",
  destroy: false,
  planDigest: undefined,
  backend: undefined,
  env: {},
  backendConfig: {},
  backendRequired: false,
  files: [],
  cliConfig: undefined,
  targets: [],
  varFiles: [],
  sensitive: [],
  stageLimitMs: {},
  readablePlan: "none",
  path: "",
  healthChecks: [],
  outputNames: {},
  inventory: false,
  unlock: undefined,
  stateTofuVersion: undefined,
};

describe("an order", () => {
  test.each(Object.entries({ full, bare }))("%s, survives the wire", (_, order) => {
    const bytes = toBinary(StartRequestSchema, orderToMessage(order));
    expect(orderFromMessage(fromBinary(StartRequestSchema, bytes))).toEqual(order);
  });

  test.each(Object.entries({ full, bare }))("%s, survives the disk", (_, order) => {
    expect(orderFromText(orderToText(order))).toEqual(order);
  });

  test("a field that a later version adds is no harm", () => {
    const text = orderToText(bare).replace("{", '{"addedLater":{"a":1},');
    expect(orderFromText(text)).toEqual(bare);
  });
});

const lock = {
  id: "9db590f1",
  operation: "OperationTypeApply",
  who: "root@host",
  created: "2026-08-13T12:00:00.000Z",
  runId: undefined,
};
const summary = { add: 1, change: 2, destroy: 3, import: 4 };
const outputs = [{ name: "token", sensitive: true }];

const events: Record<string, JournalEvent> = {
  "a stage": { type: "stage", sequence: 1, stage: "init", at: "2026-08-13T12:00:00.000Z" },
  "progress that began": {
    type: "progress",
    sequence: 2,
    resource: "a.b",
    action: "create",
    state: "started",
  },
  "progress that failed": {
    type: "progress",
    sequence: 3,
    resource: "a.b",
    action: "delete",
    state: "failed",
  },
  "a plan without outputs": outcome({
    kind: "planned",
    changes: true,
    summary,
    planDigest: "cc",
    nothingToDestroy: false,
    outputs: undefined,
  }),
  "a plan with warnings": outcome({
    kind: "planned",
    changes: false,
    summary,
    planDigest: "cc",
    nothingToDestroy: false,
    outputs: undefined,
    warnings: ["one", "two"],
  }),
  "a plan on a state": outcome({
    kind: "planned",
    changes: true,
    summary,
    planDigest: "cc",
    nothingToDestroy: false,
    outputs: undefined,
    state: { state: "present", serial: 7, lineage: "L", resources: 0 },
  }),
  "a plan on a state of which little is known": outcome({
    kind: "planned",
    changes: true,
    summary,
    planDigest: "cc",
    nothingToDestroy: false,
    outputs: undefined,
    state: { state: "present", serial: 7, lineage: "L", resources: undefined },
  }),
  "a plan on no state": outcome({
    kind: "planned",
    changes: true,
    summary,
    planDigest: "cc",
    nothingToDestroy: false,
    outputs: undefined,
    state: { state: "absent" },
  }),
  "a plan that found nothing and read no output at all": outcome({
    kind: "planned",
    changes: false,
    summary,
    planDigest: "cc",
    nothingToDestroy: true,
    outputs: [],
  }),
  "an apply that looked around": outcome({
    kind: "applied",
    outputs,
    health: [
      { name: "a", trouble: undefined },
      { name: "b", trouble: "no answer" },
    ],
    inventory: { entries: [{ n: "one", t: "terraform_data", id: "1" }], more: 2 },
  }),
  "an apply": outcome({ kind: "applied", outputs }),
  "an apply whose outputs nobody wants": outcome({ kind: "applied", outputs: undefined }),
  "a failure with everything": outcome({
    kind: "failed",
    stage: "apply",
    reason: "TFExecApplyFailed",
    message: "No",
    exitCode: 1,
    lock,
    planStale: true,
    stateRescued: true,
    unrecorded: ["a.b"],
  }),
  "a failure with nothing": outcome({
    kind: "failed",
    stage: "artifact",
    reason: "ArtifactFailed",
    message: "",
    exitCode: undefined,
    lock: undefined,
    planStale: false,
    stateRescued: false,
    unrecorded: [],
  }),
  "exit code 0 is not the same as none": outcome({
    kind: "orphaned",
    stage: "apply",
    exitCode: 0,
    unrecorded: [],
    stateRescued: false,
  }),
  "an orphan without exit code": outcome({
    kind: "orphaned",
    stage: "apply",
    exitCode: undefined,
    unrecorded: ["a.b"],
    stateRescued: true,
  }),
  "a cancelled run": outcome({ kind: "cancelled", stage: "plan", message: "Stopped" }),
};

function outcome(what: Extract<JournalEvent, { type: "outcome" }>["outcome"]): JournalEvent {
  return { type: "outcome", sequence: 9, outcome: what };
}

test.each(Object.entries(events))("%s survives the wire", (_, event) => {
  const bytes = toBinary(EntrySchema, entryToMessage(event));
  expect(entryFromMessage(fromBinary(EntrySchema, bytes))).toEqual(event);
});

test("every stage of the API has its name on the wire, and no other", () => {
  expect(stages.map(stageFrom)).toEqual([...stages]);
  expect(() => stageFrom("toString")).toThrow('Stage "toString" is not known to this version');
});

describe("what version 1 wrote is read by every later one", () => {
  test("an order", () => {
    const text =
      '{"protocolVersion":1,"runId":"r","epoch":"3","namespace":"n","name":"x",' +
      '"operation":"OPERATION_APPLY","path":"./","artifactDigest":"aa","planDigest":"bb",' +
      '"env":{"A":"1"},"variables":"{}","workspace":"default","lock":true,"lockTimeout":"0s",' +
      '"refresh":true,"parallelism":10,"readablePlan":"READABLE_PLAN_NONE","outputs":true,' +
      '"sensitive":["s"],"stageLimitMs":{"init":"600000"},"outputLimitBytes":"1024"}';
    expect(orderFromText(text)).toMatchObject({
      runId: "r",
      epoch: 3,
      operation: "apply",
      planDigest: "bb",
      backend: undefined,
      readablePlan: "none",
      stageLimitMs: { init: 600_000 },
      outputLimitBytes: 1024,
    });
  });

  test.each([
    ['{"sequence":"1","stage":{"stage":"init","at":"t"}}', { type: "stage", stage: "init" }],
    [
      '{"sequence":"2","progress":{"resource":"a.b","action":"create",' +
        '"state":"PROGRESS_STATE_DONE"}}',
      { type: "progress", resource: "a.b", state: "done" },
    ],
    [
      '{"sequence":"3","outcome":{"failed":{"stage":"apply","reason":"R","message":"m",' +
        '"exitCode":1,"unrecorded":["a.b"]}}}',
      { type: "outcome", outcome: { kind: "failed", exitCode: 1, unrecorded: ["a.b"] } },
    ],
  ])("a journal entry: %s", (text, expected) => {
    expect(entryFromMessage(fromJsonString(EntrySchema, text))).toMatchObject(expected);
  });
});
