import { join } from "node:path";
import { CONDITION } from "../../api/names.ts";
import type { RunStatus, Stage, Terraform } from "../../api/terraform.ts";
import { readJournal } from "../../protocol/journal.ts";
import { type RunFolder, runFolder } from "../../protocol/run-folder.ts";
import type { Heard, Listener } from "./listener.ts";
import type { TofuCommandName, TofuGate } from "./tofu-gate.ts";
import { runnerOf, until, type Victim } from "./victims.ts";
import type { Workspace } from "./workspace.ts";

const PATIENCE_MS = 90_000;

export interface SubjectPlaces {
  readonly name: string;
  readonly workspace: Workspace;
  readonly dataDir: string;
  readonly gate: TofuGate;
}

/** One Terraform object under test: what it says, where its run is, what it did to the world. */
export class Subject {
  readonly name: string;
  readonly workspace: Workspace;
  readonly gate: TofuGate;
  readonly #dataDir: string;
  readonly #listener: Listener;

  constructor({ name, workspace, dataDir, gate }: SubjectPlaces, listener: Listener) {
    this.name = name;
    this.workspace = workspace;
    this.gate = gate;
    this.#dataDir = dataDir;
    this.#listener = listener;
  }

  get object(): Terraform | undefined {
    return this.#listener.object(this.name);
  }
  get run(): RunStatus | undefined {
    return this.object?.status?.run;
  }
  /** Ready as "status reason: message". */
  get ready(): string {
    return readyText(this.object);
  }

  /** The first time that `holds` of the object as it is stored; it must be there. */
  when(what: string, holds: (object: Terraform) => boolean, ms = PATIENCE_MS): Promise<Heard> {
    const there = (object: Terraform | undefined) => object !== undefined && holds(object);
    return this.#listener.when(this.name, there, { what, ms });
  }
  /** The same of an object that may be gone. */
  whenever(
    what: string,
    holds: (object: Terraform | undefined) => boolean,
    ms = PATIENCE_MS,
  ): Promise<Heard> {
    return this.#listener.when(this.name, holds, { what, ms });
  }
  async gone(ms = PATIENCE_MS): Promise<void> {
    await this.#listener.when(this.name, (object) => object === undefined, {
      what: "it is gone",
      ms,
    });
  }
  /** At rest and Ready; the last revision is the one that was applied. */
  settled(ms = PATIENCE_MS): Promise<Heard> {
    return this.when("it is ready, and nothing goes on", isSettled, ms);
  }

  /** Holds the command before it begins, until it is let go. */
  hold(command: TofuCommandName): void {
    this.gate.set(command, "hold", this.name);
  }
  letGo(command: TofuCommandName): void {
    this.gate.clear(command, this.name);
  }
  calls(command: TofuCommandName): number {
    return this.gate.calls(command, this.name);
  }
  async begun(command: TofuCommandName, times = 1): Promise<void> {
    const what = `${this.name}: ${command} has begun ${times} times`;
    await until(what, () => this.calls(command) >= times, PATIENCE_MS);
  }
  async effect(resource: string, action: "create" | "destroy" = "create"): Promise<void> {
    const what = `${this.name}: ${action} of ${resource}`;
    await until(what, () => this.workspace.hasEffect(resource, action), PATIENCE_MS);
  }

  /** The id of the run under way; fails if there is none. */
  runId(): string {
    const id = this.run?.id;
    if (id === undefined) throw new Error(`${this.name} has no run: ${this.ready}`);
    return id;
  }
  folder(runId = this.runId()): RunFolder {
    return runFolder(join(this.#dataDir, "runs", runId));
  }
  runner(runId?: string): Victim {
    return runnerOf(this.folder(runId));
  }
  /** The stage that the runner has written down last. */
  stage(runId?: string): Stage | undefined {
    const last = readJournal(this.folder(runId).journal).findLast(({ type }) => type === "stage");
    return last?.type === "stage" ? last.stage : undefined;
  }
}

export function readyText(object: Terraform | undefined): string {
  const ready = object?.status?.conditions?.find(({ type }) => type === CONDITION.ready);
  return ready === undefined ? "" : `${ready.status} ${ready.reason}: ${ready.message}`;
}

function isSettled(object: Terraform): boolean {
  const { status, metadata } = object;
  return (
    status?.run === undefined &&
    readyText(object).startsWith("True ") &&
    status?.plan?.pending === undefined &&
    status?.observedGeneration === metadata.generation
  );
}
