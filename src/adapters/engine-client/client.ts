import {
  type AnyObject,
  type KindName,
  keyOf,
  type ObjectOf,
  type ObjectRef,
} from "../../api/kinds.ts";
import type { Call } from "../../ports/call.ts";
import type { Clock } from "../../ports/clock.ts";
import { type EngineInfo, EngineUnavailable, type EngineView } from "../../ports/engine.ts";
import {
  isStoreError,
  type ObjectStore,
  StoreError,
  type WatchEvent,
} from "../../ports/object-store.ts";
import type { LiveRun, LogLine, LogOptions, RunLogs } from "../../ports/runs.ts";
import type { StateAdmin, StateId, StateSummary, StateVersion } from "../../ports/state.ts";
import { type Ask, EngineConnection } from "./connection.ts";

/** A running engine, through its socket, by the same ports as if it were here. */
export interface EngineClient {
  readonly engine: EngineView;
  readonly store: ObjectStore;
  readonly logs: RunLogs;
  readonly states: StateAdmin;
}

export function connectEngine(socket: string, clock: Clock): EngineClient {
  const connection = new EngineConnection(socket, clock);
  return {
    engine: engineView(connection),
    store: objectStore(connection),
    logs: runLogs(connection),
    states: stateAdmin(connection),
  };
}

function engineView(connection: EngineConnection): EngineView {
  return {
    info: (call) => connection.askJson<EngineInfo>({ method: "GET", path: ["info"] }, call),
    async liveRun({ namespace, name }, call) {
      const ask: Ask = { method: "GET", path: ["live", namespace, name] };
      return (await connection.askJson<{ run?: LiveRun }>(ask, call)).run;
    },
  };
}

function objectStore(connection: EngineConnection): ObjectStore {
  const pathTo = ({ kind, namespace, name }: ObjectRef) => ["objects", kind, namespace, name];
  const write = <T extends AnyObject>(ask: Ask, call: Call) =>
    asStoreError(call, () => connection.askJson<ObjectOf<T["kind"]>>(ask, call));
  return {
    async get<K extends KindName>(ref: ObjectRef<K>, call: Call) {
      const ask: Ask = { method: "GET", path: pathTo(ref) };
      try {
        return await asStoreError(call, () => connection.askJson<ObjectOf<K>>(ask, call));
      } catch (error) {
        if (isStoreError(error, "NotFound")) return undefined;
        throw error;
      }
    },
    list(kind, where, call) {
      const labels = Object.entries(where.labels ?? {});
      const query: [string, string | undefined][] = [
        ["namespace", where.namespace],
        ...labels.map(([name, value]): [string, string] => ["label", `${name}=${value}`]),
      ];
      const ask: Ask = { method: "GET", path: ["objects", kind], query };
      return asStoreError(call, () => connection.askJson(ask, call));
    },
    create<T extends AnyObject>(object: T, call: Call) {
      const path = ["objects", object.kind];
      return write<T>({ method: "POST", path, body: { json: object } }, call);
    },
    update<T extends AnyObject>(object: T, part: "main" | "status", call: Call) {
      const path = pathTo({ kind: object.kind, ...keyOf(object) });
      const query = [["part", part]] as const;
      return write<T>({ method: "PUT", path, query, body: { json: object } }, call);
    },
    async delete(ref, { uid, resourceVersion }, call) {
      const query: [string, string | undefined][] = [
        ["uid", uid],
        ["resourceVersion", resourceVersion],
      ];
      const ask: Ask = { method: "DELETE", path: pathTo(ref), query };
      await asStoreError(call, () => connection.ask(ask, call));
    },
    async *watch<K extends KindName>(
      kind: K,
      from: { readonly namespace?: string; readonly resourceVersion: string },
      call: Call,
    ): AsyncIterable<WatchEvent<ObjectOf<K>>> {
      const query: [string, string | undefined][] = [
        ["namespace", from.namespace],
        ["resourceVersion", from.resourceVersion],
      ];
      const messages = connection.stream({ method: "GET", path: ["watch", kind], query }, call);
      try {
        for await (const message of messages) {
          if (message.event === "change") yield message.data as WatchEvent<ObjectOf<K>>;
        }
      } catch (error) {
        throw storeError(error, call);
      }
    },
  };
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
  const query = (options: LogOptions): [string, string | undefined][] => [
    ["runId", options.runId],
    ["tail", options.tail === undefined ? undefined : String(options.tail)],
  ];
  return {
    append() {
      throw new EngineUnavailable("Lines of a log are written by the engine alone");
    },
    async read({ namespace, name }, options, call) {
      const path = ["logs", namespace, name];
      const ask: Ask = { method: "GET", path, query: query(options) };
      return (await connection.askJson<{ lines: LogLine[] }>(ask, call)).lines;
    },
    async *follow({ namespace, name }, options, call) {
      const path = ["follow", namespace, name];
      const messages = connection.stream({ method: "GET", path, query: query(options) }, call);
      for await (const message of messages) if (message.event === "line") yield message.data;
    },
  };
}

function stateAdmin(connection: EngineConnection): StateAdmin {
  const pathTo = ({ namespace, name, workspace }: StateId, ...more: string[]) => [
    "states",
    namespace,
    name,
    workspace,
    ...more,
  ];
  return {
    async list(call) {
      const ask: Ask = { method: "GET", path: ["states"] };
      return (await connection.askJson<{ items: StateSummary[] }>(ask, call)).items;
    },
    async show(state, version, call) {
      const query = [["version", version]] as const;
      return await connection.ask({ method: "GET", path: pathTo(state), query }, call);
    },
    push(state, push, call) {
      const query = [["force", push.force ? "true" : undefined]] as const;
      const ask: Ask =
        push.from === "content"
          ? { method: "PUT", path: pathTo(state), query, body: { bytes: push.content } }
          : { method: "POST", path: pathTo(state, "rescued", push.id), query };
      return connection.askJson<StateSummary>(ask, call);
    },
    async versions(state, call) {
      const ask: Ask = { method: "GET", path: pathTo(state, "versions") };
      return (await connection.askJson<{ items: StateVersion[] }>(ask, call)).items;
    },
    async drop(state, rescuedId, call) {
      await connection.ask({ method: "DELETE", path: pathTo(state, "rescued", rescuedId) }, call);
    },
  };
}
