import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { pinnedTools } from "../../../src/testing/pinned-tools.ts";

const ROOT = join(import.meta.dirname, "../../..");

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  readonly ms: number;
}

/** `nigari` as a person calls it, on a data directory and a home of its own. */
export class CommandLine {
  readonly dataDir: string;
  readonly manifests: string;
  readonly #scratch: string;
  readonly #children = new Set<ChildProcess>();

  constructor(scratch: string) {
    this.#scratch = scratch;
    this.dataDir = join(scratch, "data");
    this.manifests = join(scratch, "manifests");
    mkdirSync(this.manifests, { recursive: true });
  }

  start(words: readonly string[], env: Record<string, string> = {}): ChildProcess {
    const program = join(ROOT, "src/main/cli.ts");
    const child = spawn(process.execPath, [program, ...words], {
      cwd: this.#scratch,
      stdio: ["pipe", "pipe", "pipe"],
      env: {
        PATH: process.env.PATH ?? "",
        HOME: this.#scratch,
        NIGARI_TOFU: pinnedTools().tofu,
        NIGARI_DATA_DIR: this.dataDir,
        ...env,
      },
    });
    this.#children.add(child);
    child.once("exit", () => this.#children.delete(child));
    return child;
  }

  /** Runs to its end. One that is still there after `limitMs` is killed, and has the code null. */
  async run(words: readonly string[], options: RunOptions = {}): Promise<Ended> {
    const child = this.start(words, options.env);
    child.stdin?.end(options.input ?? "");
    return await this.end(child, options.limitMs);
  }

  async end(child: ChildProcess, limitMs = 30_000): Promise<Ended> {
    const begun = performance.now();
    const late = setTimeout(() => child.kill("SIGKILL"), limitMs);
    const printed = collect(child);
    const [code] = (await once(child, "close")) as [number | null];
    clearTimeout(late);
    return { code, ...printed(), ms: performance.now() - begun };
  }

  /** An engine on the folder `manifests`; resolves once it is ready. */
  async up(objects = ""): Promise<ChildProcess> {
    writeFileSync(join(this.manifests, "objects.yaml"), objects);
    const child = this.start(["up", this.manifests]);
    const printed = collect(child);
    const ended = once(child, "exit");
    while (!printed().err.includes("Ready")) {
      const next = once(child.stderr ?? child, "data");
      const which = await Promise.race([next.then(() => "more"), ended.then(() => "ended")]);
      if (which === "ended") throw new Error(`The engine ended:\n${printed().err}`);
    }
    return child;
  }

  /** Waits until the engine has stored an object. */
  async untilThere(name: string): Promise<void> {
    while ((await this.run(["get", "terraform", name])).code !== 0);
  }

  /** Waits until a program has opened the database: by then it hears signals. */
  async untilOpened(child: ChildProcess): Promise<void> {
    while (!openOf(child).some((link) => link.endsWith("nigari.db"))) await pause(20);
  }

  /** Waits until a program holds one and the same connection for a while: it follows. */
  async untilFollowing(child: ChildProcess): Promise<void> {
    const own = new Set(openOf(child));
    const connections = () =>
      openOf(child).filter((link) => /^socket/.test(link) && !own.has(link));
    for (;;) {
      const before = connections();
      await pause(300);
      const after = connections();
      if (before.some((link) => after.includes(link))) return;
    }
  }

  close(): void {
    for (const child of this.#children) {
      child.kill("SIGCONT");
      child.kill("SIGKILL");
    }
  }
}

export interface RunOptions {
  readonly env?: Record<string, string>;
  readonly input?: string;
  readonly limitMs?: number;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** What the file descriptors of a process stand for. */
function openOf(child: ChildProcess): string[] {
  const folder = `/proc/${child.pid}/fd`;
  return readdirSync(folder).map((fd) => linkOf(join(folder, fd)));
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

function collect(child: ChildProcess): () => { out: string; err: string } {
  let [out, err] = ["", ""];
  child.stdout?.on("data", (chunk: Buffer) => {
    out += chunk.toString();
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    err += chunk.toString();
  });
  return () => ({ out, err });
}
