import { join, relative } from "node:path";
import { makeProgram } from "../../src/adapters/opentofu/make.ts";
import { type GoProgram, toolsFolder } from "../../src/adapters/opentofu/programs.ts";
import { progressWriter } from "../../src/adapters/opentofu/progress.ts";
import { createClock } from "../../src/adapters/system/clock.ts";

const root = join(import.meta.dirname, "../..");

/** Reads the pins of a program below the checkout's root. */
type Pinned = (root: string) => Promise<GoProgram>;

/**
 * Builds pinned programs one after the other, with progress on stderr; what is there already is
 * left. `script` names who failed; the exit code is 1 then. Ctrl-C ends it.
 */
export async function makePrograms(script: string, pinned: readonly Pinned[]): Promise<void> {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => stop.abort(new Error(`${signal} was received`)));
  }
  const clock = createClock();
  const options = {
    folder: toolsFolder({ env: process.env, root }),
    env: process.env,
    clock,
    onProgress: progressWriter({
      isTerminal: process.stderr.isTTY === true,
      write: (text) => process.stderr.write(text),
    }),
  };
  try {
    const programs: GoProgram[] = [];
    for (const each of pinned) programs.push(await each(root));
    for (const program of programs) await makeProgram(program, options, stop);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const shown = message.replaceAll(root, relative(process.cwd(), root) || ".");
    process.stderr.write(`${script}: ${shown}\n`);
    process.exitCode = 1;
  } finally {
    clock.close();
  }
}
