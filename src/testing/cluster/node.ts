import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeCgroup, processesOf, removeCgroup, setFrozen, thawTree } from "./cgroups.ts";
import { run, runLong, tryRun, until } from "./commands.ts";
import type { Daemons } from "./daemons.ts";
import { setCable } from "./network.ts";
import { writeNodeFiles } from "./node-files.ts";
import type { ClusterPlan, NodePlan } from "./plan.ts";

const BOOT_LIMIT_MS = 60_000;
const END_LIMIT_MS = 10_000;

/** One node, and what can befall it. Each method resolves when it has happened. */
export class ClusterNode {
  readonly plan: NodePlan;
  readonly #daemons: Daemons;
  readonly #daemon: string;

  constructor(plan: NodePlan, daemons: Daemons) {
    this.plan = plan;
    this.#daemons = daemons;
    this.#daemon = `node-${plan.name}`;
  }

  /** Lays out its disk, before the first start. */
  prepare(plan: ClusterPlan): void {
    writeNodeFiles(plan, this.plan);
    this.#write("machine-id", `${randomUUID().replaceAll("-", "")}\n`);
  }

  /** Switches it on, with the disk it had and a boot id that it never had. */
  async start(): Promise<void> {
    const { name, folder, netns, cgroup } = this.plan;
    this.#write("boot-id", `${randomUUID()}\n`);
    // As after a power cycle. The kubelet would spend seconds on each old container's group.
    this.#clearRun();
    await removeCgroup(cgroup);
    makeCgroup(`${cgroup}/system`);
    setCable(this.plan, "up");
    const script = join(import.meta.dirname, "node.sh");
    this.#daemons.start(this.#daemon, {
      file: "bash",
      args: [script, "enter", name, folder, netns, cgroup],
    });
    await until(`containerd on node ${name}`, BOOT_LIMIT_MS, () => {
      if (this.#daemons.pid(this.#daemon) === undefined) {
        throw new Error(`Node ${name} ended:\n${this.#daemons.lastWords(this.#daemon)}`);
      }
      return existsSync(join(folder, "run/kubelet.pid")) ? true : undefined;
    });
  }

  isOn(): boolean {
    return this.#daemons.pid(this.#daemon) !== undefined;
  }

  bootId(): string {
    return readFileSync(join(this.plan.folder, "boot-id"), "utf8").trim();
  }

  /** The plug is pulled: all of it is gone at once, and no connection is said goodbye to. */
  async powerOff(): Promise<void> {
    setCable(this.plan, "down");
    await this.#end();
  }

  /**
   * Shuts down in order, as a machine does whose administrator drained nothing: the kubelet and
   * every container are asked to end, and connections are closed by whoever ends. What has not
   * ended after `graceMs` (systemd gives 90 s, less by default here) is killed.
   */
  async shutDown(graceMs = 5_000): Promise<void> {
    this.#switchOff("kubelet");
    this.#signal("kubelet", "SIGTERM");
    const containers = () => processesOf(`${this.plan.cgroup}/kubepods`);
    for (const pid of containers()) signalIfThere(pid, "SIGTERM");
    const gone = () => (containers().length === 0 ? true : undefined);
    await until("containers to end", graceMs, gone).catch(() => undefined);
    await this.#end();
  }

  /** Shuts down in order and starts again. */
  async reboot(graceMs?: number): Promise<void> {
    await this.shutDown(graceMs);
    await this.start();
  }

  /** Every process of it stops where it is; its kernel still answers, its programs do not. */
  async freeze(): Promise<void> {
    await setFrozen(this.plan.cgroup, true);
  }
  async thaw(): Promise<void> {
    await setFrozen(this.plan.cgroup, false);
  }

  /** It runs on and nobody can reach it. */
  cut(): void {
    setCable(this.plan, "down");
  }
  join(): void {
    setCable(this.plan, "up");
  }

  /** The kubelet alone ends; its containers run on. */
  async stopKubelet(): Promise<void> {
    this.#switchOff("kubelet");
    this.#signal("kubelet", "SIGKILL");
    const ended = () => (existsSync(this.#pidFile("kubelet")) ? undefined : true);
    await until("the kubelet to end", END_LIMIT_MS, ended);
  }
  startKubelet(): void {
    rmSync(join(this.plan.folder, "run/kubelet.off"), { force: true });
  }

  /** Loads an archive of images. Its file must not lie below /run, /var/lib or /var/log. */
  async importImages(archive: string): Promise<void> {
    const load = ["ctr", "--namespace=k8s.io", "images", "import", archive];
    await runLong("nsenter", ...this.#namespaces(), ...load);
  }

  /** Runs a command inside, as an administrator on this machine would, and gives its output. */
  inside(file: string, ...args: readonly string[]): string {
    return run("nsenter", ...this.#namespaces(), file, ...args);
  }

  #namespaces(): string[] {
    const pid = this.#initPid();
    if (pid === undefined) throw new Error(`Node ${this.plan.name} is off`);
    return [`--target=${pid}`, "-m", "-n", "-p", "-u", "-i", "--"];
  }

  async #end(): Promise<void> {
    // What is frozen does not die.
    thawTree(this.plan.cgroup);
    const pid = this.#initPid();
    if (pid !== undefined) signalIfThere(pid, "SIGKILL");
    await this.#daemons.stop(this.#daemon);
    // If unshare was killed first, its child may be on its way still.
    const gone = () => {
      const left = processesOf(this.plan.cgroup);
      for (const each of left) signalIfThere(each, "SIGKILL");
      return left.length === 0 ? true : undefined;
    };
    await until(`the end of node ${this.plan.name}`, END_LIMIT_MS, gone);
  }

  /** Its PID 1, as the host counts: the child of the process that made the namespaces. */
  #initPid(): number | undefined {
    const pid = this.#daemons.pid(this.#daemon);
    if (pid === undefined) return undefined;
    const child = tryRun("pgrep", "-P", `${pid}`)?.trim().split("\n")[0];
    return child === undefined || child === "" ? undefined : Number(child);
  }

  #switchOff(program: string): void {
    this.#write(`run/${program}.off`, "");
  }

  #signal(program: string, signal: NodeJS.Signals): void {
    const pid = readFileSync(this.#pidFile(program), "utf8").trim();
    this.inside("kill", `-${signal}`, pid);
  }

  #pidFile(program: string): string {
    return join(this.plan.folder, "run", `${program}.pid`);
  }

  #clearRun(): void {
    const folder = join(this.plan.folder, "run");
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
  }

  #write(name: string, text: string): void {
    writeFileSync(join(this.plan.folder, name), text, { mode: 0o644 });
  }
}

/** It may have ended meanwhile, which is what is wanted. */
export function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone.
  }
}
