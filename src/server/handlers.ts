import { type AnyObject, type KindName, keyOf } from "../api/kinds.ts";
import type { Call } from "../ports/call.ts";
import type { Clock } from "../ports/clock.ts";
import type { EngineInfo } from "../ports/engine.ts";
import type { Log } from "../ports/log.ts";
import { describeRef, type ObjectStore, StoreError } from "../ports/object-store.ts";
import type { LiveRuns, LogOptions, RunLogs } from "../ports/runs.ts";
import type { StateAdmin, StateUnlocker } from "../ports/state.ts";
import { BadRequest } from "./check.ts";
import type { Input, Output, Streams, Unary } from "./operations.ts";
import type { Probes } from "./probes.ts";
import type { WireMessage } from "./wire.ts";

/** Everything the interface hands on to. */
export interface ServedEngine {
  readonly store: ObjectStore;
  readonly logs: RunLogs;
  /** Undefined where Nigari keeps no states. */
  readonly states: StateAdmin | undefined;
  readonly unlocker?: StateUnlocker;
  readonly live: LiveRuns;
  readonly info: () => EngineInfo;
  /** For monitoring; nothing is told without them. */
  readonly probes?: Probes;
  readonly clock: Clock;
  readonly log: Log;
}

export type Asked<N extends Unary | Streams> = Input<N> & {
  /** Where a reader that was cut off goes on. */
  readonly lastEventId: string | undefined;
};
export type Handlers = {
  readonly [N in Unary]: (asked: Asked<N>, call: Call) => Promise<Output<N>> | Output<N>;
} & {
  readonly [N in Streams]: (asked: Asked<N>, call: Call) => AsyncIterable<WireMessage>;
};

/** What answers each operation. */
export function handlersOf(engine: ServedEngine): Handlers {
  return {
    info: () => mutable(engine.info()),
    liveRun: ({ params }) => {
      const run = engine.live.describe(params);
      return run === undefined ? {} : { run: mutable(run) };
    },
    ...objectHandlers(engine.store),
    ...logHandlers(engine.logs),
    async unlockState({ params, query }, call) {
      if (engine.unlocker !== undefined) {
        return mutable(await engine.unlocker.unlock(params, query.lock, call));
      }
      throw new BadRequest("This engine keeps no states of its own");
    },
    ...stateHandlers(() => {
      if (engine.states !== undefined) return engine.states;
      throw new BadRequest("This engine keeps no states of its own");
    }),
  };
}

type Named<P extends string> = Pick<Handlers, Extract<keyof Handlers, P>>;

function objectHandlers(
  store: ObjectStore,
): Named<"listObjects" | "createObject" | "readObject" | "updateObject" | "deleteObject"> &
  Named<"watchObjects"> {
  return {
    listObjects: ({ params, query }, call) => {
      const labels = Object.fromEntries((query.label ?? []).map(labelOf));
      return store.list(params.kind, { ...within(query), labels }, call);
    },
    createObject: ({ params, body }, call) => {
      mustBe(body, params);
      return store.create(body, call);
    },
    async readObject({ params }, call) {
      const object: AnyObject | undefined = await store.get(params, call);
      if (object !== undefined) return object;
      throw new StoreError("NotFound", `${describeRef(params)}: not found`);
    },
    updateObject: ({ params, query, body }, call) => {
      mustBe(body, params);
      return store.update(body, query.part ?? "main", call);
    },
    async deleteObject({ params, query }, call) {
      await store.delete(params, query, call);
      return {};
    },
    async *watchObjects({ params, query, lastEventId }, call) {
      const resourceVersion = lastEventId ?? query.resourceVersion;
      if (resourceVersion === undefined) {
        throw new BadRequest("Query lacks resourceVersion; list, and watch from what it answers");
      }
      const from = { ...within(query), resourceVersion };
      for await (const data of store.watch(params.kind, from, call)) {
        const id = data.type === "BOOKMARK" ? data.resourceVersion : versionOf(data.object);
        yield { event: "change", id, data };
      }
    },
  };
}

function within({ namespace }: { namespace?: string }): { namespace?: string } {
  return namespace === undefined ? {} : { namespace };
}

function labelOf(label: string): [string, string] {
  const at = label.indexOf("=");
  return [label.slice(0, at), label.slice(at + 1)];
}

function versionOf({ metadata }: AnyObject): string | undefined {
  return metadata.resourceVersion;
}

/** What is written is what the path names. */
function mustBe(
  object: AnyObject,
  named: { readonly kind: KindName; readonly namespace?: string; readonly name?: string },
): void {
  if (object.kind !== named.kind) throw new BadRequest(`Body.kind: must be ${named.kind}`);
  const { namespace, name } = keyOf(object);
  if (named.name !== undefined && name !== named.name) {
    throw new BadRequest(`Body.metadata.name: must be ${named.name}, as in the path`);
  }
  if (named.namespace !== undefined && namespace !== named.namespace) {
    throw new BadRequest(`Body.metadata.namespace: must be ${named.namespace}, as in the path`);
  }
}

function logHandlers(logs: RunLogs): Named<"readLogs" | "followLogs"> {
  return {
    async readLogs({ params, query }, call) {
      return { lines: mutable(await logs.read(params, optionsOf(query), call)) };
    },
    async *followLogs({ params, query }, call) {
      for await (const data of logs.follow(params, optionsOf(query), call)) {
        yield { event: "line", data };
      }
    },
  };
}

function optionsOf({ runId, tail }: { runId?: string; tail?: number }): LogOptions {
  return {
    ...(runId === undefined ? {} : { runId }),
    ...(tail === undefined ? {} : { tail }),
  };
}

function stateHandlers(
  states: () => StateAdmin,
): Named<"listStates" | "readState" | "pushState" | "stateVersions"> &
  Named<"rollbackState" | "acceptRescued" | "dropRescued"> {
  return {
    listStates: async (_asked, call) => ({ items: mutable(await states().list(call)) }),
    readState: ({ params, query }, call) => states().show(params, query.version, call),
    async pushState({ params, query, body }, call) {
      const push = { from: "content", content: body, force: query.force ?? false } as const;
      return mutable(await states().push(params, push, call));
    },
    stateVersions: async ({ params }, call) => ({
      items: mutable(await states().versions(params, call)),
    }),
    async rollbackState({ params: { id, ...state }, query }, call) {
      const to = { version: id, force: query.force ?? false };
      return mutable(await states().rollback(state, to, call));
    },
    async acceptRescued({ params: { id, ...state }, query }, call) {
      const push = { from: "rescued", id, force: query.force ?? false } as const;
      return mutable(await states().push(state, push, call));
    },
    async dropRescued({ params: { id, ...state } }, call) {
      await states().drop(state, id, call);
      return {};
    },
  };
}

/** What JSON makes of T: no readonly, and a field that is undefined is left out. */
type Plain<T> = T extends readonly (infer E)[]
  ? Plain<E>[]
  : T extends object
    ? { -readonly [K in keyof T as undefined extends T[K] ? never : K]: Plain<T[K]> } & {
        -readonly [K in keyof T as undefined extends T[K] ? K : never]?: Plain<
          Exclude<T[K], undefined>
        >;
      }
    : T;

/** The same value, as the schemas type it: it is on its way to be written as JSON. */
function mutable<T>(value: T): Plain<T> {
  return value as Plain<T>;
}
