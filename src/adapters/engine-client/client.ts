import {
  type AnyObject,
  type KindName,
  keyOf,
  type ObjectKey,
  type ObjectOf,
  type ObjectRef,
} from "../../api/kinds.ts";
import type { LockFact } from "../../domain/facts.ts";
import type { Call } from "../../ports/call.ts";
import type { Clock } from "../../ports/clock.ts";
import { EngineUnavailable, type EngineView } from "../../ports/engine.ts";
import {
  isStoreError,
  type ListOptions,
  type ObjectList,
  type ObjectStore,
  StoreError,
  type WatchEvent,
  type WatchOptions,
} from "../../ports/object-store.ts";
import type { LiveRun, LogOptions, RunLogs } from "../../ports/runs.ts";
import type {
  StateAdmin,
  StateId,
  StateSummary,
  StateUnlocker,
  StateVersion,
} from "../../ports/state.ts";
import { EngineConnection } from "./connection.ts";

/** A running engine, through its socket, by the same ports as if it were here. */
export interface EngineClient {
  readonly engine: EngineView;
  readonly store: ObjectStore;
  readonly logs: RunLogs;
  readonly states: StateAdmin;
  readonly unlocker: StateUnlocker;
}

export function connectEngine(socket: string, clock: Clock): EngineClient {
  const connection = new EngineConnection(socket, clock);
  return {
    engine: engineView(connection),
    store: objectStore(connection),
    logs: runLogs(connection),
    states: stateAdmin(connection),
    unlocker: {
      async unlock({ namespace, name, workspace }, lockId, call) {
        const query = lockId === undefined ? {} : { lock: lockId };
        const params = { namespace, name, workspace };
        return (await connection.ask("unlockState", { params, query }, call)) as LockFact;
      },
    },
  };
}

function engineView(connection: EngineConnection): EngineView {
  return {
    info: (call) => connection.ask("info", { params: {}, query: {} }, call),
    async liveRun({ namespace, name }, call) {
      const given = { params: { namespace, name }, query: {} };
      return (await connection.ask("liveRun", given, call)).run as LiveRun | undefined;
    },
  };
}

function objectStore(connection: EngineConnection): ObjectStore {
  return {
    async get<K extends KindName>({ kind, namespace, name }: ObjectRef<K>, call: Call) {
      const given = { params: { kind, namespace, name }, query: {} };
      try {
        const found = await asStoreError(call, () => connection.ask("readObject", given, call));
        return found as ObjectOf<K>;
      } catch (error) {
        if (isStoreError(error, "NotFound")) return undefined;
        throw error;
      }
    },
    async list<K extends KindName>(kind: K, where: ListOptions, call: Call) {
      const label = Object.entries(where.labels ?? {}).map(([name, value]) => `${name}=${value}`);
      const query = { ...within(where), ...(label.length === 0 ? {} : { label }) };
      const given = { params: { kind }, query };
      const list = await asStoreError(call, () => connection.ask("listObjects", given, call));
      return list as ObjectList<K>;
    },
    async create<T extends AnyObject>(object: T, call: Call) {
      const given = { params: { kind: object.kind }, query: {}, body: object };
      const made = await asStoreError(call, () => connection.ask("createObject", given, call));
      return made as ObjectOf<T["kind"]>;
    },
    async update<T extends AnyObject>(object: T, part: "main" | "status", call: Call) {
      const params = { kind: object.kind, ...keyOf(object) };
      const given = { params, query: { part }, body: object };
      const made = await asStoreError(call, () => connection.ask("updateObject", given, call));
      return made as ObjectOf<T["kind"]>;
    },
    async delete({ kind, namespace, name }, { uid, resourceVersion }, call) {
      const query = {
        ...(uid === undefined ? {} : { uid }),
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      };
      const given = { params: { kind, namespace, name }, query };
      await asStoreError(call, () => connection.ask("deleteObject", given, call));
    },
    async *watch<K extends KindName>(kind: K, from: WatchOptions, call: Call) {
      const query = { ...within(from), resourceVersion: from.resourceVersion };
      const changes = connection.stream("watchObjects", { params: { kind }, query }, call);
      try {
        for await (const change of changes) yield change as WatchEvent<ObjectOf<K>>;
      } catch (error) {
        throw storeError(error, call);
      }
    },
  };
}

function within({ namespace }: { readonly namespace?: string }): { namespace?: string } {
  return namespace === undefined ? {} : { namespace };
}

async function asStoreError<T>(call: Call, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw storeError(error, call);
  }
}

function storeError(error: unknown, call: Call): unknown {
  if (!(error instanceof EngineUnavailable)) return error;
  const cause: unknown = call.signal.aborted ? call.signal.reason : error;
  return new StoreError("Unavailable", error.message, { cause });
}

function runLogs(connection: EngineConnection): RunLogs {
  const given = ({ namespace, name }: ObjectKey, options: LogOptions) => ({
    params: { namespace, name },
    query: { ...options },
  });
  return {
    append() {
      throw new EngineUnavailable("Lines of a log are written by the engine alone");
    },
    async read(key, options, call) {
      return (await connection.ask("readLogs", given(key, options), call)).lines;
    },
    follow: (key, options, call) => connection.stream("followLogs", given(key, options), call),
  };
}

/** JSON leaves out what the ports call undefined. */
function stateAdmin(connection: EngineConnection): StateAdmin {
  const of = ({ namespace, name, workspace }: StateId) => ({ namespace, name, workspace });
  const forced = (force: boolean) => (force ? { force } : {});
  return {
    async list(call) {
      const { items } = await connection.ask("listStates", { params: {}, query: {} }, call);
      return items as StateSummary[];
    },
    show(state, version, call) {
      const query = version === undefined ? {} : { version };
      return connection.ask("readState", { params: of(state), query }, call);
    },
    async push(state, push, call) {
      const query = forced(push.force);
      const after =
        push.from === "content"
          ? connection.ask("pushState", { params: of(state), query, body: push.content }, call)
          : connection.ask("acceptRescued", { params: { ...of(state), id: push.id }, query }, call);
      return (await after) as StateSummary;
    },
    async versions(state, call) {
      const given = { params: of(state), query: {} };
      return (await connection.ask("stateVersions", given, call)).items as StateVersion[];
    },
    async rollback(state, { version, force }, call) {
      const given = { params: { ...of(state), id: version }, query: forced(force) };
      return (await connection.ask("rollbackState", given, call)) as StateSummary;
    },
    async drop(state, id, call) {
      await connection.ask("dropRescued", { params: { ...of(state), id }, query: {} }, call);
    },
  };
}
