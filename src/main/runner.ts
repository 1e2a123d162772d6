// The program that runs OpenTofu for one run: `runner FOLDER`, or `runner --standby` to be given
// the folder later. The platform starts it.
import { STANDBY } from "../protocol/hand-over.ts";
import { runRunner } from "../runner/program.ts";
import { standBy } from "../runner/standby.ts";
import { packageVersion } from "./package.ts";

/** What OpenTofu has to end in after SIGTERM; the platform may know a better time. */
const SHUTDOWN_GRACE_MS = 60_000;

process.umask(0o077);
const say = (line: string) => process.stdout.write(`${new Date().toISOString()} ${line}\n`);
const shutdown = new AbortController();
process.on("SIGTERM", () => shutdown.abort());
// A terminal's interrupt is meant for the engine; its hang-up for nobody here.
process.on("SIGINT", () => undefined);
process.on("SIGHUP", () => undefined);

const [argument] = process.argv.slice(2);
if (argument === undefined) {
  process.stderr.write("Usage: runner FOLDER (started by Nigari, not by hand)\n");
  process.exit(2);
}
try {
  const folder = argument === STANDBY ? await handedFolder() : argument;
  const environment = ownEnvironment();
  await runRunner({
    folder,
    environment,
    version: packageVersion(),
    shutdown: shutdown.signal,
    shutdownGraceMs: Number(environment.NIGARI_SHUTDOWN_GRACE_MS ?? SHUTDOWN_GRACE_MS),
    say,
  });
  process.exit(0);
} catch (error) {
  say(`failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  process.exit(1);
}

/** Stands by, and becomes as if it had been started for the run that it is given. */
async function handedFolder(): Promise<string> {
  const run = await standBy({ input: process.stdin, shutdown: shutdown.signal, say });
  if (run === undefined) process.exit(0);
  process.chdir(run.folder);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, run.env);
  return run.folder;
}

function ownEnvironment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  );
}
