// The program `controller`: the engine of a cluster. Its Deployment starts it.
import { AccessError } from "../adapters/kubernetes/kubeconfig.ts";
import { createClock } from "../adapters/system/clock.ts";
import { CliError, EXIT } from "../cli/world.ts";
import { MonitoringRefused } from "../server/monitoring.ts";
import { runController } from "./cluster-controller.ts";
import { controllerSettings, WrongFlags } from "./controller-settings.ts";
import { podRunners } from "./pod-runners.ts";

process.umask(0o077);
const clock = createClock();
const interrupt = new AbortController();
// The first signal asks, the second one ends at once, whatever goes on.
const onSignal = () => {
  if (interrupt.signal.aborted) process.exit(1);
  interrupt.abort(new Error("The controller was told to stop"));
};
process.on("SIGTERM", onSignal);
process.on("SIGINT", onSignal);

const ended = new AbortController();
const alive = clock.sleep(Number.MAX_SAFE_INTEGER, ended.signal);
try {
  const settings = controllerSettings(process.argv.slice(2), process.env);
  const world = { clock, env: process.env, interrupted: interrupt.signal };
  process.exitCode = await runController(settings, podRunners(settings, process.env), world);
} catch (error) {
  const known = [AccessError, CliError, MonitoringRefused, WrongFlags];
  if (!known.some((each) => error instanceof each)) throw error;
  process.stderr.write(`nigari controller: ${(error as Error).message}\n`);
  process.exitCode = error instanceof WrongFlags ? EXIT.usage : EXIT.failed;
}
ended.abort();
await alive;
clock.close();
