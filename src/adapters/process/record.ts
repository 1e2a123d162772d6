import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { RunnerLaunch } from "../../ports/runner.ts";
import { readIdentityFile } from "../../processes/group.ts";
import { type ProcessIdentity, sameProcess } from "../../processes/identity.ts";
import {
  type Member,
  membersOf,
  type ProcessTable,
  readProcessTable,
} from "../../processes/members.ts";
import { writeDurably } from "../../protocol/durable.ts";
import {
  type RunFolder,
  type RunIdentity,
  type RunnerEnd,
  runFolder,
} from "../../protocol/run-folder.ts";

/** A group of a run's workers: one command of tofu under its wrapper. */
export interface WorkerGroup {
  readonly leader: ProcessIdentity;
  /** Marks that the group has had its interrupt. */
  readonly interrupted: string;
}

/** Who of a run lives at a moment. */
export interface Sight {
  readonly runner: "unknown" | "starting" | "running" | "gone";
  readonly workers: readonly Member[];
  /** Runner and workers. */
  readonly members: readonly Member[];
}

/**
 * One run as its folder tells it, and who of it lives. Keeps in memory every process it has ever
 * seen of the run, so that none gets lost that later leaves its group and clears its environment.
 */
export class RunRecord {
  readonly folder: RunFolder;
  readonly runId: string;
  readonly #seen = new Map<string, ProcessIdentity>();
  #identity: RunIdentity | undefined;
  #runner: ProcessIdentity | undefined;
  #end: RunnerEnd | undefined;
  #last: Promise<unknown> = Promise.resolve();
  /** Two looks in a row found nobody of a run that had a runner: nobody can start anybody. */
  #dead = false;

  constructor(runsFolder: string, runId: string) {
    this.runId = runId;
    this.folder = runFolder(join(runsFolder, runId));
  }

  /** run.json; undefined while the run has not been begun here. */
  identity(): RunIdentity | undefined {
    this.#identity ??= readJson<RunIdentity>(this.folder.identity);
    return this.#identity;
  }

  /**
   * Writes run.json; false if it is there already. All that follows rests on it, so it is synced.
   */
  async begin(launch: RunnerLaunch, made: Omit<RunIdentity, keyof RunnerLaunch>): Promise<boolean> {
    if (this.identity() !== undefined) return false;
    mkdirSync(this.folder.root, { recursive: true, mode: 0o700 });
    const { runId, namespace, name, uid, epoch } = launch;
    const identity: RunIdentity = { runId, namespace, name, uid, epoch, ...made };
    await writeDurably(this.folder.identity, JSON.stringify(identity));
    return true;
  }

  /** The runner's process, by its own word or else by that of who started it. */
  runner(): ProcessIdentity | undefined {
    // Its own word never changes: the file is made once.
    this.#runner ??= readIdentityFile(this.folder.runner);
    return this.#runner ?? readIdentityFile(this.folder.launch);
  }

  end(): RunnerEnd | undefined {
    this.#end ??= readJson<RunnerEnd>(this.folder.end);
    return this.#end;
  }

  /** Writes end.json, once: the first to see the end knows best how it came. */
  noteEnd(end: RunnerEnd): void {
    if (this.end() !== undefined || !existsSync(this.folder.root)) return;
    this.#end = end;
    const beside = `${this.folder.end}.tmp`;
    try {
      writeFileSync(beside, JSON.stringify(end), { mode: 0o600 });
      renameSync(beside, this.folder.end);
    } catch {
      // A full disk costs the next engine how it ended; that it has ended everybody sees.
    }
  }

  groups(): WorkerGroup[] {
    return list(this.folder.steps)
      .filter((name) => name.endsWith(".json"))
      .flatMap((name) => {
        const leader = readIdentityFile(join(this.folder.steps, name));
        const interrupted = join(this.folder.steps, name.replace(/json$/, "interrupted"));
        return leader === undefined ? [] : [{ leader, interrupted }];
      });
  }

  /** Does one thing after the other: log and journal of a dead runner have one writer. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }

  /** Whether the runner's process lives; two small reads, for who asks often. */
  runnerLives(): boolean {
    const runner = this.runner();
    return runner !== undefined && sameProcess(runner);
  }

  /** Whether the runner has come so far as to say who it is. */
  isUp(): boolean {
    return this.runner() !== undefined && this.#runner !== undefined;
  }

  /**
   * The same as `look` without the process table, which costs milliseconds, where that can tell no
   * more: of a run that was never begun here, and of one whose runner lives and has not started
   * anything yet. Undefined: look.
   */
  glance(): Pick<Sight, "runner" | "workers"> | undefined {
    if (this.#dead) return { runner: "gone", workers: [] };
    if (this.identity() === undefined) return { runner: "unknown", workers: [] };
    if (!this.runnerLives() || this.groups().length > 0) return undefined;
    return { runner: this.isUp() ? "running" : "starting", workers: [] };
  }

  /**
   * Who lives. Where nobody is found a second look is taken, because a process that is born while
   * the table is read can be missed once.
   */
  async look(): Promise<Sight> {
    if (this.#dead) return { runner: "gone", workers: [], members: [] };
    let members = this.membersIn(await readProcessTable());
    if (members.length === 0) members = this.membersIn(await readProcessTable());
    const runner = this.runner();
    this.#dead = runner !== undefined && members.length === 0;
    const alive = members.some((each) => each.pid === runner?.pid);
    const workers = members.filter((each) => each.pid !== runner?.pid);
    if (alive) {
      return { runner: this.isUp() ? "running" : "starting", workers, members };
    }
    // Started, and the engine died before it could note by whom: its token tells.
    if (runner === undefined && workers.length > 0) {
      return { runner: "starting", workers: [], members };
    }
    return { runner: runner === undefined ? "unknown" : "gone", workers, members };
  }

  membersIn(table: ProcessTable): Member[] {
    const identity = this.identity();
    const runner = this.runner();
    const leaders = [...this.#seen.values(), ...this.groups().map((group) => group.leader)];
    if (runner !== undefined) leaders.push(runner);
    const launched = readIdentityFile(this.folder.launch);
    if (launched !== undefined) leaders.push(launched);
    const members = membersOf({ leaders, token: identity?.token }, table);
    this.#seen.clear();
    for (const { pid, startTime, bootId } of members) {
      this.#seen.set(`${pid} ${startTime}`, { pid, startTime, bootId });
    }
    return members;
  }
}

/** Names in a folder; none if it is not there. */
export function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function readJson<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as T;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // These files are renamed into place whole; one that is torn was never ours.
    if (code === "ENOENT" || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
