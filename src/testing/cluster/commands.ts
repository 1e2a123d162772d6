import { execFile, spawnSync } from "node:child_process";

/** Runs a short command and gives what it printed; fails with what it complained of. */
export function run(file: string, ...args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(file, args, {
    encoding: "utf8",
    timeout: 120_000,
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status === 0) return stdout;
  throw new Error(`${file} ${args.join(" ")}: ${(stderr || String(error ?? status)).trim()}`);
}

/** Likewise, for what takes long: meanwhile this process goes on. */
export async function runLong(file: string, ...args: readonly string[]): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const options = { encoding: "utf8", timeout: 120_000 } as const;
  execFile(file, args, options, (error, stdout, stderr) => {
    if (error === null) resolve(stdout);
    else reject(new Error(`${file} ${args.join(" ")}: ${stderr.trim() || error.message}`));
  });
  return promise;
}

/** Likewise, for what may be gone already. */
export function tryRun(file: string, ...args: readonly string[]): string | undefined {
  try {
    return run(file, ...args);
  } catch {
    return undefined;
  }
}

/** Asks until there is an answer. `what` completes "Gave up waiting for …". */
export async function until<T>(
  what: string,
  limitMs: number,
  ask: () => T | undefined | Promise<T | undefined>,
): Promise<T> {
  const end = performance.now() + limitMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() > end) throw new Error(`Gave up waiting for ${what} (${limitMs} ms)`);
    await pause(50);
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
