// npm run cluster -- VERB: a real Kubernetes cluster on this machine, for tests and for a look.
import { mkdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Cluster, openCluster, startCluster } from "../../src/testing/cluster/cluster.ts";
import { clearLeftovers } from "../../src/testing/cluster/slots.ts";
import { buildArchive } from "../../src/testing/images/archives.ts";
import { build, buildApiServer, buildForTests } from "./build.ts";
import { faults } from "./faults.ts";

const root = join(import.meta.dirname, "../..");
const folder = join(root, ".cluster/main");
const archives = join(root, ".cluster/images");

const usage = `usage: npm run cluster -- VERB
  build                       builds the programs, once (about 20 minutes on two cores)
  build api-server            builds those of an API server without nodes (8 minutes)
  build tests                 builds those that "make test" asks for where CI is set
  up                          builds, and starts a cluster that stays until "down"
  down                        ends it, and what killed tests left; nothing stays behind
  status                      says what of it runs
  images                      builds our images of this checkout and loads them into each node
  import FILE                 loads an archive of images into each node
  ctr NODE ARGUMENTS          asks a node's containerd
${Object.entries(faults)
  .map(([verb, { args, says }]) => `  ${`${verb} ${args.join(" ")}`.padEnd(28)}${says}`)
  .join("\n")}
`;

async function main([verb = "", ...args]: readonly string[]): Promise<void> {
  const fault = faults[verb];
  if (fault !== undefined) return fault.strike(running(), args);
  if (verb === "build" && args[0] === "api-server") return buildApiServer();
  if (verb === "build" && args[0] === "tests") return buildForTests();
  if (verb === "build") return build(root);
  if (verb === "up") return up();
  if (verb === "down") return down();
  if (verb === "status") return status(running());
  if (verb === "images") return running().importImages(buildArchive("ours", archives));
  if (verb === "ctr" && args[0]) return inspect(running(), args[0], args.slice(1));
  if (verb === "import" && args[0]) return running().importImages(resolve(args[0]));
  process.stderr.write(usage);
  process.exitCode = 2;
}

async function up(): Promise<void> {
  await build(root);
  if (process.exitCode) return;
  const begun = performance.now();
  const cluster = openCluster(folder) ?? (await fresh());
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
  process.stdout.write(`up after ${seconds} s: export KUBECONFIG=${cluster.kubeconfig}\n`);
}

async function fresh(): Promise<Cluster> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const images = [buildArchive("pause", archives), buildArchive("foreign", archives)];
  const cluster = await startCluster({ folder, images });
  cluster.keep();
  return cluster;
}

async function down(): Promise<void> {
  await openCluster(folder)?.down();
  await clearLeftovers();
}

function status(cluster: Cluster): void {
  const processes = [...cluster.processes()].map(
    ([name, pid]) => `${name}: ${pid === undefined ? "not running" : `pid ${pid}`}`,
  );
  process.stdout.write(`${[`KUBECONFIG=${cluster.kubeconfig}`, ...processes].join("\n")}\n`);
}

function inspect(cluster: Cluster, node: string, args: readonly string[]): void {
  process.stdout.write(cluster.node(node).inside("ctr", "--namespace=k8s.io", ...args));
}

function running(): Cluster {
  const cluster = openCluster(folder);
  if (cluster === undefined) throw new Error('No cluster is up; run "npm run cluster -- up"');
  return cluster;
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`cluster: ${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}
