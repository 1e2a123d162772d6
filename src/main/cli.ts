// The program `nigari`. The launcher at the root starts it.
import type { ClusterFlags } from "../cli/cluster/parts.ts";
import { runCommandLine } from "../cli/program.ts";
import { createShell } from "./shell.ts";

// Whatever this program or a child of it writes is for its user alone.
process.umask(0o077);
const shell = createShell();
const evidence = async () => {
  const { evidenceTools } = await import("./evidence.ts");
  return evidenceTools({ clock: shell.clock, env: process.env });
};
// A deadline alone does not keep a process alive; while a verb runs, something must, or Node ends
// it in the middle of what it waits for.
const ended = new AbortController();
const alive = shell.clock.sleep(Number.MAX_SAFE_INTEGER, ended.signal);
const openCluster = async (flags: ClusterFlags) => {
  const { connectAdmin } = await import("./cluster-world.ts");
  return connectAdmin(flags, { clock: shell.clock, env: process.env });
};
const definition = async () => {
  const { readDefinition } = await import("./cluster-world.ts");
  return readDefinition();
};
const parts = { shell, evidence, openCluster, definition };
process.exitCode = await runCommandLine(parts, process.argv.slice(2));
ended.abort();
await alive;
shell.close();
