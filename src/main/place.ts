import { existsSync } from "node:fs";
import { join } from "node:path";
import { CliError, EXIT, type PlaceFlags } from "../cli/world.ts";
import { engineSocketPath } from "../server/socket.ts";
import { dataDirOf } from "./data-dir.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Where a verb works. `said`: it could have been elsewhere, so a person must read where it is. */
export type Place =
  | { readonly is: "local"; readonly dataDir: string; readonly said: boolean }
  | { readonly is: "cluster" };

/** What there is on this machine, besides what was said. */
export interface Found {
  readonly dataDir: string;
  /** Something is kept in the data directory, or an engine listens there. */
  readonly isKept: boolean;
  /** There is ~/.kube/config. */
  readonly hasKubeconfig: boolean;
}

/** Looks around. Fails with CliError where there is no place for a data directory at all. */
export function lookAround(flags: PlaceFlags, env: Environment): Found {
  const dataDir = dataDirOf(flags.dataDir, env);
  const isKept = existsSync(join(dataDir, "nigari.db")) || existsSync(engineSocketPath(dataDir));
  const { HOME = "" } = env;
  return { dataDir, isKept, hasKubeconfig: existsSync(join(HOME, ".kube/config")) };
}

/**
 * Which of the two places is meant. Nobody is to act on the wrong one by accident: a flag says it;
 * where the environment names a cluster and this machine has objects of its own, one must say it.
 * Fails with CliError (exit 3).
 */
export function choosePlace(flags: PlaceFlags, env: Environment, found: Found): Place {
  const { kubeconfig, context } = flags;
  const namesCluster = kubeconfig !== undefined || context !== undefined;
  const { dataDir, isKept, hasKubeconfig } = found;
  if (flags.dataDir !== undefined && namesCluster) {
    throw new CliError(
      EXIT.usage,
      "--data-dir names this machine, --kubeconfig and --context a cluster; leave one out",
    );
  }
  if (namesCluster) return { is: "cluster" };
  if (flags.dataDir !== undefined) return { is: "local", dataDir, said: false };
  const pointed = set(env.KUBECONFIG);
  const inCluster = set(env.KUBERNETES_SERVICE_HOST);
  if (set(env.NIGARI_DATA_DIR)) return { is: "local", dataDir, said: pointed || inCluster };
  if (isKept && pointed) {
    throw new CliError(
      EXIT.usage,
      `Two places could be meant: this machine's data directory ${dataDir}, and the cluster of ` +
        `KUBECONFIG; say which with --data-dir ${dataDir} or --context NAME`,
    );
  }
  if (isKept) return { is: "local", dataDir, said: hasKubeconfig || inCluster };
  if (pointed || hasKubeconfig || inCluster) return { is: "cluster" };
  return { is: "local", dataDir, said: false };
}

function set(text: string | undefined): boolean {
  return text !== undefined && text !== "";
}
