import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { sameProcess } from "../../processes/identity.ts";
import { readProcessTable } from "../../processes/members.ts";
import { RunNews } from "../../protocol/run-news.ts";
import { capOutput } from "./orphan-output.ts";
import type { RunRecord } from "./record.ts";

/** How often the processes of undecided runs are looked at. */
const LOOK_MS = 200;
/** Every so many looks the whole process table is read, so that nobody's trace is lost. */
const LOOKS_PER_TABLE = 5;

/** What a run was like at the last look. "dead" is final. */
type State = "unheard" | "starting" | "running" | "orphaned" | "dead";

export interface NewsOptions {
  /** Every run there is, by id. */
  readonly runs: () => ReadonlyMap<string, RunRecord>;
  readonly clock: Clock;
  readonly log: Log;
  /** The runner of a run was found dead: who wants to note how, does it here. */
  readonly onRunnerGone: (run: RunRecord) => Promise<void>;
}

/**
 * Tells when something ended: at once for runners that are our children, by looking at the process
 * table for those of an earlier engine and for orphans. A look costs some 30 µs for each living
 * run, and nothing where none lives; it is taken only while somebody listens.
 */
export class News {
  readonly #options: NewsOptions;
  readonly #states = new Map<string, State>();
  readonly #news = new RunNews();
  #looking: Promise<void> | undefined;
  #looks = 0;

  constructor(options: NewsOptions) {
    this.#options = options;
  }

  /** Run ids with news, until the signal fires. The state as found first is news as well. */
  changes(signal: AbortSignal): AsyncIterable<string> {
    return this.#news.listen([], signal, () => this.#start());
  }

  /** Something is known to have happened to this run: look now. */
  async notice(run: RunRecord): Promise<void> {
    await this.#lookAndGoOn(run);
  }

  #start(): void {
    this.#looking ??= this.#lookAgainAndAgain().finally(() => {
      this.#looking = undefined;
    });
  }

  async #lookAgainAndAgain(): Promise<void> {
    const forever = new AbortController().signal;
    while (this.#news.heard) {
      await this.#lookAtAll().catch((error: unknown) => {
        this.#options.log.warn("Cannot look at the runs", { error: String(error) });
      });
      await this.#options.clock.sleep(LOOK_MS, forever);
    }
  }

  async #lookAtAll(): Promise<void> {
    const runs = this.#options.runs();
    for (const runId of this.#states.keys()) if (!runs.has(runId)) this.#states.delete(runId);
    const undecided = [...runs.values()].filter((run) => this.#states.get(run.runId) !== "dead");
    this.#looks += 1;
    if (undecided.length > 0 && this.#looks % LOOKS_PER_TABLE === 0) {
      const table = await readProcessTable();
      for (const run of undecided) run.membersIn(table);
    }
    for (const run of undecided) await this.#lookAndGoOn(run);
  }

  /** A run that cannot be looked at (a full file table, a broken folder) is looked at next time. */
  async #lookAndGoOn(run: RunRecord): Promise<void> {
    try {
      await this.#look(run);
    } catch (error) {
      const { runId } = run;
      this.#options.log.warn("Cannot look at a run", { runId, error: String(error) });
    }
  }

  async #look(run: RunRecord): Promise<void> {
    const before = this.#states.get(run.runId);
    if (before === "dead") return;
    const now = await stateOf(run);
    if (now !== before) {
      this.#states.set(run.runId, now);
      const gone = now === "orphaned" || now === "dead";
      if (gone && before !== "orphaned") await this.#options.onRunnerGone(run);
      this.#news.tell(run.runId);
    }
    if (now === "orphaned") await run.exclusively(() => capOutput(run.folder));
  }
}

async function stateOf(run: RunRecord): Promise<State> {
  if (run.runnerLives()) return run.isUp() ? "running" : "starting";
  if (run.runner() !== undefined && run.groups().some(({ leader }) => sameProcess(leader))) {
    return "orphaned";
  }
  const { runner, workers } = await run.look();
  if (runner !== "gone") return runner === "unknown" ? "unheard" : runner;
  return workers.length > 0 ? "orphaned" : "dead";
}
