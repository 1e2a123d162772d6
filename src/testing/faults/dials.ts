import { existsSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";

// Loaded into an engine under test before its program (node --import): dials that a test cannot
// turn from outside. Everything else is the program as it is.

/** Environment of an engine that has these dials. */
export interface Dials {
  /** No stage may take longer, in milliseconds. */
  readonly stageLimitMs?: number;
  /** Passes that may go on at once. */
  readonly passWorkers?: number;
  /** A file that holds by how many milliseconds the wall clock is wrong. */
  readonly clockFile?: string;
  /** A silent runner is waited for without an end, as calls without a deadline do. */
  readonly waitsForEver?: boolean;
}

export function dialsEnv(dials: Dials): Record<string, string> {
  const { stageLimitMs, passWorkers, clockFile, waitsForEver } = dials;
  return {
    NODE_OPTIONS: `--import=${import.meta.filename}`,
    ...(stageLimitMs === undefined ? {} : { NIGARI_DIAL_STAGE_LIMIT_MS: `${stageLimitMs}` }),
    ...(passWorkers === undefined ? {} : { NIGARI_DIAL_PASS_WORKERS: `${passWorkers}` }),
    ...(clockFile === undefined ? {} : { NIGARI_DIAL_CLOCK_FILE: clockFile }),
    ...(waitsForEver === true ? { NIGARI_DIAL_WAITS: "for ever" } : {}),
  };
}

const LOOK_MS = 50;
const TEN_YEARS_MS = 315_360_000_000;

/** src/domain/limits.ts with other functions in the place of its own; `whole` names the rest. */
function bendLimits(functions: string): void {
  registerHooks({
    load(url, context, next) {
      if (!url.endsWith("/src/domain/limits.ts")) return next(url, context);
      const whole = JSON.stringify(`${url}?whole`);
      const source = `
        import * as whole from ${whole};
        export * from ${whole};
        ${functions}`;
      return { format: "module", source, shortCircuit: true };
    },
  });
}

function shortenStages(limitMs: string): void {
  bendLimits(`
    export function stageLimitMs(stage) {
      const ms = whole.stageLimitMs(stage);
      return ms === undefined ? undefined : Math.min(ms, ${Number(limitMs)});
    }`);
}

function waitForEver(): void {
  const names = ["suspectAfterMs", "unreachableAfterMs", "bringUpMs"];
  const each = (name: string) => `export function ${name}() { return ${TEN_YEARS_MS}; }`;
  bendLimits(names.map(each).join("\n"));
}

/** src/engine/ports.ts with another number of workers in its defaults. */
function employ(workers: string): void {
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      if (!url.endsWith("/src/engine/ports.ts")) return loaded;
      const text = Buffer.from(loaded.source as Uint8Array).toString("utf8");
      const source = text.replace(/passWorkers: \d+/, `passWorkers: ${Number(workers)}`);
      if (source === text) throw new Error("The default of passWorkers is not where it was");
      return { ...loaded, source };
    },
  });
}

/** The wall clock as the Clock port reads it; what measures time goes on as it is. */
function bendClock(file: string): void {
  const now = Date.now;
  let wrongByMs = 0;
  Date.now = () => now() + wrongByMs;
  setInterval(() => {
    if (existsSync(file)) wrongByMs = Number(readFileSync(file, "utf8"));
  }, LOOK_MS).unref();
}

const {
  NIGARI_DIAL_STAGE_LIMIT_MS: limit,
  NIGARI_DIAL_PASS_WORKERS: workers,
  NIGARI_DIAL_CLOCK_FILE: clock,
  NIGARI_DIAL_WAITS: waits,
} = process.env;
if (limit !== undefined) shortenStages(limit);
if (workers !== undefined) employ(workers);
if (clock !== undefined) bendClock(clock);
if (waits !== undefined) waitForEver();
