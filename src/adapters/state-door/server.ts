import { Server } from "node:http";
import { createAdaptorServer } from "@hono/node-server";
import type { Call } from "../../ports/call.ts";
import type { Clock, Random } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { StateDoor, StateStorage } from "../../ports/state.ts";
import { createApp } from "./app.ts";
import { createStateDoor } from "./door.ts";
import { candidatePort, keepPort, PortTaken, portTaken, readPort } from "./port.ts";

export interface StateDoorOptions {
  readonly storage: StateStorage;
  readonly log: Log;
  readonly clock: Clock;
  readonly random: Random;
  /** `state-door.json` of the data directory. */
  readonly portFile: string;
  /**
   * A run that is under way may know the kept port and wait for it. False: if it is taken, another
   * is chosen and kept.
   */
  readonly runsMayWait: boolean;
  /** Every request ends by then, also that of a client that stands still. Less for tests. */
  readonly requestMs?: number;
}
export interface OpenStateDoor {
  readonly door: StateDoor;
  readonly port: number;
  /** Lets what is under way end, until the call ends or two seconds have passed; then cuts it. */
  close(call: Call): Promise<void>;
}

const HOST = "127.0.0.1";
/** How long the port may still be held by an engine that is going down. */
const PATIENCE_MS = 3_000;
const CLOSE_MS = 2_000;
/** Enough for the largest state on a slow disk. */
const REQUEST_MS = 120_000;
const CANDIDATES = 50;

/** Binds the port of this data directory and serves the door. Fails with `PortTaken`. */
export async function openStateDoor(options: StateDoorOptions, call: Call): Promise<OpenStateDoor> {
  const { storage, log, clock, random, requestMs = REQUEST_MS } = options;
  const closing = new AbortController();
  const app = createApp({ storage, log, clock, closing: closing.signal, requestMs });
  const server = createServer(app.fetch, requestMs);
  const port = await bind(server, options, call);
  server.on("error", (error) => log.error("The state door has trouble", { error: error.message }));
  log.info("The state door is open", { port });
  return {
    port,
    door: createStateDoor({ storage, log, random, address: `http://${HOST}:${port}` }),
    close: async (closeCall) => {
      const signal = clock.deadline("Closing the state door", CLOSE_MS, closeCall.signal);
      await closeServer(server, signal, closing);
    },
  };
}

type Fetch = Parameters<typeof createAdaptorServer>[0]["fetch"];

function createServer(fetch: Fetch, requestMs: number): Server {
  const serverOptions = {
    headersTimeout: Math.min(10_000, requestMs),
    requestTimeout: requestMs,
    connectionsCheckingInterval: Math.min(5_000, requestMs),
    // Longer than tofu keeps an idle connection (90 s), so that it never writes on a closed one.
    keepAliveTimeout: 100_000,
  };
  const server = createAdaptorServer({ fetch, overrideGlobalObjects: false, serverOptions });
  if (!(server instanceof Server)) throw new TypeError("The state door is no HTTP/1.1 server");
  server.maxConnections = 256;
  // A reader that stands still.
  server.setTimeout(requestMs);
  return server;
}

async function bind(server: Server, options: StateDoorOptions, call: Call): Promise<number> {
  const { portFile, runsMayWait, random } = options;
  const kept = readPort(portFile);
  if (kept !== undefined) {
    if (await listenPatiently(server, kept, options, call)) return kept;
    if (runsMayWait) throw portTaken(portFile, kept);
  }
  for (let i = 0; i < CANDIDATES; i++) {
    const port = candidatePort(random.next());
    if (await listen(server, port)) {
      keepPort(portFile, port);
      return port;
    }
  }
  throw new PortTaken(`State door ${portFile}: found no free port on ${HOST}; make one free`);
}

async function listenPatiently(
  server: Server,
  port: number,
  { clock, runsMayWait }: StateDoorOptions,
  call: Call,
): Promise<boolean> {
  const end = clock.monotonic() + (runsMayWait ? PATIENCE_MS : 0);
  for (;;) {
    if (await listen(server, port)) return true;
    if (clock.monotonic() >= end) return false;
    await clock.sleep(100, call.signal);
    call.signal.throwIfAborted();
  }
}

/** False if the port is taken. */
function listen(server: Server, port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => {
      server.off("listening", onListening);
      if (error.code === "EADDRINUSE" || error.code === "EACCES") resolve(false);
      else reject(error);
    };
    const onListening = () => {
      server.off("error", onError);
      resolve(true);
    };
    server.once("error", onError);
    server.once("listening", onListening);
    server.listen({ port, host: HOST, exclusive: true });
  });
}

async function closeServer(
  server: Server,
  signal: AbortSignal,
  closing: AbortController,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const cut = () => {
    closing.abort(new Error("The state door was closed"));
    server.closeAllConnections();
  };
  signal.addEventListener("abort", cut);
  if (signal.aborted) cut();
  await closed;
  signal.removeEventListener("abort", cut);
}
