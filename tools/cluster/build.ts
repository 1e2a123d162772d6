import { isCi } from "../../src/testing/cluster/api-server.ts";
import { takeDefinitions } from "../../src/testing/cluster/definitions.ts";
import { clusterPins } from "../../src/testing/cluster/programs.ts";
import { binFolder, installPackages } from "../../src/testing/cluster/requirements.ts";
import { makePrograms } from "../opentofu/programs.ts";

/** Makes whatever a cluster needs and this machine lacks; sets the exit code if it cannot. */
export async function build(root: string): Promise<void> {
  if (isCi(process.env)) installPackages();
  const pins = clusterPins();
  await makePrograms("cluster", pins);
  if (process.exitCode) return;
  const programs = await Promise.all(pins.map((pin) => pin(root)));
  const controller = programs.find(({ id }) => id === "source-controller");
  if (controller !== undefined) takeDefinitions(binFolder(), root, controller.version);
}
