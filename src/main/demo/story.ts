import { CONDITION, REASON } from "../../api/names.ts";
import type { RunStatus, Terraform } from "../../api/terraform.ts";

/** The demo watched from outside: what each object said, and when. Times in ms of one clock. */
export interface Kill {
  readonly object: string;
  readonly stage: string;
  readonly runId: string;
  readonly pid: number;
  readonly atMs: number;
  /** When a status first told of it. */
  toldAtMs?: number;
  /** When a new attempt was in the same stage. */
  againAtMs?: number;
}

export interface Moment {
  readonly atMs: number;
  readonly object: string;
  readonly text: string;
  readonly mood: "plain" | "kill" | "good" | "note";
}

export class Story {
  readonly moments: Moment[] = [];
  readonly kills: Kill[] = [];
  readonly #last = new Map<string, string>();
  readonly #tell: (moment: Moment) => void;

  constructor(tell: (moment: Moment) => void) {
    this.#tell = tell;
  }

  note(moment: Moment): void {
    this.moments.push(moment);
    this.#tell(moment);
  }

  killed(kill: Kill): void {
    this.kills.push(kill);
    const text = `SIGKILL to the runner (process ${kill.pid}) in the middle of ${kill.stage}`;
    this.note({ atMs: kill.atMs, object: kill.object, text, mood: "kill" });
  }

  /** Takes in what an object says now. */
  heard(object: Terraform, atMs: number): void {
    const { name } = object.metadata;
    for (const kill of this.kills) {
      if (kill.object !== name) continue;
      if (kill.toldAtMs === undefined && tells(object, kill)) kill.toldAtMs = atMs;
      if (kill.againAtMs === undefined && isAgain(object.status?.run, kill)) {
        kill.againAtMs = atMs;
      }
    }
    const text = sentence(object);
    if (text === undefined || this.#last.get(name) === text) return;
    this.#last.set(name, text);
    const mood = readyOf(object)?.status === "True" ? "good" : "plain";
    this.note({ atMs, object: name, text, mood });
  }
}

export function readyOf(object: Terraform) {
  return object.status?.conditions?.find(({ type }) => type === CONDITION.ready);
}

/** Ready names the loss, or the run is over and its end says so. */
function tells(object: Terraform, kill: Kill): boolean {
  if (readyOf(object)?.reason === REASON.runnerLost) return true;
  const { run, lastRun } = object.status ?? {};
  if (lastRun?.id === kill.runId) return lastRun.outcome === "lost";
  return run?.id === kill.runId && run.verdict !== "alive" && run.verdict !== "suspect";
}

function isAgain(run: RunStatus | undefined, kill: Kill): boolean {
  return run !== undefined && run.id !== kill.runId && run.stage === kill.stage;
}

function sentence(object: Terraform): string | undefined {
  const ready = readyOf(object);
  const { run } = object.status ?? {};
  if (run !== undefined && run.verdict === "alive") {
    const attempt = run.attempt > 1 ? `, attempt ${run.attempt}` : "";
    return run.note ?? `${run.operation}: ${run.stage}${attempt}`;
  }
  return ready === undefined ? undefined : (ready.message.split("\n")[0] ?? "");
}
