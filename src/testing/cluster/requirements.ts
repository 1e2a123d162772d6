import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { toolsFolder } from "../../adapters/opentofu/programs.ts";
import { isCi } from "./api-server.ts";
import { run } from "./commands.ts";
import { sourceDefinitions } from "./definitions.ts";
import { clusterProgramNames } from "./programs.ts";

/** What the cluster starts, by the Debian package that brings it. */
const programs: Readonly<Record<string, readonly string[]>> = {
  containerd: ["containerd", "ctr"],
  runc: ["runc"],
  "busybox-static": ["busybox"],
  iproute2: ["ip"],
  iptables: ["iptables"],
  conntrack: ["conntrack"],
  "util-linux": ["nsenter", "unshare"],
  procps: ["pgrep", "sysctl"],
  openssl: ["openssl"],
  git: ["git"],
};

const NETWORK_PLUGINS = "containernetworking-plugins";
const CNI_FOLDERS = ["/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"];
const root = join(import.meta.dirname, "../../..");

/** What this machine lacks for a cluster, as sentences that say what to do; none if nothing. */
export function clusterLacks(): string[] {
  const lacks = machineLacks();
  // On another system there is nothing to install either.
  if (process.platform !== "linux") return lacks;
  const packages = missingPackages();
  if (packages.length > 0) lacks.push(`Packages are missing; run "${installLine(packages)}"`);
  const programs = missingPrograms();
  if (programs.length > 0) lacks.push(`Programs are not built: ${programs.join(", ")}; ${BUILD}`);
  return lacks;
}

/** Likewise, of what no installation mends. */
export function machineLacks(): string[] {
  if (process.platform !== "linux") return ["A cluster needs Linux"];
  const lacks: string[] = [];
  if (process.getuid?.() !== 0) lacks.push("A cluster needs root, for namespaces and devices");
  if (!existsSync("/sys/fs/cgroup/freezer") && !existsSync("/sys/fs/cgroup/cgroup.controllers")) {
    lacks.push("A cluster needs /sys/fs/cgroup, with the freezer if it is of version 1");
  }
  return lacks;
}

const BUILD = 'run "npm run cluster -- build"';

/**
 * Whether tests on a whole cluster have to be skipped. A skip is said aloud; in CI there is none,
 * for nobody would see that the proof is missing.
 */
export function withoutNodes(): boolean {
  const lacks = clusterLacks();
  if (lacks.length === 0) return false;
  if (isCi(process.env)) throw new Error(`In CI no test may be skipped: ${lacks.join("; ")}`);
  process.stderr.write(`skipped, for there is no cluster:\n  ${lacks.join("\n  ")}\n`);
  return true;
}

/** Installs what is missing, for CI. Does nothing where nothing is. */
export function installPackages(): void {
  const packages = missingPackages();
  if (packages.length === 0) return;
  run("apt-get", "update", "--quiet");
  run("env", "DEBIAN_FRONTEND=noninteractive", ...installLine(packages).split(" "));
}

/** Where the pinned programs are. */
export function binFolder(): string {
  return join(toolsFolder({ env: process.env, root }), "bin");
}

/** The folder of the CNI plugins; fails if there is none. */
export function cniFolder(): string {
  const found = CNI_FOLDERS.find((folder) => existsSync(join(folder, "bridge")));
  if (found === undefined) throw new Error(`Package ${NETWORK_PLUGINS} is not installed`);
  return found;
}

function missingPackages(): string[] {
  const missing = Object.entries(programs).flatMap(([name, files]) =>
    files.every(isOnPath) ? [] : name,
  );
  const plugins = CNI_FOLDERS.some((folder) => existsSync(join(folder, "bridge")));
  return plugins ? missing : [...missing, NETWORK_PLUGINS];
}

function missingPrograms(): string[] {
  const missing = clusterProgramNames.filter((name) => !existsSync(join(binFolder(), name)));
  return sourceDefinitions(binFolder()).length > 0 ? missing : [...missing, "Flux' definitions"];
}

function installLine(packages: readonly string[]): string {
  return `apt-get install -y --no-install-recommends ${packages.join(" ")}`;
}

function isOnPath(file: string): boolean {
  // Administrators' programs are not on everybody's PATH.
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  return folders.some((folder) => isExecutable(join(folder, file)));
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
