import { type Command, Option } from "commander";
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
    .addOption(
      new Option("-o, --output <form>", "text, json or markdown")
        .choices(["text", "json", "markdown"])
        .default("text"),
    )
    .action(async (flags: DoctorFlags) => {
      const { doctor } = await import("./doctor.ts");
      done(await doctor(parts, flags));
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
