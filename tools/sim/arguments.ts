import { type ParseArgsOptionsConfig, parseArgs } from "node:util";

type Values<T extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ options: T }>
>["values"];

/** What was asked for; or what to say instead, and the exit code to end with. */
export type Asked<T extends ParseArgsOptionsConfig> =
  | { readonly values: Values<T> }
  | { readonly say: string; readonly exitCode: 0 | 2 };

/** `usage` is said to --help, and after what is wrong with the arguments. */
export function asked<const T extends ParseArgsOptionsConfig>(
  args: readonly string[],
  usage: string,
  options: T,
): Asked<T> {
  if (args.includes("--help") || args.includes("-h")) return { say: usage, exitCode: 0 };
  try {
    return { values: parseArgs({ args: [...args], options }).values as Values<T> };
  } catch (error) {
    return { say: `${(error as Error).message}\n\n${usage}`, exitCode: 2 };
  }
}

/** The options of this program's own command line; ends the program if it must say something. */
export function askedOfUs<const T extends ParseArgsOptionsConfig>(
  usage: string,
  options: T,
): Values<T> {
  const answer = asked(process.argv.slice(2), usage, options);
  if ("values" in answer) return answer.values;
  (answer.exitCode === 0 ? process.stdout : process.stderr).write(answer.say);
  process.exit(answer.exitCode);
}

/** A whole number of at least `least`; ends the program if it is none. */
export function wholeNumber(flag: string, text: string, least = 1): number {
  const value = Number(text);
  if (text !== "" && Number.isSafeInteger(value) && value >= least) return value;
  process.stderr.write(`${flag} takes a whole number, ${least} or more, not "${text}"\n`);
  process.exit(2);
}
