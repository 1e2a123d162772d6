import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { killProcess, readIdentityFile } from "../../processes/group.ts";
import { type Member, membersOf, readProcessTable } from "../../processes/members.ts";
import { SPARE_LOG } from "../../protocol/hand-over.ts";
import { runFolder } from "../../protocol/run-folder.ts";

const LOOK_MS = 20;
/** What belongs to no run. */
const ITS_OWN = [SPARE_LOG, ".epochs"];

interface Trace {
  readonly token: string;
  readonly socket: string;
}

/** Keeps in mind every run that ever was in a folder of runs: what is left of one is found. */
export class RunTraces {
  readonly #folder: string;
  readonly #traces = new Map<string, Trace>();
  readonly #passwords = new Map<string, string>();
  #looking: NodeJS.Timeout | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  begin(): void {
    this.#looking = setInterval(() => this.look(), LOOK_MS);
  }
  end(): void {
    clearInterval(this.#looking);
  }

  /** Ids of the runs seen so far, oldest first. */
  get runIds(): readonly string[] {
    return [...this.#traces.keys()];
  }
  /** What OpenTofu was let in with at the state door. */
  get passwords(): readonly string[] {
    return [...this.#passwords.values()];
  }

  look(): void {
    for (const runId of this.folders()) {
      const { identity, order } = runFolder(join(this.#folder, runId));
      if (!this.#traces.has(runId)) {
        const found = textOf(identity);
        if (found !== undefined) this.#traces.set(runId, JSON.parse(found));
      }
      if (this.#passwords.has(runId)) continue;
      const password = /"TF_HTTP_PASSWORD":"([^"]+)"/.exec(textOf(order) ?? "")?.[1];
      if (password !== undefined) this.#passwords.set(runId, password);
    }
  }

  /** Folders of runs that are there now. */
  folders(): string[] {
    try {
      return readdirSync(this.#folder).filter((name) => !ITS_OWN.includes(name));
    } catch {
      return [];
    }
  }
  /** Sockets of runs that are there now. */
  sockets(): string[] {
    return [...this.#traces.values()].map(({ socket }) => socket).filter(existsSync);
  }

  /** Living processes of all runs, found by their marks and by who descends from them. */
  async living(): Promise<Member[]> {
    const table = await readProcessTable();
    return [...this.#traces.values()].flatMap(({ token }) =>
      membersOf({ leaders: [], token }, table),
    );
  }

  /** SIGKILL of every runner, and of nothing that it started. */
  killRunners(): void {
    for (const runId of this.folders()) {
      const runner = readIdentityFile(runFolder(join(this.#folder, runId)).runner);
      if (runner !== undefined) killProcess(runner);
    }
  }

  /** SIGSTOP, as a power cut finds them. */
  async freezeAll(): Promise<void> {
    for (const { pid } of await this.living()) process.kill(pid, "SIGSTOP");
  }

  async killAll(): Promise<void> {
    for (const member of await this.living()) killProcess(member);
  }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
