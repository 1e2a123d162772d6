import { create, fromJsonString, type MessageInitShape, toJsonString } from "@bufbuild/protobuf";
import type { Stage } from "../api/terraform.ts";
import type {
  HealthFact,
  Inventory,
  LockFact,
  OutputFact,
  PlannedOn,
  RunOutcome,
} from "../domain/facts.ts";
import type { RunEvent, StartOrder } from "../ports/runner.ts";
import {
  type Entry,
  EntrySchema,
  FileLocation,
  type Health,
  type HealthCheck,
  HealthCheckType,
  type Inventory as InventoryMessage,
  type Lock,
  Operation,
  type Outcome,
  type OutcomeSchema,
  type Outputs,
  ProgressState,
  ReadablePlan,
  type StartRequest,
  StartRequestSchema,
} from "./generated/runner_pb.ts";
import { PROTOCOL_VERSION } from "./run-folder.ts";

// The words of the port (src/ports/runner.ts) and the messages of proto/runner.proto, both ways.

export type { HealthFact, Inventory, PlanSummary, RunOutcome } from "../domain/facts.ts";
export { type RunEvent, runFiles, type StartOrder } from "../ports/runner.ts";

/** What the journal holds: the events that have a sequence number. */
export type JournalEvent = Extract<RunEvent, { sequence: number }>;
type WithoutSequence<T> = T extends unknown ? Omit<T, "sequence"> : never;
/** A journal event that has not got its number yet. */
export type JournalBody = WithoutSequence<JournalEvent>;

/** A message that says something this version has no word for. */
export class MessageError extends Error {
  override readonly name = "MessageError";
}

/** Every stage. The API's own list would bring its schema library into the runner. */
const stages: Readonly<Record<Stage, true>> = {
  launch: true,
  artifact: true,
  init: true,
  workspace: true,
  plan: true,
  show: true,
  apply: true,
  outputs: true,
  health: true,
  collect: true,
};

/** Stage names on the wire are those of the API; one that is not known is an error. */
export function stageFrom(name: string): Stage {
  if (Object.hasOwn(stages, name)) return name as Stage;
  throw new MessageError(`Stage "${name}" is not known to this version`);
}

const readablePlans = {
  none: ReadablePlan.NONE,
  json: ReadablePlan.JSON,
  human: ReadablePlan.HUMAN,
} as const;

const locations = { home: FileLocation.HOME, workspace: FileLocation.WORKSPACE } as const;

export function orderToMessage(order: StartOrder): StartRequest {
  const { planDigest, backend, cliConfig, unlock, stateTofuVersion, ...rest } = order;
  const limits = Object.entries(order.stageLimitMs);
  return create(StartRequestSchema, {
    ...rest,
    ...(planDigest === undefined ? {} : { planDigest }),
    ...(backend === undefined ? {} : { backend }),
    ...(cliConfig === undefined ? {} : { cliConfig }),
    files: order.files.map((file) => ({ ...file, location: locations[file.location] })),
    ...(unlock === undefined ? {} : { unlock }),
    ...(stateTofuVersion === undefined ? {} : { stateTofuVersion }),
    healthChecks: order.healthChecks.map(({ type, timeoutMs, ...each }) => ({
      ...each,
      type: healthCheckTypes[type],
      timeoutMs: BigInt(timeoutMs),
    })),
    outputNames: { ...order.outputNames },
    protocolVersion: PROTOCOL_VERSION,
    epoch: BigInt(order.epoch),
    operation: order.operation === "plan" ? Operation.PLAN : Operation.APPLY,
    env: { ...order.env },
    backendConfig: { ...order.backendConfig },
    targets: [...order.targets],
    varFiles: [...order.varFiles],
    sensitive: [...order.sensitive],
    readablePlan: readablePlans[order.readablePlan],
    stageLimitMs: Object.fromEntries(limits.map(([stage, ms]) => [stage, BigInt(ms)])),
    outputLimitBytes: BigInt(order.outputLimitBytes),
  });
}

export function orderFromMessage(message: StartRequest): StartOrder {
  const { $typeName: _, $unknown: __, protocolVersion: ___, ...rest } = message;
  const readable = Object.entries(readablePlans).find(([, value]) => value === rest.readablePlan);
  return {
    ...rest,
    planDigest: rest.planDigest,
    backend: rest.backend,
    cliConfig: rest.cliConfig,
    files: rest.files.map(({ location, path, content }) => ({
      location: locationFrom(location),
      path,
      content,
    })),
    epoch: Number(rest.epoch),
    operation: operationFrom(rest.operation),
    readablePlan: (readable?.[0] ?? "none") as StartOrder["readablePlan"],
    stageLimitMs: Object.fromEntries(
      Object.entries(rest.stageLimitMs).map(([stage, ms]) => [stageFrom(stage), Number(ms)]),
    ),
    outputLimitBytes: Number(rest.outputLimitBytes),
    healthChecks: rest.healthChecks.map(healthCheckFrom),
    unlock: rest.unlock,
    stateTofuVersion: rest.stateTofuVersion,
  };
}

function locationFrom(location: FileLocation): StartOrder["files"][number]["location"] {
  if (location === FileLocation.HOME) return "home";
  if (location === FileLocation.WORKSPACE) return "workspace";
  throw new MessageError(`File location ${location} is not known to this version`);
}

const healthCheckTypes = { tcp: HealthCheckType.TCP, http: HealthCheckType.HTTP } as const;

function healthCheckFrom({ name, type, target, timeoutMs }: HealthCheck) {
  const found = Object.entries(healthCheckTypes).find(([, value]) => value === type);
  if (found === undefined) {
    throw new MessageError(`Health check ${name} is of a type not known to this version`);
  }
  const known = found[0] as keyof typeof healthCheckTypes;
  return { name, type: known, target, timeoutMs: Number(timeoutMs) };
}

/** order.json. */
export function orderToText(order: StartOrder): string {
  return toJsonString(StartRequestSchema, orderToMessage(order));
}

export function orderFromText(text: string): StartOrder {
  const message = fromJsonString(StartRequestSchema, text, { ignoreUnknownFields: true });
  return orderFromMessage(message);
}

function operationFrom(operation: Operation): StartOrder["operation"] {
  if (operation === Operation.PLAN) return "plan";
  if (operation === Operation.APPLY) return "apply";
  throw new MessageError(`Operation ${operation} is not known to this version`);
}

const progressStates = {
  started: ProgressState.STARTED,
  done: ProgressState.DONE,
  failed: ProgressState.FAILED,
} as const;

export function entryToMessage(event: JournalEvent): Entry {
  const sequence = BigInt(event.sequence);
  if (event.type === "stage") {
    const { stage, at } = event;
    return create(EntrySchema, { sequence, body: { case: "stage", value: { stage, at } } });
  }
  if (event.type === "progress") {
    const { resource, action } = event;
    const value = { resource, action, state: progressStates[event.state] };
    return create(EntrySchema, { sequence, body: { case: "progress", value } });
  }
  const value = outcomeToMessage(event.outcome);
  return create(EntrySchema, { sequence, body: { case: "outcome", value } });
}

export function entryFromMessage(message: Entry): JournalEvent {
  const sequence = Number(message.sequence);
  const { body } = message;
  switch (body.case) {
    case "stage":
      return { type: "stage", sequence, stage: stageFrom(body.value.stage), at: body.value.at };
    case "progress": {
      const { resource, action } = body.value;
      const state = Object.entries(progressStates).find(([, value]) => value === body.value.state);
      const known = (state?.[0] ?? "started") as keyof typeof progressStates;
      return { type: "progress", sequence, resource, action, state: known };
    }
    case "outcome":
      return { type: "outcome", sequence, outcome: outcomeFromMessage(body.value) };
    default:
      throw new MessageError(`Journal entry ${sequence} is of a kind not known to this version`);
  }
}

type OutcomeMessage = MessageInitShape<typeof OutcomeSchema>;

function outcomeToMessage(outcome: RunOutcome): OutcomeMessage {
  switch (outcome.kind) {
    case "planned": {
      const { changes, summary, planDigest, nothingToDestroy } = outcome;
      const found = foundToMessage(outcome);
      const on = outcome.state === undefined ? {} : { plannedOn: plannedOnTo(outcome.state) };
      const told = { ...found, ...on, warnings: [...(outcome.warnings ?? [])] };
      const value = { changes, ...summary, planDigest, nothingToDestroy, ...told };
      return { kind: { case: "planned", value } };
    }
    case "applied":
      return { kind: { case: "applied", value: foundToMessage(outcome) } };
    case "failed": {
      const { kind: _, exitCode, lock, unrecorded, ...rest } = outcome;
      const value = {
        ...rest,
        unrecorded: [...unrecorded],
        ...(exitCode === undefined ? {} : { exitCode }),
        ...(lock === undefined ? {} : { lock: lockToMessage(lock) }),
      };
      return { kind: { case: "failed", value } };
    }
    case "cancelled": {
      const { stage, message } = outcome;
      return { kind: { case: "cancelled", value: { stage, message } } };
    }
    case "orphaned": {
      const { stage, exitCode, unrecorded, stateRescued } = outcome;
      const exit = exitCode === undefined ? {} : { exitCode };
      const value = { stage, ...exit, unrecorded: [...unrecorded], stateRescued };
      return { kind: { case: "orphaned", value } };
    }
  }
}

function outcomeFromMessage({ kind }: Outcome): RunOutcome {
  switch (kind.case) {
    case "planned": {
      const { changes, planDigest, nothingToDestroy } = kind.value;
      const { add, change, destroy, import: imported } = kind.value;
      const summary = { add, change, destroy, import: imported };
      const found = foundFromMessage(kind.value);
      const { warnings } = kind.value;
      const told = {
        ...found,
        ...plannedOnFrom(kind.value.plannedOn),
        ...(warnings.length === 0 ? {} : { warnings }),
      };
      return { kind: "planned", changes, summary, planDigest, nothingToDestroy, ...told };
    }
    case "applied":
      return { kind: "applied", ...foundFromMessage(kind.value) };
    case "failed": {
      const { $typeName: _, $unknown: __, ...rest } = kind.value;
      const stage = stageFrom(rest.stage);
      const lock = lockFromMessage(rest.lock);
      return { ...rest, kind: "failed", stage, exitCode: rest.exitCode, lock };
    }
    case "cancelled":
      return { ...stageAndMessage(kind.value), kind: "cancelled" };
    case "orphaned": {
      const { exitCode, unrecorded, stateRescued } = kind.value;
      const stage = stageFrom(kind.value.stage);
      return { kind: "orphaned", stage, exitCode, unrecorded, stateRescued };
    }
    default:
      throw new MessageError("The outcome is of a kind not known to this version");
  }
}

function plannedOnTo(state: PlannedOn) {
  if (state.state === "absent") return { serial: 0n, lineage: "" };
  const { serial, lineage, resources } = state;
  return { serial: BigInt(serial), lineage, ...(resources === undefined ? {} : { resources }) };
}

function plannedOnFrom(
  found: { serial: bigint; lineage: string; resources?: number | undefined } | undefined,
): { state?: PlannedOn } {
  if (found === undefined) return {};
  const { lineage, resources } = found;
  if (lineage === "") return { state: { state: "absent" } };
  return { state: { state: "present", serial: Number(found.serial), lineage, resources } };
}

function stageAndMessage({ stage, message }: { stage: string; message: string }) {
  return { stage: stageFrom(stage), message };
}

/** What a run that did its work has found besides. */
interface Found {
  readonly outputs: readonly OutputFact[] | undefined;
  readonly health?: readonly HealthFact[] | undefined;
  readonly inventory?: Inventory | undefined;
}

function foundToMessage({ outputs, health, inventory }: Found) {
  const items = inventory?.entries.map(({ n, t, id }) => ({ name: n, type: t, id }));
  return {
    ...outputsToMessage(outputs),
    ...(health === undefined ? {} : { health: { items: health.map(healthToMessage) } }),
    ...(inventory === undefined ? {} : { inventory: { items: items ?? [], more: inventory.more } }),
  };
}

function healthToMessage({ name, trouble }: HealthFact) {
  return { name, ...(trouble === undefined ? {} : { trouble }) };
}

function foundFromMessage(message: {
  readonly outputs?: Outputs | undefined;
  readonly health?: Health | undefined;
  readonly inventory?: InventoryMessage | undefined;
}): Found {
  const { health, inventory } = message;
  const checks = health?.items.map(({ name, trouble }) => ({ name, trouble }));
  const entries = inventory?.items.map(({ name, type, id }) => ({ n: name, t: type, id }));
  return {
    outputs: outputsFromMessage(message.outputs),
    ...(checks === undefined ? {} : { health: checks }),
    ...(entries === undefined ? {} : { inventory: { entries, more: inventory?.more ?? 0 } }),
  };
}

function outputsToMessage(outputs: readonly OutputFact[] | undefined): {
  outputs?: { items: OutputFact[] };
} {
  return outputs === undefined ? {} : { outputs: { items: [...outputs] } };
}

function outputsFromMessage(outputs: Outputs | undefined): OutputFact[] | undefined {
  return outputs?.items.map(({ name, sensitive }) => ({ name, sensitive }));
}

function lockToMessage({ id, operation, who, created }: LockFact) {
  return { id, operation, who, created };
}

/** Which run of ours took a lock is known to the engine, not to the runner. */
function lockFromMessage(lock: Lock | undefined): LockFact | undefined {
  if (lock === undefined) return undefined;
  const { id, operation, who, created } = lock;
  return { id, operation, who, created, runId: undefined };
}
