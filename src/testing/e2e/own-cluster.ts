import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { run } from "../cluster/commands.ts";
import { buildArchive } from "../images/archives.ts";
import { install } from "./controllers.ts";

/** A cluster for one tool: this checkout is built and installed in it; then it is taken down. */
export async function withCluster(
  work: (cluster: Cluster, folder: string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "nigari-e2e-"));
  run(process.execPath, join(import.meta.dirname, "../../../tools/build.ts"));
  const images = (["pause", "ours"] as const).map((name) => buildArchive(name, folder));
  const cluster = await startCluster({ folder: join(folder, "cluster"), images });
  try {
    await install(cluster);
    await work(cluster, folder);
  } finally {
    await cluster.down();
    rmSync(folder, { recursive: true, force: true });
  }
}
