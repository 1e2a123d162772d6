import type { Call } from "../ports/call.ts";
import type { Clock } from "../ports/clock.ts";
import { type RunEvent, type RunnerConnection, RunnerError } from "../ports/runner.ts";
import { bounded, orAbort, unlessSilent } from "./bounded.ts";
import { helloMs, sendingMs, startMs, streamSilenceMs } from "./limits.ts";
import type { PreparedRun } from "./order.ts";

/** Pause between greetings while the runner has nothing to say by itself. */
const GREET_AGAIN_MS = 2_000;

/** The engine's side of a talk with a runner. */
export interface Listener {
  readonly runId: string;
  /** Everything the runner must be given; asked for only if it has not been started. */
  prepared(): Promise<PreparedRun>;
  /** The runner has given a sign of life. */
  sign(): void;
  /** The order is about to leave: from here on the run may have begun. */
  ordering(): void;
  /** The runner itself has refused the order, so of this one it has begun nothing. */
  refused(error: RunnerError): void;
  /** The runner has the order. */
  started(): void;
  /** Where to go on listening. */
  place(): { readonly fromSequence: number; readonly logOffset: number };
  /** True: this was the outcome. */
  hear(event: RunEvent): boolean;
}

/**
 * Speaks with a runner over one connection: greets it, hands it files and order if it has none, and
 * listens until the outcome. Any trouble ends the talk with an error; another connection goes on
 * from where it was.
 */
export async function converse(
  connection: RunnerConnection,
  listener: Listener,
  clock: Clock,
  parent: AbortSignal,
): Promise<void> {
  const greeting = { what: "Greeting the runner", ms: helloMs(), parent };
  const hello = await bounded(clock, greeting, (call) => connection.hello(call));
  if (hello.runId !== listener.runId) {
    throw new RunnerError("Refused", `The runner that answers serves run ${hello.runId}`);
  }
  listener.sign();
  if (!hello.started) await heardWhile(connection, listener, clock, parent);
  listener.started();
  const bound = { what: "The runner's stream", ms: streamSilenceMs(), parent };
  const open = (call: Call) => connection.watch(listener.place(), call);
  for await (const event of unlessSilent(clock, bound, open)) {
    listener.sign();
    if (listener.hear(event)) return;
  }
  throw new RunnerError("Unavailable", "The stream ended before the run");
}

/**
 * Gives files and order, and greets the runner meanwhile: a source that is slow, or a store that
 * does not answer, must not pass for a runner that is silent.
 */
async function heardWhile(
  connection: RunnerConnection,
  listener: Listener,
  clock: Clock,
  parent: AbortSignal,
): Promise<void> {
  const silent = new AbortController();
  const given = new AbortController();
  const greet = async () => {
    const signal = AbortSignal.any([parent, given.signal]);
    for (;;) {
      await clock.sleep(GREET_AGAIN_MS, signal);
      if (signal.aborted) return;
      const greeting = { what: "Greeting the runner", ms: helloMs(), parent: signal };
      await bounded(clock, greeting, (call) => connection.hello(call));
      listener.sign();
    }
  };
  greet().catch((error: unknown) => silent.abort(error));
  try {
    await give(connection, listener, clock, AbortSignal.any([parent, silent.signal]));
  } finally {
    given.abort("given");
  }
}

async function give(
  connection: RunnerConnection,
  listener: Listener,
  clock: Clock,
  parent: AbortSignal,
): Promise<void> {
  const prepared = await orAbort(listener.prepared(), parent);
  const sending = { what: "Sending files to the runner", ms: sendingMs(), parent };
  await bounded(clock, sending, async (call) => {
    for (const file of await prepared.files(call)) await connection.putFile(file, call);
  });
  listener.ordering();
  const starting = { what: "Starting the run", ms: startMs(), parent };
  try {
    await bounded(clock, starting, (call) => connection.start(prepared.order, call));
  } catch (error) {
    if (error instanceof RunnerError && isRefusal(error)) listener.refused(error);
    throw error;
  }
  listener.sign();
}

/** The order itself is not taken. A runner that a newer engine has spoken to says nothing of it. */
function isRefusal({ code }: RunnerError): boolean {
  return code === "Refused" || code === "Incompatible";
}
