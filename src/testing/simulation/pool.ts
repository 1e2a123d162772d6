import { Worker } from "node:worker_threads";
import type { SeedResult } from "./campaign.ts";
import type { Cell } from "./faults.ts";

/** Much more than worlds need; without it V8 lets garbage lie for as long as there is room. */
const HEAP_MIB = 256;
/** Tasks handed to one worker at once. */
const BATCH = 8;

/** A world to live through: that of the seed, with its own aims or others. */
export interface Task {
  readonly seed: number;
  readonly aims?: readonly Cell[];
}

export interface PoolOptions {
  /** Threads that live through worlds side by side. */
  readonly jobs: number;
  readonly batch?: number;
  /** Told of every world; false: no further ones are begun. */
  readonly onResult?: (result: SeedResult) => boolean;
  readonly workerData?: object;
}

/** Lives through the worlds of all seeds. The results are in the order of the seeds. */
export function trySeeds(seeds: readonly number[], options: PoolOptions): Promise<SeedResult[]> {
  return tryTasks(
    seeds.map((seed) => ({ seed })),
    options,
  );
}

/** Lives through all worlds in worker threads. The results are in the order of the seeds. */
export async function tryTasks(
  tasks: readonly Task[],
  options: PoolOptions,
): Promise<SeedResult[]> {
  const results: SeedResult[] = [];
  const rest = [...tasks];
  const share = async () => {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), {
      workerData: options.workerData ?? {},
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
    });
    try {
      while (rest.length > 0) {
        for (const result of await ask(worker, rest.splice(0, options.batch ?? BATCH))) {
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

function ask(worker: Worker, tasks: readonly Task[]): Promise<SeedResult[]> {
  return new Promise((resolve, reject) => {
    const ended = () => {
      const seeds = tasks.map(({ seed }) => seed).join(" ");
      reject(new Error(`A worker ended amid the seeds ${seeds}`));
    };
    worker.once("exit", ended);
    worker.once("error", reject);
    worker.once("message", (results: SeedResult[]) => {
      worker.off("exit", ended);
      worker.off("error", reject);
      resolve(results);
    });
    worker.postMessage(tasks);
  });
}
