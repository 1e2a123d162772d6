import type { Command } from "commander";
import { outputForm, outputGiven } from "../output-flag.ts";
import { CliError, EXIT } from "../world.ts";
import type { ClusterFlags, DoctorFlags, DoctorParts } from "./doctor.ts";

/** Adds `doctor` and `explain` to the program. */
export function addDoctor(
  program: Command,
  parts: DoctorParts,
  done: (code: number) => void,
): void {
  program
    .command("doctor")
    .description("say what is wrong, why, and what cures it at which price")
    .option("--bundle <path>", "not the cluster but a saved dump: folder, tar, tar.gz")
    .option("--save <path>", "keep the cluster's evidence, as collect does")
    .option("--as-of <time>", "judge at this time (RFC 3339), not at the dump's own")
    .option("--all", "every citation", false)
    .option("-o, --output <form>", "text, json or markdown (default: text)")
    .action(async (_flags: object, command: Command) => {
      const flags = command.optsWithGlobals<DoctorFlags>();
      const output = outputForm(command, ["text", "json", "markdown"], "text");
      const { doctor } = await import("./doctor.ts");
      done(await doctor(parts, { ...flags, output }));
    });
  program
    .command("collect")
    .description("save a cluster's evidence, redacted, to be judged later or elsewhere")
    .option("-o, --output <path>", "archive (.tar.gz, .tgz, .tar), else a folder")
    .action(async (_flags: object, command: Command) => {
      const flags = command.optsWithGlobals<ClusterFlags>();
      const path = outputGiven(command);
      if (path === undefined) throw new CliError(EXIT.usage, "Say where to: -o dump.tar.gz");
      const { collect } = await import("./doctor.ts");
      done(await collect(parts, path, flags));
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
