import { once } from "node:events";
import { chmodSync, rmSync } from "node:fs";
import { createAdaptorServer } from "@hono/node-server";
import { createRoutes, type ServedEngine } from "./routes.ts";
import { prepareSocketFolder } from "./socket.ts";

export interface EngineServer {
  readonly socket: string;
  /** Ends every request and stream, and removes the socket. */
  close(): Promise<void>;
}

/**
 * Serves the engine's private interface on a Unix socket that only this user can open. Whoever
 * calls holds the data directory's lock: a socket that is there already is a dead engine's.
 */
export async function serveEngine(engine: ServedEngine, socket: string): Promise<EngineServer> {
  const ending = new AbortController();
  const app = createRoutes(engine, ending.signal);
  const server = createAdaptorServer({
    fetch: app.fetch,
    overrideGlobalObjects: false,
    serverOptions: { requestTimeout: 60_000, headersTimeout: 10_000, keepAliveTimeout: 1_000 },
  });
  prepareSocketFolder(socket);
  rmSync(socket, { force: true });
  server.listen(socket);
  await once(server, "listening");
  chmodSync(socket, 0o600);
  // A client that goes away in the middle is no trouble of ours.
  server.on("error", (error) => engine.log.warn("Socket failed", { error: error.message }));
  return {
    socket,
    async close() {
      ending.abort(new Error("The engine is stopping"));
      const closed = once(server, "close");
      server.close();
      if ("closeAllConnections" in server) server.closeAllConnections();
      await closed;
      rmSync(socket, { force: true });
    },
  };
}
