import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Stage } from "../api/terraform.ts";
import { writeDurably } from "../protocol/durable.ts";
import { Journal, outcomeOf } from "../protocol/journal.ts";
import { maskOf } from "../protocol/masking.ts";
import { orderToText, type RunOutcome, type StartOrder } from "../protocol/messages.ts";
import type { RunFolder, RunIdentity } from "../protocol/run-folder.ts";
import { RunLog } from "../protocol/run-log.ts";
import { StageAbandoned, StageFailure, StageStopped } from "./failure.ts";
import { carryOut } from "./operation.ts";
import { isDiskFull, takeReserve, writeLast } from "./reserve.ts";
import { digestOf } from "./results.ts";
import { Stopping } from "./stopping.ts";

/** Why an order or a release is not taken. */
export class Refusal extends Error {
  override readonly name = "Refusal";
}

/** The one run that this process serves: what was ordered, how far it is, and how it ends. */
export class Run {
  readonly identity: RunIdentity;
  readonly folder: RunFolder;
  readonly journal: Journal;
  readonly log: RunLog;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #stopping = new Stopping();
  #order: Promise<StartOrder> | undefined;
  #started = false;
  /** Resolves when the work has ended, with or without an outcome. */
  #work: Promise<void> = Promise.resolve();

  constructor(
    identity: RunIdentity,
    folder: RunFolder,
    environment: Readonly<Record<string, string>>,
  ) {
    this.identity = identity;
    this.folder = folder;
    this.#environment = environment;
    this.journal = new Journal(folder.journal);
    this.log = new RunLog(folder.log);
  }

  /** The order is stored. */
  get started(): boolean {
    return this.#started;
  }

  get finished(): boolean {
    return outcomeOf(this.journal.events) !== undefined;
  }

  /** Stores the order and begins. The same run id again changes nothing. */
  async start(order: StartOrder): Promise<void> {
    const { runId, epoch } = this.identity;
    if (order.runId !== runId) throw new Refusal(`Run ${runId} is served here, not ${order.runId}`);
    if (order.epoch < epoch) {
      throw new Refusal(`Epoch ${order.epoch} is over: run ${runId} belongs to epoch ${epoch}`);
    }
    if (this.#order === undefined) {
      const storing = this.#store(order);
      this.#order = storing;
      // A refused order leaves the way free for a better one.
      storing.catch(() => {
        this.#order = undefined;
      });
      const stored = await storing;
      this.#started = true;
      this.#work = this.#carryOut(stored);
    } else if ((await this.#order).epoch > order.epoch) {
      throw new Refusal(`Epoch ${order.epoch} is over: run ${runId} was started in a later one`);
    }
  }

  /** SIGINT once, the grace, SIGKILL; the outcome tells. */
  cancel(graceMs: number): void {
    if (this.finished) return;
    this.#stopping.ask({ by: "cancel", graceMs });
  }

  /** Ends OpenTofu, unless it may be writing and does not end in time. Resolves when we may go. */
  async shutDown(graceMs: number): Promise<void> {
    this.log.write("nigari: the runner is told to go");
    this.#stopping.ask({ by: "shutdown", graceMs });
    await this.#work;
  }

  /** Removes what the run worked with; what tells of it stays until the platform removes it. */
  async release(): Promise<void> {
    if (this.#started && !this.finished) {
      throw new Refusal(`Run ${this.identity.runId} goes on; cancel it first`);
    }
    const { folder } = this;
    const files = await readdir(folder.files).catch(() => []);
    const removed = [
      folder.order,
      folder.inputs,
      folder.work,
      folder.steps,
      folder.home,
      folder.plugins,
      folder.cliConfig,
      folder.backendConfig,
      folder.reserve,
      // A state that nobody may have taken over yet is not ours to throw away.
      ...files.filter((name) => name !== "errored.tfstate").map((name) => join(folder.files, name)),
    ];
    for (const path of removed) await rm(path, { recursive: true, force: true });
  }

  /** The stage begun last. */
  #stage(): Stage {
    const last = this.journal.events.findLast((event) => event.type === "stage");
    return last?.type === "stage" ? last.stage : "artifact";
  }

  async #store(order: StartOrder): Promise<StartOrder> {
    await this.#require("artifact.tar.gz", order.artifactDigest);
    if (order.operation === "apply") {
      if (order.planDigest === undefined)
        throw new Refusal("An apply needs the digest of its plan");
      await this.#require("plan.bin", order.planDigest);
    }
    for (const folder of [this.folder.steps, this.folder.files]) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
    }
    await takeReserve(this.folder.reserve);
    await writeDurably(this.folder.order, orderToText(order));
    return order;
  }

  async #require(name: string, digest: string): Promise<void> {
    const path = join(this.folder.inputs, name);
    if ((await stat(path).catch(() => undefined)) === undefined) {
      throw new Refusal(`File ${name} is missing; put it before the start`);
    }
    const found = await digestOf(path);
    if (found !== digest) {
      throw new Refusal(`File ${name} has digest ${found}, not ${digest} as ordered`);
    }
  }

  async #carryOut(order: StartOrder): Promise<void> {
    const { folder, journal, log } = this;
    const mask = maskOf(order.sensitive);
    log.configure(mask, order.outputLimitBytes);
    const { token } = this.identity;
    const context = { order, folder, journal, log, mask, stopping: this.#stopping, token };
    const outcome = await carryOut(context, this.#environment).catch((error: unknown) => {
      return failedOutcome(error, this.#stage(), mask.apply);
    });
    // OpenTofu goes on without us: its last word is found by the platform.
    if (outcome === undefined) return;
    if ("message" in outcome) log.write(`nigari: ${outcome.message}`);
    log.write(`nigari: ${outcome.kind}`);
    await writeLast(folder.reserve, () => journal.append({ type: "outcome", outcome }));
  }
}

function failedOutcome(
  error: unknown,
  stage: Stage,
  mask: (text: string) => string,
): RunOutcome | undefined {
  if (error instanceof StageAbandoned) return undefined;
  if (error instanceof StageStopped) {
    return { kind: "cancelled", stage: error.stage, message: mask(error.message) };
  }
  if (error instanceof StageFailure) {
    return { ...error.outcome, message: mask(error.outcome.message) };
  }
  const why = error instanceof Error ? error.message : String(error);
  const message = isDiskFull(error)
    ? `The disk of the working directory is full (${mask(why)}); make room there`
    : `The runner itself failed: ${mask(why)}`;
  return new StageFailure(stage, message).outcome;
}
