import type { Command } from "commander";
import { CliError, EXIT } from "./world.ts";

/**
 * What stands behind -o, or `otherwise` if nobody wrote it. Each verb says which forms it knows:
 * the program takes the flag wherever it stands, so it cannot judge it.
 */
export function outputForm<Form extends string>(
  command: Command,
  forms: readonly Form[],
  otherwise: Form,
): Form {
  const given = outputGiven(command);
  if (given === undefined) return otherwise;
  const found = forms.find((form) => form === given);
  if (found !== undefined) return found;
  throw new CliError(
    EXIT.usage,
    `-o "${given}" is none of ${forms.join(", ")} ("nigari ${nameOf(command)} --help" says more)`,
  );
}

/** The text behind -o as it was written, or undefined. */
export function outputGiven(command: Command): string | undefined {
  for (let at: Command | null = command; at !== null; at = at.parent) {
    if (at.getOptionValueSource("output") === "cli") return String(at.opts().output);
  }
  return undefined;
}

function nameOf(command: Command): string {
  const above = command.parent;
  return above === null || above.parent === null
    ? command.name()
    : `${nameOf(above)} ${command.name()}`;
}
