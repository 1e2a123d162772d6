import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";
import type { Log } from "../ports/log.ts";
import { METRICS_TYPE, type Probes, probeRoutes } from "./probes.ts";

export interface MonitoringAddress {
  /** Undefined: every address of the machine. */
  readonly host: string | undefined;
  /** 0: any that is free. */
  readonly port: number;
}

export interface Monitoring {
  readonly port: number;
  close(): Promise<void>;
}

/** A port cannot be listened on; the message says which. */
export class MonitoringRefused extends Error {
  override readonly name = "MonitoringRefused";
}

/**
 * Serves what a cluster asks of its controllers, without a token, as they do: `health` answers
 * /healthz and /readyz and names no object; `metrics` answers /metrics. Fails with
 * MonitoringRefused.
 */
export async function serveMonitoring(
  what: "health" | "metrics",
  { host, port }: MonitoringAddress,
  { probes, log }: { readonly probes: Probes; readonly log: Log },
): Promise<Monitoring> {
  const app = what === "health" ? probeRoutes(probes, () => false) : metricsRoute(probes);
  const server = createAdaptorServer({
    fetch: app.fetch,
    overrideGlobalObjects: false,
    serverOptions: { requestTimeout: 30_000, headersTimeout: 10_000, maxHeaderSize: 16 * 1024 },
  });
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (error) {
    const { message } = error as Error;
    const text = `Cannot serve ${what} on ${host ?? ""}:${port} (${message}); name another port`;
    throw new MonitoringRefused(text, { cause: error });
  }
  server.on("error", (error) => log.warn("A monitoring port failed", { error: error.message }));
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = once(server, "close");
      server.close();
      if ("closeAllConnections" in server) server.closeAllConnections();
      await closed;
    },
  };
}

function metricsRoute(probes: Probes): Hono {
  const app = new Hono();
  app.get("/metrics", (context) =>
    context.body(probes.metrics(), 200, { "content-type": METRICS_TYPE }),
  );
  return app;
}
