import { parentPort } from "node:worker_threads";
import { trySeed } from "./campaign.ts";

// A thread that lives through worlds, as many as it is asked to. What fails in them is data; to
// note where each error was made would cost more than all the rest.
Error.stackTraceLimit = 0;

parentPort?.on("message", (seeds: readonly number[]) => {
  liveThrough(seeds).then(
    (results) => parentPort?.postMessage(results),
    (error: unknown) => {
      // Ends the thread, and with it the campaign.
      queueMicrotask(() => {
        throw error;
      });
    },
  );
});

async function liveThrough(seeds: readonly number[]) {
  const results = [];
  for (const seed of seeds) results.push(await trySeed(seed));
  return results;
}
