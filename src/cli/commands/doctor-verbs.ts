import type { Command } from "commander";
import { outputForm } from "../output-flag.ts";
import type { DoctorFlags, DoctorParts } from "./doctor.ts";

/** Adds `doctor` and `explain` to the program. */
export function addDoctor(
  program: Command,
  parts: DoctorParts,
  done: (code: number) => void,
): void {
  program
    .command("doctor")
    .description("say what is wrong, why, and what cures it at which price")
    .option("--bundle <path>", "a saved dump: folder, tar, tar.gz")
    .option("--as-of <time>", "judge at this time (RFC 3339), not at the dump's own")
    .option("--all", "every citation", false)
    .option("-o, --output <form>", "text, json or markdown (default: text)")
    .action(async (flags: DoctorFlags, command: Command) => {
      const output = outputForm(command, ["text", "json", "markdown"], "text");
      const { doctor } = await import("./doctor.ts");
      done(await doctor(parts, { ...flags, output }));
    });
  program
    .command("explain")
    .description("what a finding means, what it is not, and what cures it")
    .argument("<id>", "such as tofu/reconcile-parked")
    .action(async (id: string) => {
      const { explain } = await import("./doctor.ts");
      done(explain(parts.shell, id));
    });
}
