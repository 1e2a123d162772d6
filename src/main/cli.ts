// The program `nigari`. The launcher at the root starts it.
import { runCommandLine } from "../cli/program.ts";
import { createShell } from "./shell.ts";

// Whatever this program or a child of it writes is for its user alone.
process.umask(0o077);
const shell = createShell();
const evidence = async () => {
  const { evidenceTools } = await import("./evidence.ts");
  return evidenceTools({ clock: shell.clock, env: process.env });
};
process.exitCode = await runCommandLine({ shell, evidence }, process.argv.slice(2));
shell.close();
