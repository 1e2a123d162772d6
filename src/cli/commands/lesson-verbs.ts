import type { Command } from "commander";
import { outputGiven } from "../output-flag.ts";
import type { DoctorParts } from "./doctor.ts";
import type { DraftFlags } from "./lesson.ts";

const FOLDER = "docs/lessons_learned";

/** Adds `lesson draft|check` to the program. */
export function addLesson(
  program: Command,
  parts: DoctorParts,
  done: (code: number) => void,
): void {
  const lesson = program
    .command("lesson")
    .description("what an incident taught, tied to the recognizer that knows it again");
  lesson
    .command("draft")
    .description("write a lesson from a diagnosis; people fill in what only they know")
    .requiredOption(
      "--from <file>",
      'what "nigari doctor -o json" printed, or - for standard input',
    )
    .option("--incident <id>", "which incident, where there are several")
    .option("--evidence <path>", "saved evidence that the lesson shall name")
    .option("-o, --output <folder>", `folder of the lessons (default: ${FOLDER})`)
    .action(async (flags: Omit<DraftFlags, "output">, command: Command) => {
      const { lessonDraftFrom } = await import("./lesson.ts");
      const output = outputGiven(command) ?? FOLDER;
      done(await lessonDraftFrom(parts.shell, { ...flags, output }));
    });
  lesson
    .command("check")
    .description("fail if a lesson's evidence is not recognized as what it says")
    .argument("[path...]", `lessons, or folders of them (default: ${FOLDER})`)
    .action(async (paths: string[]) => {
      const { lessonCheck } = await import("./lesson.ts");
      done(await lessonCheck(parts, paths.length === 0 ? [FOLDER] : paths));
    });
}
