import { type Context, Hono } from "hono";
import Type, { type Static } from "typebox";
import type { HealthCause } from "../ports/engine.ts";

/** What monitoring asks, under the names that it looks for; without a version, as everywhere. */
export interface Probes {
  /** Prometheus text. */
  metrics(): string;
  /** Why the engine is stuck; empty if it is not. */
  health(): readonly HealthCause[];
  /** Why it takes no new work; undefined if it does. */
  unready(): string | undefined;
}

/** Made for whoever has no token too, and then it names no object. */
export const HealthSchema = Type.Object({
  status: Type.Unsafe<"ok" | "stuck" | "not ready">({
    type: "string",
    enum: ["ok", "stuck", "not ready"],
  }),
  causes: Type.Array(
    Type.Object({
      cause: Type.String({
        description: "event-loop, queue, pass, sweep, store, run or leadership: see docs/api.md.",
      }),
      text: Type.Optional(Type.String({ description: "For people; left out without the token." })),
    }),
    { description: "Every one; empty when all is well." },
  ),
});
export type Health = Static<typeof HealthSchema>;

export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export const probePaths = {
  "/healthz": "200 while the engine can help itself, 503 when it is stuck; needs no token",
  "/readyz": "200 while it takes new work, 503 before and after; needs no token",
  "/metrics": "What it counts, as Prometheus text",
} as const;

/** Paths that a gate lets everybody ask. */
export function isOpenPath(path: string): boolean {
  return path === "/healthz" || path === "/readyz";
}

/** `isKnown` says whether the one who asks may see names. */
export function probeRoutes(probes: Probes, isKnown: (context: Context) => boolean): Hono {
  const app = new Hono();
  const answer = (context: Context, status: Health["status"], causes: readonly HealthCause[]) => {
    const isShown = isKnown(context);
    const shown = causes.map(({ cause, text }) => (isShown ? { cause, text } : { cause }));
    const health: Health = { status, causes: shown };
    return context.json(health, status === "ok" ? 200 : 503);
  };
  app.get("/healthz", (context) => {
    const causes = probes.health();
    return answer(context, causes.length === 0 ? "ok" : "stuck", causes);
  });
  app.get("/readyz", (context) => {
    const why = probes.unready();
    if (why === undefined) return answer(context, "ok", []);
    return answer(context, "not ready", [{ cause: "leadership", text: why }]);
  });
  app.get("/metrics", (context) => {
    return context.body(probes.metrics(), 200, { "content-type": METRICS_TYPE });
  });
  return app;
}
