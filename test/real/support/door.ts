import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { StateAdmin, StateDoor } from "../../../src/ports/state.ts";

export interface Order {
  readonly id: number;
  readonly method: string;
  readonly args: readonly unknown[];
}
type Told = { port: number } | { id: number; result: unknown } | { id: number; error: string };

type Methods = StateDoor & StateAdmin;
/** The methods of a door in another process; the call is the program's own. */
type Remote = {
  [M in keyof Methods]: Methods[M] extends (...args: [...infer A, infer _Call]) => infer R
    ? (...args: A) => R
    : never;
};

export interface DoorProgram {
  readonly door: Remote;
  readonly port: number;
  log(): Promise<readonly string[]>;
  /** The most memory it ever held, in bytes. */
  memoryBytes(): Promise<number>;
  /** SIGKILL, and waits until it is gone. */
  kill(): Promise<void>;
  /** Resolves when it has ended by itself. */
  readonly ended: Promise<unknown>;
}

const running = new Set<ChildProcess>();

/** Starts the door of this data directory in a process of its own. */
export async function startDoor(
  dataDir: string,
  ...how: readonly "die-after-write"[]
): Promise<DoorProgram> {
  const child = fork(join(import.meta.dirname, "door-program.ts"), [dataDir, ...how], {
    execArgv: ["--disable-warning=ExperimentalWarning"],
    serialization: "advanced",
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  running.add(child);
  const ended = once(child, "exit").finally(() => running.delete(child));
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  const ready = Promise.withResolvers<number>();
  child.on("message", (told: Told) => {
    if ("port" in told) ready.resolve(told.port);
    else if ("error" in told) waiting.get(told.id)?.reject(new Error(told.error));
    else waiting.get(told.id)?.resolve(told.result);
  });
  void ended.then(() => ready.reject(new Error("The door ended")));
  let last = 0;
  function ask(method: string, args: readonly unknown[]): Promise<unknown> {
    const order: Order = { id: ++last, method, args };
    const answer = Promise.withResolvers<unknown>();
    waiting.set(order.id, answer);
    child.send(order);
    return answer.promise;
  }
  const remote: unknown = new Proxy(
    {},
    {
      get:
        (_target, method) =>
        (...args: unknown[]) =>
          ask(String(method), args),
    },
  );
  return {
    door: remote as Remote,
    port: await ready.promise,
    log: async () => (await ask("log", [])) as string[],
    memoryBytes: async () => Number(await ask("memory", [])),
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
    ended,
  };
}

/** For the end of a test. */
export async function stopDoors(): Promise<void> {
  const ends = [...running].map((child) => once(child, "exit"));
  for (const child of running) child.kill("SIGKILL");
  await Promise.all(ends);
}
