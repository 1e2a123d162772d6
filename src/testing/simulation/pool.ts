import { Worker } from "node:worker_threads";
import type { SeedResult } from "./campaign.ts";

/** Seeds handed to one worker at once. */
const BATCH = 8;

export interface PoolOptions {
  /** Threads that live through worlds side by side. */
  readonly jobs: number;
  /** Told of every seed; false: no further seeds are begun. */
  readonly onResult?: (result: SeedResult) => boolean | undefined;
  /** Called now and then while it goes on. */
  readonly workerData?: object;
}

/** Lives through all seeds in worker threads. The results are in the order of the seeds. */
export async function trySeeds(
  seeds: readonly number[],
  options: PoolOptions,
): Promise<SeedResult[]> {
  const results: SeedResult[] = [];
  const rest = [...seeds];
  const share = async () => {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), {
      workerData: options.workerData ?? {},
    });
    try {
      while (rest.length > 0) {
        for (const result of await ask(worker, rest.splice(0, BATCH))) {
          results.push(result);
          if (options.onResult?.(result) === false) rest.length = 0;
        }
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: options.jobs }, share));
  return results.sort((a, b) => a.seed - b.seed);
}

function ask(worker: Worker, seeds: readonly number[]): Promise<SeedResult[]> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error(`A worker ended amid the seeds ${seeds.join(" ")}`));
    worker.once("exit", ended);
    worker.once("error", reject);
    worker.once("message", (results: SeedResult[]) => {
      worker.off("exit", ended);
      worker.off("error", reject);
      resolve(results);
    });
    worker.postMessage(seeds);
  });
}
