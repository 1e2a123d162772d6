import { once } from "node:events";
import { chmodSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import type { Hono } from "hono";
import type { Log } from "../ports/log.ts";
import { createGate, keepToken, type ListenAddress, tokenFile } from "./access.ts";
import type { ServedEngine } from "./handlers.ts";
import { createRoutes } from "./routes.ts";
import { prepareSocketFolder } from "./socket.ts";

export interface EngineServer {
  readonly socket: string;
  /** Of the TCP port, if there is one. */
  readonly url: string | undefined;
  /** Ends every request and stream, and removes the socket. */
  close(): Promise<void>;
}

/** The port cannot be listened on; the message says why and how to go on. */
export class PortRefused extends Error {
  override readonly name = "PortRefused";
}

/**
 * Serves the engine's interface on a Unix socket that only this user can open, and on a TCP port of
 * this machine if one is given. Whoever calls holds the data directory's lock: a socket that is
 * there already is a dead engine's. Fails with PortRefused.
 */
export async function serveEngine(
  engine: ServedEngine,
  socket: string,
  address?: ListenAddress,
): Promise<EngineServer> {
  const ending = new AbortController();
  prepareSocketFolder(socket);
  rmSync(socket, { force: true });
  const local = listener(createRoutes(engine, ending.signal), engine.log);
  local.listen(socket);
  await once(local, "listening");
  chmodSync(socket, 0o600);
  const close = async (server: Listener) => {
    const closed = once(server, "close");
    server.close();
    if ("closeAllConnections" in server) server.closeAllConnections();
    await closed;
  };
  let remote: Listener | undefined;
  try {
    if (address !== undefined) remote = await listenOn(engine, { socket, address, ending });
  } catch (error) {
    await close(local);
    throw error;
  }
  return {
    socket,
    url: remote === undefined ? undefined : urlOf(remote.address() as AddressInfo),
    async close() {
      ending.abort(new Error("The engine is stopping"));
      await Promise.all([local, remote].map((each) => each && close(each)));
      rmSync(socket, { force: true });
    },
  };
}

type Listener = ReturnType<typeof createAdaptorServer>;

function listener(app: Hono, log: Log): Listener {
  const server = createAdaptorServer({
    fetch: app.fetch,
    overrideGlobalObjects: false,
    serverOptions: {
      requestTimeout: 60_000,
      headersTimeout: 10_000,
      keepAliveTimeout: 1_000,
      maxHeaderSize: 16 * 1024,
    },
  });
  // A client that goes away in the middle is no trouble of ours.
  server.on("error", (error) => log.warn("Socket failed", { error: error.message }));
  return server;
}

interface Listening {
  readonly socket: string;
  readonly address: ListenAddress;
  readonly ending: AbortController;
}

async function listenOn(
  engine: ServedEngine,
  { socket, address: { host, port }, ending }: Listening,
): Promise<Listener> {
  const gate = createGate(keepToken(tokenFile(socket)));
  const server = listener(createRoutes(engine, ending.signal, gate), engine.log);
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (error) {
    const { message } = error as Error;
    throw new PortRefused(`Cannot listen on ${host}:${port} (${message}); name another port`, {
      cause: error,
    });
  }
  return server;
}

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}
