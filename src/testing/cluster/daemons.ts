import { spawn } from "node:child_process";
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import {
  identityOf,
  type ProcessIdentity,
  parseIdentity,
  sameProcess,
} from "../../processes/identity.ts";
import { until } from "./commands.ts";

export interface DaemonCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const END_LIMIT_MS = 10_000;

/**
 * Processes that outlive whoever starts them. Each is known by a file with its pid and its start
 * time, so that whoever comes later ends this very process and none that got its pid since.
 */
export class Daemons {
  readonly #folder: string;
  readonly #logs: string;

  /** `folder` is the cluster's. */
  constructor(folder: string) {
    this.#folder = join(folder, "run");
    this.#logs = join(folder, "logs");
  }

  names(): string[] {
    const ends = this.#files().filter((file) => file.endsWith(".pid"));
    return ends.map((file) => file.slice(0, -".pid".length));
  }

  /** Starts it in a session of its own; its output goes to a log file of its name. */
  start(name: string, command: DaemonCommand): void {
    if (this.pid(name) !== undefined) throw new Error(`Process ${name} runs already`);
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    mkdirSync(this.#logs, { recursive: true, mode: 0o700 });
    const log = openSync(this.log(name), "a", 0o600);
    const child = spawn(command.file, command.args, {
      cwd: "/",
      detached: true,
      stdio: ["ignore", log, log],
      env: { PATH: process.env.PATH ?? "", ...command.env },
    });
    closeSync(log);
    child.on("error", () => undefined);
    child.unref();
    const identity = child.pid === undefined ? undefined : identityOf(child.pid);
    if (identity === undefined) throw new Error(`Program ${command.file} could not be started`);
    this.#write(`${name}.command`, command);
    this.#write(`${name}.pid`, identity);
  }

  /** Starts it again as it was started last. */
  startAgain(name: string): void {
    this.start(name, JSON.parse(readFileSync(join(this.#folder, `${name}.command`), "utf8")));
  }

  /** Its pid, if that very process still runs. */
  pid(name: string): number | undefined {
    const identity = this.#identity(name);
    return identity !== undefined && sameProcess(identity) ? identity.pid : undefined;
  }

  signal(name: string, signal: NodeJS.Signals): void {
    const pid = this.pid(name);
    if (pid !== undefined) process.kill(pid, signal);
  }

  /** Resolves when it is gone; nothing happens if it is already. */
  async stop(name: string, signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const pid = this.pid(name);
    if (pid !== undefined) process.kill(pid, signal);
    const gone = () => {
      const ended = this.pid(name) === undefined && (pid === undefined || threadsOf(pid) < 2);
      return ended ? true : undefined;
    };
    await until(`the end of ${name}`, END_LIMIT_MS, gone);
    rmSync(join(this.#folder, `${name}.pid`), { force: true });
  }

  log(name: string): string {
    return join(this.#logs, `${name}.log`);
  }

  /** The last lines of its log, for an error's text. */
  lastWords(name: string, lines = 12): string {
    try {
      return readFileSync(this.log(name), "utf8").trimEnd().split("\n").slice(-lines).join("\n");
    } catch {
      return "(no log)";
    }
  }

  #identity(name: string): ProcessIdentity | undefined {
    try {
      return parseIdentity(readFileSync(join(this.#folder, `${name}.pid`), "utf8"));
    } catch {
      return undefined;
    }
  }

  #write(name: string, value: unknown): void {
    writeFileSync(join(this.#folder, name), JSON.stringify(value), { mode: 0o600 });
  }

  #files(): string[] {
    try {
      return readdirSync(this.#folder);
    } catch {
      return [];
    }
  }
}

/** A process is shown as ended while its last threads still hold its ports. */
function threadsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`).length;
  } catch {
    return 0;
  }
}
