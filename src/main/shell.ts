import { createClock } from "../adapters/system/clock.ts";
import type { Output, Shell } from "../cli/world.ts";
import { packageVersion } from "./package.ts";
import { choosePlace, lookAround } from "./place.ts";

/** The command line's outside world: this process. Heavy parts are loaded when they are used. */
export function createShell(): Shell & { close(): void } {
  const clock = createClock();
  const interrupt = new AbortController();
  const env = process.env;
  // The first Ctrl-C asks, the second one ends at once, whatever goes on.
  const onSignal = () => {
    if (interrupt.signal.aborted) process.exit(130);
    interrupt.abort(new Error("Interrupted"));
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  return {
    clock,
    out: output(),
    version: packageVersion(),
    interrupted: interrupt.signal,
    async connect(flags, call) {
      const place = choosePlace(flags, env, lookAround(flags, env));
      if (place.is === "cluster") {
        const { connectCluster } = await import("./cluster-world.ts");
        return connectCluster(flags, { clock, env }, call);
      }
      const { connectWorld } = await import("./connect.ts");
      return { ...(await connectWorld(place.dataDir, clock, call)), saysVia: place.said };
    },
    async up(options) {
      const { up } = await import("./up.ts");
      return up(options, { clock, env, out: output(), interrupted: interrupt.signal });
    },
    async readFile(path) {
      if (path === "-") return readStandardInput(interrupt.signal);
      const { readWhole } = await import("./manifest-files.ts");
      return readWhole(path, interrupt.signal);
    },
    async readManifests(paths, namespace, call) {
      const { readPaths } = await import("./manifest-files.ts");
      const standardInput = () => readStandardInput(interrupt.signal);
      return readPaths(paths, { namespace, standardInput }, call);
    },
    async applyObject(store, object, call) {
      const { applyObject } = await import("../engine/apply.ts");
      return applyObject(store, object, undefined, call);
    },
    close: () => clock.close(),
  };
}

/** However slow it comes: whoever writes it decides. Ctrl-C ends the wait. */
async function readStandardInput(signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  signal.addEventListener("abort", () => process.stdin.destroy(signal.reason), { once: true });
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Standard output and error. A reader that has gone away (`| head`) ends us quietly. */
function output(): Output {
  const { stdout, stderr, env } = process;
  for (const stream of [stdout, stderr]) {
    if (stream.listenerCount("error") > 0) continue;
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") process.exit(0);
    });
  }
  const isTerminal = stdout.isTTY === true;
  return {
    write: (text) => void stdout.write(text),
    error: (text) => void stderr.write(text),
    isTerminal,
    // A terminal that does not know its width says 0.
    columns: stdout.columns || 100,
    colours: isTerminal && (env.NO_COLOR ?? "") === "" && env.TERM !== "dumb",
  };
}
