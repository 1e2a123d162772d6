// The program that runs OpenTofu for one run: `runner FOLDER`. The platform starts it.
import { runRunner } from "../runner/program.ts";
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

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  process.stderr.write("Usage: runner FOLDER (started by Nigari, not by hand)\n");
  process.exit(2);
}
const environment = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  ),
);
try {
  await runRunner({
    folder,
    environment,
    version: packageVersion(),
    shutdown: shutdown.signal,
    shutdownGraceMs: Number(process.env.NIGARI_SHUTDOWN_GRACE_MS ?? SHUTDOWN_GRACE_MS),
    say,
  });
  process.exit(0);
} catch (error) {
  say(`failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  process.exit(1);
}
