import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
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
    const begun = performance.now();
    const child = this.start(words, options.env);
    if (options.input !== "open") child.stdin?.end(options.input ?? "");
    const late = setTimeout(() => child.kill("SIGKILL"), options.limitMs ?? 30_000);
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

  close(): void {
    for (const child of this.#children) {
      child.kill("SIGCONT");
      child.kill("SIGKILL");
    }
  }
}

export interface RunOptions {
  readonly env?: Record<string, string>;
  /** Standard input; "open": it never ends. */
  readonly input?: string | "open";
  readonly limitMs?: number;
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
