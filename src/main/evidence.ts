import { setFlagsFromString } from "node:v8";
import { createArchive } from "../adapters/bundle/archive.ts";
import { createLoader, loadBundle } from "../adapters/bundle/load.ts";
import { ApiError } from "../adapters/kubernetes/api-error.ts";
import { type Collected, collectEvidence } from "../adapters/kubernetes/collect.ts";
import { Connection } from "../adapters/kubernetes/connection.ts";
import { AccessError, findAccess } from "../adapters/kubernetes/kubeconfig.ts";
import type { ClusterFlags, EvidenceTools } from "../cli/commands/doctor.ts";
import { CliError, EXIT } from "../cli/world.ts";
import type { Call } from "../ports/call.ts";
import type { Clock } from "../ports/clock.ts";
import type { EvidenceSink } from "../ports/evidence.ts";
import { packageVersion } from "./package.ts";

export interface EvidenceOptions {
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Where the doctor's evidence comes from: saved dumps, and the cluster of a kubeconfig. */
export function evidenceTools(options: EvidenceOptions): EvidenceTools {
  stayLean();
  const collect = (flags: ClusterFlags, sink: EvidenceSink, call: Call) =>
    collectFrom(options, flags, sink, call);
  return {
    loadBundle,
    async readCluster(flags, call) {
      const loader = createLoader();
      await collect(flags, loader, call);
      return loader.evidence();
    },
    async saveCluster(flags, path, call) {
      const archive = await createArchive(path).catch((error: unknown) => {
        throw new CliError(EXIT.usage, `${path} cannot be written: ${messageOf(error)}`);
      });
      try {
        const { files, lacks, calls } = await collect(flags, archive, call);
        await archive.finish();
        return { files, lacks, calls };
      } catch (error) {
        await archive.drop();
        throw error;
      }
    },
  };
}

/**
 * A log of a gigabyte is read line by line, and next to nothing of it is kept. V8 would still grow
 * the space for what is young to a hundred MiB; as it begins, it is large enough.
 */
function stayLean(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
}

/** Ways to a cluster that are wrong are the user's to mend; a cluster that is away is a fact. */
async function collectFrom(
  { clock, env }: EvidenceOptions,
  { kubeconfig, context }: ClusterFlags,
  sink: EvidenceSink,
  call: Call,
): Promise<Collected> {
  try {
    const access = await findAccess({ env, kubeconfig, context });
    const userAgent = `nigari/${packageVersion()}`;
    const connection = new Connection(access, { clock, env, userAgent });
    try {
      const at = { namespace: access.namespace, now: () => clock.now() };
      return await collectEvidence(connection, at, sink, call);
    } finally {
      connection.close();
    }
  } catch (error) {
    call.signal.throwIfAborted();
    if (error instanceof AccessError) throw new CliError(EXIT.usage, error.message);
    if (error instanceof ApiError) {
      const says = `The cluster cannot be read: ${error.message}`;
      throw new CliError(EXIT.incomplete, says, { cause: error });
    }
    throw error;
  }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
