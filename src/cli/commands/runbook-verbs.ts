import type { Command } from "commander";
import { outputGiven } from "../output-flag.ts";
import type { Shell } from "../world.ts";
import type { SyncFlags } from "./runbook.ts";

const FOLDER = "docs/runbook";

/** Adds `runbook render|check|sync` to the program. */
export function addRunbook(program: Command, shell: Shell, done: (code: number) => void): void {
  const runbook = program
    .command("runbook")
    .description("pages of all known failures, rendered from the recognizers");
  runbook
    .command("render")
    .description("write the pages into a folder")
    .option("-o, --output <folder>", `folder (default: ${FOLDER})`)
    .action(async (_flags: object, command: Command) => {
      const { runbookRender } = await import("./runbook.ts");
      done(await runbookRender(shell, outputGiven(command) ?? FOLDER));
    });
  runbook
    .command("check")
    .description("fail if a folder does not hold the pages as they would be rendered")
    .option("-o, --output <folder>", `folder (default: ${FOLDER})`)
    .action(async (_flags: object, command: Command) => {
      const { runbookCheck } = await import("./runbook.ts");
      done(await runbookCheck(shell, outputGiven(command) ?? FOLDER));
    });
  runbook
    .command("sync")
    .description("keep them in another repository's docs/troubleshooting.md and AGENTS.md")
    .requiredOption("--repo <path>", "a checkout")
    .option("--root <folder>", "folder in it that has the docs/ and AGENTS.md, such as cluster")
    .option("--check", "change nothing; fail if something would change", false)
    .action(async (flags: SyncFlags) => {
      const { runbookSync } = await import("./runbook.ts");
      done(await runbookSync(shell, flags));
    });
}
