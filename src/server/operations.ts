import Type, { type Static, type TObject, type TSchema } from "typebox";
import {
  InfoSchema,
  KindSchema,
  LiveSchema,
  LockSchema,
  LogLineSchema,
  LogLinesSchema,
  NothingSchema,
  ObjectListSchema,
  ObjectSchema,
  StateListSchema,
  StateSummarySchema,
  StateVersionsSchema,
  WatchEventSchema,
} from "./schemas.ts";

/**
 * Every question the engine answers over HTTP, as data: the routes, the client, the checks of what
 * goes in and out, and docs/openapi.json are all made of this table.
 *
 * A version is a promise: what /v1 answers stays. Another way of saying something is /v2.
 */
export interface Operation {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** With {names} of `params`. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  readonly params: TObject;
  /** Text, whole numbers, "true" and "false", and lists of texts. */
  readonly query: TObject;
  /** Undefined: none. "bytes": as it is. */
  readonly body: TSchema | "bytes" | undefined;
  readonly answer: Answer;
  /** Status codes of refusals beside those that any request may meet (400, 401, 403, 500, 503). */
  readonly refusals: readonly number[];
}

export type Answer =
  | { readonly is: "json"; readonly status: 200 | 201; readonly schema: TSchema }
  /** 200 with a body, or 204 where there is nothing. */
  | { readonly is: "bytes"; readonly describes: string }
  /** Server-sent events of this name, and "error" as the last one of a stream that failed. */
  | { readonly is: "events"; readonly event: string; readonly schema: TSchema };

const maybe = Type.Optional;
const name = (description: string) => Type.String({ minLength: 1, maxLength: 253, description });
const flag = (description: string) => maybe(Type.Boolean({ description }));
/** Unknown parameters are refused: a slip must not widen what is asked for. */
const closed = <T extends Record<string, TSchema>>(fields: T) =>
  Type.Object(fields, { additionalProperties: false });

const none = closed({});
const key = { namespace: name("Namespace."), name: name("Name.") };
const kindOnly = closed({ kind: KindSchema });
const oneObject = closed({ kind: KindSchema, ...key });
const oneKey = closed(key);
const oneState = closed({ ...key, workspace: name("Workspace, such as default.") });
const oneRescued = closed({
  ...key,
  workspace: name("Workspace, such as default."),
  id: name("Id of a version that is kept aside."),
});
const oneVersion = closed({
  ...key,
  workspace: name("Workspace, such as default."),
  id: name("Id of an earlier version."),
});
const namespace = maybe(name("Only this namespace; all without it."));
const logQuery = closed({
  runId: maybe(name("Only this run.")),
  tail: maybe(
    Type.Integer({ minimum: 0, maximum: 999_999_999, description: "Only so many newest lines." }),
  ),
});
const forced = closed({ force: flag("Without a look at lineage and serial.") });

const get = { method: "GET", body: undefined, refusals: [] } as const;
const json = <T extends TSchema>(schema: T) => ({ is: "json", status: 200, schema }) as const;
const events = <E extends string, T extends TSchema>(event: E, schema: T) =>
  ({ is: "events", event, schema }) as const;

export const operations = {
  info: {
    ...get,
    path: "/v1/info",
    summary: "Which engine this is, and what it carries now",
    params: none,
    query: none,
    answer: json(InfoSchema),
  },
  liveRun: {
    ...get,
    path: "/v1/live/{namespace}/{name}",
    summary: "What the engine knows of an object's run at this moment",
    params: oneKey,
    query: none,
    answer: json(LiveSchema),
  },
  listObjects: {
    ...get,
    path: "/v1/objects/{kind}",
    summary: "Objects of a kind",
    params: kindOnly,
    query: closed({
      namespace,
      label: maybe(
        Type.Array(Type.String({ pattern: "^[^=]+=", description: "NAME=VALUE; all must hold." })),
      ),
    }),
    answer: json(ObjectListSchema),
  },
  createObject: {
    method: "POST",
    path: "/v1/objects/{kind}",
    summary: "Create an object",
    params: kindOnly,
    query: none,
    body: ObjectSchema,
    answer: { is: "json", status: 201, schema: ObjectSchema },
    refusals: [409, 413, 422],
  },
  readObject: {
    ...get,
    path: "/v1/objects/{kind}/{namespace}/{name}",
    summary: "One object",
    params: oneObject,
    query: none,
    answer: json(ObjectSchema),
    refusals: [404],
  },
  updateObject: {
    method: "PUT",
    path: "/v1/objects/{kind}/{namespace}/{name}",
    summary: "Change an object",
    description:
      "The object carries the resourceVersion that was read; 409 if it has moved on since. " +
      "part=status changes the status alone, main all but the status.",
    params: oneObject,
    query: closed({
      part: maybe(Type.Unsafe<"main" | "status">({ type: "string", enum: ["main", "status"] })),
    }),
    body: ObjectSchema,
    answer: json(ObjectSchema),
    refusals: [404, 409, 413, 422],
  },
  deleteObject: {
    method: "DELETE",
    path: "/v1/objects/{kind}/{namespace}/{name}",
    summary: "Delete an object",
    description: "One with finalizers is marked, and goes when the last of them is removed.",
    params: oneObject,
    query: closed({
      uid: maybe(name("Only if it has this uid.")),
      resourceVersion: maybe(name("Only if it is at this version.")),
    }),
    body: undefined,
    answer: json(NothingSchema),
    refusals: [404, 409],
  },
  watchObjects: {
    ...get,
    path: "/v1/watch/{kind}",
    summary: "Changes of a kind's objects, from a version on",
    description:
      "Each event's id is a resourceVersion: a reader that was cut off goes on with the last " +
      "one, as resourceVersion or in the header Last-Event-ID. Where changes since then are no " +
      "longer kept, the one event is an error of kind store, code Expired: list again. A " +
      "bookmark comes every 30 s, a comment every 5 s.",
    params: kindOnly,
    query: closed({
      namespace,
      resourceVersion: maybe(name("Changes after this version; Last-Event-ID counts more.")),
    }),
    answer: events("change", WatchEventSchema),
  },
  readLogs: {
    ...get,
    path: "/v1/logs/{namespace}/{name}",
    summary: "Log lines of an object's last runs, oldest first",
    params: oneKey,
    query: logQuery,
    answer: json(LogLinesSchema),
  },
  followLogs: {
    ...get,
    path: "/v1/follow/{namespace}/{name}",
    summary: "The same, and then what comes",
    description: "A reader that falls 10,000 lines behind is cut off with an error of kind slow.",
    params: oneKey,
    query: logQuery,
    answer: events("line", LogLineSchema),
  },
  listStates: {
    ...get,
    path: "/v1/states",
    summary: "States that Nigari keeps",
    params: none,
    query: none,
    answer: json(StateListSchema),
  },
  readState: {
    ...get,
    path: "/v1/states/{namespace}/{name}/{workspace}",
    summary: "A state as OpenTofu wrote it; it may hold secrets",
    params: oneState,
    query: closed({ version: maybe(name("An older version, or one kept aside.")) }),
    answer: { is: "bytes", describes: "The state; 204 if there is none." },
  },
  pushState: {
    method: "PUT",
    path: "/v1/states/{namespace}/{name}/{workspace}",
    summary: "Make this content the current state",
    params: oneState,
    query: forced,
    body: "bytes",
    answer: json(StateSummarySchema),
    refusals: [409, 413],
  },
  stateVersions: {
    ...get,
    path: "/v1/states/{namespace}/{name}/{workspace}/versions",
    summary: "Every version that is kept, newest first",
    params: oneState,
    query: none,
    answer: json(StateVersionsSchema),
  },
  rollbackState: {
    method: "POST",
    path: "/v1/states/{namespace}/{name}/{workspace}/versions/{id}",
    summary: "Make an earlier version current once more, with a higher serial",
    params: oneVersion,
    query: closed({ force: flag("Also to a version of another lineage.") }),
    body: undefined,
    answer: json(StateSummarySchema),
    refusals: [409],
  },
  unlockState: {
    method: "POST",
    path: "/v1/states/{namespace}/{name}/{workspace}/unlock",
    summary: "Release a lock whose holder is dead on proof; who lives is named",
    params: oneState,
    query: closed({ lock: maybe(name("Only the lock of this id.")) }),
    body: undefined,
    answer: json(LockSchema),
    refusals: [409],
  },
  acceptRescued: {
    method: "POST",
    path: "/v1/states/{namespace}/{name}/{workspace}/rescued/{id}",
    summary: "Make a version kept aside the current state",
    params: oneRescued,
    query: forced,
    body: undefined,
    answer: json(StateSummarySchema),
    refusals: [409],
  },
  dropRescued: {
    method: "DELETE",
    path: "/v1/states/{namespace}/{name}/{workspace}/rescued/{id}",
    summary: "Forget a version kept aside",
    params: oneRescued,
    query: none,
    body: undefined,
    answer: json(NothingSchema),
    refusals: [409],
  },
} as const satisfies Record<string, Operation>;

export type Operations = typeof operations;
export type OperationName = keyof Operations;

/** What an operation is asked with, as code sees it. */
export interface Input<N extends OperationName> {
  readonly params: Static<Operations[N]["params"]>;
  readonly query: Static<Operations[N]["query"]>;
  readonly body: BodyOf<Operations[N]["body"]>;
}
type BodyOf<B> = B extends "bytes" ? Uint8Array : B extends TSchema ? Static<B> : undefined;

/** What it answers; for events, one of them. */
export type Output<N extends OperationName> = OutputOf<Operations[N]["answer"]>;
type OutputOf<A> = A extends { is: "json" | "events"; schema: infer S extends TSchema }
  ? Static<S>
  : A extends { is: "bytes" }
    ? Uint8Array | undefined
    : never;

export type Streams = {
  [N in OperationName]: Operations[N]["answer"] extends { is: "events" } ? N : never;
}[OperationName];
export type Unary = Exclude<OperationName, Streams>;
