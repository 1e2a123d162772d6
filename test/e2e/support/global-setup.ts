import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { startCluster } from "../../../src/testing/cluster/cluster.ts";
import { run } from "../../../src/testing/cluster/commands.ts";
import { withoutNodes } from "../../../src/testing/cluster/requirements.ts";
import { buildArchive } from "../../../src/testing/images/archives.ts";

const root = join(import.meta.dirname, "../../..");

declare module "vitest" {
  interface ProvidedContext {
    /** Folder of the cluster that all files share; "" where there can be none. */
    readonly clusterFolder: string;
    /** Folder of the archives of images, for files that start a cluster of their own. */
    readonly archives: string;
  }
}

/**
 * Builds the images of this checkout and starts one cluster for all files, which run one after the
 * other. A file that hurts it heals it. Its logs stay in .cluster/e2e-logs.
 */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (withoutNodes()) {
    project.provide("clusterFolder", "");
    project.provide("archives", "");
    return undefined;
  }
  const folder = mkdtempSync(join(tmpdir(), "nigari-e2e-"));
  const archives = join(folder, "archives");
  run(process.execPath, join(root, "tools/build.ts"));
  const names = ["pause", "ours", "foreign"] as const;
  const images = names.map((name) => buildArchive(name, archives));
  const cluster = await startCluster({ folder: join(folder, "cluster"), images });
  project.provide("clusterFolder", cluster.plan.folder);
  project.provide("archives", archives);
  return async () => {
    cluster.copyLogs(join(root, ".cluster/e2e-logs"));
    await cluster.down();
    rmSync(folder, { recursive: true, force: true });
  };
}
