import { isCi } from "../../src/testing/cluster/api-server.ts";
import { takeDefinitions } from "../../src/testing/cluster/definitions.ts";
import {
  apiServerNames,
  clusterPins,
  clusterProgramNames,
} from "../../src/testing/cluster/programs.ts";
import {
  binFolder,
  installPackages,
  machineLacks,
} from "../../src/testing/cluster/requirements.ts";
import { makePrograms } from "../opentofu/programs.ts";

/** Makes what an API server without nodes needs. */
export async function buildApiServer(): Promise<void> {
  await makePrograms("cluster", clusterPins(apiServerNames));
}

/** Makes what `make test` can ask for: an API server, and what renders the chart. */
export async function buildForTests(): Promise<void> {
  await makePrograms("cluster", clusterPins([...apiServerNames, "kubectl", "helm"]));
}

/**
 * Makes whatever a whole cluster needs; sets the exit code if it cannot. Where no cluster can be it
 * says why and makes nothing, which is a failure in CI alone.
 */
export async function build(root: string): Promise<void> {
  const lacks = machineLacks();
  if (lacks.length > 0) {
    process.stderr.write(`cluster: nothing was built, for ${lacks.join("; ")}\n`);
    if (isCi(process.env)) process.exitCode = 1;
    return;
  }
  if (isCi(process.env)) installPackages();
  const pins = clusterPins(clusterProgramNames);
  await makePrograms("cluster", pins);
  if (process.exitCode) return;
  const programs = await Promise.all(pins.map((pin) => pin(root)));
  const controller = programs.find(({ id }) => id === "source-controller");
  if (controller !== undefined) takeDefinitions(binFolder(), root, controller.version);
}
