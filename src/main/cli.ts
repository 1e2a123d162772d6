// The program `nigari`. The launcher at the root starts it.
import { packageVersion } from "./package.ts";

const [verb, ...rest] = process.argv.slice(2);
if (verb === "version" && rest.length === 0) {
  process.stdout.write(`nigari ${packageVersion()}\n`);
} else {
  process.stderr.write(`nigari: unknown command "${process.argv.slice(2).join(" ")}"\n`);
  process.exitCode = 2;
}
