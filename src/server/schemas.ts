import Type, { type Static } from "typebox";
import { type AnyObject, type KindName, kindNames, kinds } from "../api/kinds.ts";
import { stages, verdicts } from "../api/terraform.ts";
import type { EngineInfo } from "../ports/engine.ts";
import type { StoreErrorCode, WatchEvent } from "../ports/object-store.ts";
import type { LiveRun, LogLine } from "../ports/runs.ts";
import type { StateSummary, StateVersion } from "../ports/state.ts";

/**
 * What travels over the interface. These schemas are its one source: requests and answers are held
 * against them, and docs/openapi.json is made of them. Fields that are not named here may be added
 * to answers at any time, so a reader leaves unknown ones alone. Such a field has a default, which
 * a reader puts where an engine of before says nothing of it.
 */
const maybe = Type.Optional;
const text = (description: string) => Type.String({ description });
const count = (description: string) => Type.Integer({ minimum: 0, description });
const oneOf = <T extends string>(values: readonly T[]) =>
  Type.Unsafe<T>({ type: "string", enum: [...values] });

const key = { namespace: Type.String(), name: Type.String() };

/** The store itself judges an object's fields, in better words; here only what it is. */
export const ObjectSchema = Type.Unsafe<AnyObject>(
  Type.Object({
    apiVersion: Type.String(),
    kind: oneOf(kindNames),
    metadata: Type.Object({}),
  }),
);

export const ObjectListSchema = Type.Object({
  resourceVersion: text("Watch from here to miss nothing."),
  items: Type.Array(ObjectSchema),
});

export const WatchEventSchema = Type.Unsafe<WatchEvent<AnyObject>>(
  Type.Union([
    Type.Object({ type: oneOf(["ADDED", "MODIFIED", "DELETED"]), object: ObjectSchema }),
    Type.Object({ type: Type.Literal("BOOKMARK"), resourceVersion: Type.String() }),
  ]),
);

export const InfoSchema = Type.Object({
  pid: Type.Integer(),
  version: text("Of the engine."),
  since: text("RFC 3339."),
  command: text("How it was started."),
  dataDir: Type.String(),
  epoch: count("Grows each time an engine takes the data directory."),
  lagMs: Type.Number({
    default: 0,
    description: "How late the engine itself was in the last seconds.",
  }),
  runs: Type.Array(Type.Object({ ...key, runId: Type.String() })),
  slots: Type.Object({ taken: Type.Integer(), all: Type.Integer() }),
});

const LiveRunSchema = Type.Object({
  runId: Type.String(),
  stage: oneOf(stages),
  verdict: oneOf(verdicts),
  silentMs: Type.Number({ description: "Since the last sign of life." }),
  progress: maybe(Type.Object({ done: Type.Integer(), total: Type.Integer() })),
  inFlight: Type.Array(Type.String(), { description: "Resources that are being changed." }),
});
export const LiveSchema = Type.Object({ run: maybe(LiveRunSchema) });

export const LogLineSchema = Type.Object({
  at: text("RFC 3339."),
  runId: Type.String(),
  stage: oneOf(stages),
  text: text("Masked."),
});
export const LogLinesSchema = Type.Object({ lines: Type.Array(LogLineSchema) });

export const LockSchema = Type.Object({
  id: Type.String(),
  operation: text("As OpenTofu wrote it, such as OperationTypeApply."),
  who: Type.String(),
  created: text("RFC 3339."),
  runId: maybe(text("The run that took it; absent for a stranger's.")),
});
const RescuedSchema = Type.Object({
  id: Type.String(),
  runId: Type.String(),
  serial: Type.Integer(),
  at: text("RFC 3339."),
});
export const StateSummarySchema = Type.Object({
  ...key,
  workspace: Type.String(),
  serial: Type.Integer(),
  lineage: Type.String(),
  sizeBytes: Type.Integer(),
  updatedAt: text("RFC 3339."),
  lock: maybe(LockSchema),
  rescued: Type.Array(RescuedSchema, { description: "Kept aside until a person decides." }),
});
export const StateListSchema = Type.Object({ items: Type.Array(StateSummarySchema) });

const StateVersionSchema = Type.Object({
  id: Type.String(),
  serial: Type.Integer(),
  lineage: Type.String(),
  resources: maybe(
    Type.Integer({ description: "Managed resources in it; absent where it does not say." }),
  ),
  sizeBytes: Type.Integer(),
  at: text("RFC 3339."),
  runId: maybe(text("The run that wrote it; absent for a person.")),
  kept: oneOf(["current", "history", "aside"]),
});
export const StateVersionsSchema = Type.Object({ items: Type.Array(StateVersionSchema) });

export const NothingSchema = Type.Object({});

const STORE_CODES = [
  "NotFound",
  "AlreadyExists",
  "Conflict",
  "Invalid",
  "Expired",
  "Forbidden",
  "NoSuchKind",
  "Unavailable",
] as const satisfies readonly StoreErrorCode[];

export const ErrorSchema = Type.Object({
  error: Type.Object({
    kind: Type.Unsafe<ErrorKind>({
      type: "string",
      description:
        "store: the object store refused, see code. state-refused, state-damaged: a state. " +
        "request: not understood. denied: no right to ask. slow: a reader of a stream did not " +
        "keep up. late: no answer in time. internal: the engine's log says why. More may come.",
    }),
    code: maybe(oneOf(STORE_CODES)),
    message: text("For people: what is wrong, and the mend."),
  }),
});
export type ErrorKind =
  | "store"
  | "state-refused"
  | "state-damaged"
  | "request"
  | "denied"
  | "slow"
  | "late"
  | "internal";
export type WireError = Static<typeof ErrorSchema>;

/** Schemas that have a name in the document. */
export const namedSchemas: ReadonlyMap<object, string> = new Map<object, string>([
  ...kindNames.map((kind): [object, string] => [kinds[kind].schema, kind]),
  [ObjectSchema, "AnyObject"],
  [ObjectListSchema, "ObjectList"],
  [WatchEventSchema, "WatchEvent"],
  [InfoSchema, "EngineInfo"],
  [LiveSchema, "Live"],
  [LiveRunSchema, "LiveRun"],
  [LogLineSchema, "LogLine"],
  [LogLinesSchema, "LogLines"],
  [LockSchema, "Lock"],
  [StateSummarySchema, "StateSummary"],
  [StateListSchema, "StateList"],
  [StateVersionSchema, "StateVersion"],
  [StateVersionsSchema, "StateVersions"],
  [ErrorSchema, "Error"],
]);

/** The parameters that name a kind. */
export const KindSchema = Type.Unsafe<KindName>({ type: "string", enum: [...kindNames] });

/**
 * Schemas and ports say the same: a field that only one of them knows does not compile. Optional
 * fields may be undefined in a port and are left out in JSON.
 */
type Fields<T> = { readonly [K in keyof T]-?: true };
type SameFields<Wire, Port> =
  Fields<Wire> extends Fields<Port> ? (Fields<Port> extends Fields<Wire> ? true : never) : never;
export const agreed: readonly [
  SameFields<Static<typeof InfoSchema>, EngineInfo>,
  SameFields<Static<typeof LiveRunSchema>, LiveRun>,
  SameFields<Static<typeof LogLineSchema>, LogLine>,
  SameFields<Static<typeof StateSummarySchema>, StateSummary>,
  SameFields<Static<typeof StateVersionSchema>, StateVersion>,
] = [true, true, true, true, true];
