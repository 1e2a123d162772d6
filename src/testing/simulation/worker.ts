import { parentPort, workerData } from "node:worker_threads";
import { installMutant, type Mutant } from "./mutant-loader.ts";
import type { Task } from "./pool.ts";

// A thread that lives through worlds, as many as it is asked to. What fails in them is data; to
// note where each error was made would cost more than all the rest.
Error.stackTraceLimit = 0;

const { mutant } = workerData as { readonly mutant?: Mutant };
if (mutant !== undefined) installMutant(mutant);
// Loaded only now, so that the mutant is in it.
const { trySeed } = await import("./campaign.ts");

parentPort?.on("message", (tasks: readonly Task[]) => {
  liveThrough(tasks).then(
    (results) => parentPort?.postMessage(results),
    (error: unknown) => {
      // Ends the thread, and with it the campaign.
      queueMicrotask(() => {
        throw error;
      });
    },
  );
});

async function liveThrough(tasks: readonly Task[]) {
  const results = [];
  for (const { seed, aims } of tasks) {
    results.push(await trySeed(seed, aims === undefined ? {} : { aims }));
  }
  return results;
}
