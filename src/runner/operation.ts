import { copyFile, open, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Stage } from "../api/terraform.ts";
import { moveDurably, writeDurably } from "../protocol/durable.ts";
import type { Inventory, RunOutcome } from "../protocol/messages.ts";
import { readPlannedOn, readPriorOutputs } from "../protocol/plan-state.ts";
import { notInState } from "../protocol/tofu-state.ts";
import { isNewerVersion } from "../protocol/tofu-version.ts";
import {
  applyArguments,
  initArguments,
  outputArguments,
  planArguments,
  showArguments,
  stateArguments,
  unlockArguments,
  workspaceArguments,
} from "./arguments.ts";
import { extractArtifact, folderInArtifact, varFileInArtifact } from "./artifact.ts";
import { InitCache } from "./cache/init-cache.ts";
import {
  failureOf,
  type RunContext,
  runTofu,
  type TofuCommand,
  type TofuResult,
} from "./command.ts";
import { findTofu, tofuEnvironment } from "./environment.ts";
import { StageFailure, StageStopped } from "./failure.ts";
import { checkHealth } from "./health.ts";
import { inventoryOf } from "./inventory.ts";
import { type LaidOut, layOut, refuseLostState } from "./layout.ts";
import { isDiskFull } from "./reserve.ts";
import {
  digestOf,
  noChanges,
  outputFactsOf,
  priorValues,
  recordOf,
  summaryOf,
  templateValues,
} from "./results.ts";
import {
  holdsModule,
  LINKS_NAMED,
  linkLeftOut,
  noModule,
  noTarget,
  targetsOfNothing,
} from "./warnings.ts";
import { findWorkspaceRead } from "./workspace-reads.ts";

type Planned = Extract<RunOutcome, { kind: "planned" }>;
type Outputs = NonNullable<Planned["outputs"]>;
/** What is found once there is nothing more to do. */
type Found = { -readonly [K in "outputs" | "health" | "inventory"]?: Planned[K] } & {
  outputs: Planned["outputs"];
};

interface MadePlan {
  /** By its exit code. */
  readonly changes: boolean;
  /** As it counts them itself; undefined if that was lost in its output. */
  readonly summary: Planned["summary"] | undefined;
}

/** Largest JSON result that is read: what does not fit into a string cannot be parsed. */
const RESULT_BYTES = 256 << 20;
/** What OpenTofu itself demands of a name, so that it is said early and with the field. */
const WORKSPACE_NAME = /^[\w.~$&+=:@-]+$/;
/** To ask the backend what it has, after OpenTofu was killed. */
const STATE_PULL_MS = 20_000;

/**
 * Carries the order out, stage by stage. Fails with StageFailure, StageStopped or StageAbandoned;
 * `environment` is the runner's own.
 */
export async function carryOut(
  context: RunContext,
  environment: Readonly<Record<string, string>>,
): Promise<RunOutcome> {
  return await new Operation(context, environment).run();
}

class Operation {
  readonly #context: RunContext;
  readonly #environment: Readonly<Record<string, string>>;
  /** Folder of the root module, once it is there. */
  #cwd = "";
  #env: Record<string, string> = {};
  #program = "";
  /** Undefined: nobody has named a folder for it. */
  #cache: InitCache | undefined;
  /** What init would make was put in place instead. */
  #initSkipped = false;
  /** At the end of an apply; undefined: not all of them. */
  #outputsTold: string | undefined;
  /** Resolves when nothing is read any more of what init has made. */
  #keeping: Promise<void> = Promise.resolve();
  /** What does not hinder the run, and a person should know of. */
  readonly #warnings: string[] = [];

  constructor(context: RunContext, environment: Readonly<Record<string, string>>) {
    this.#context = context;
    this.#environment = environment;
  }

  async run(): Promise<RunOutcome> {
    try {
      return await this.#stages();
    } finally {
      await this.#keeping;
    }
  }

  async #stages(): Promise<RunOutcome> {
    const { order } = this.#context;
    await this.#stage("artifact");
    await this.#artifact();
    await this.#stage("init");
    await this.#init();
    await this.#stage("workspace");
    await this.#workspace();
    if (order.operation === "apply") {
      await this.#stage("apply");
      await this.#apply();
      return { kind: "applied", ...(await this.#lookAfterApply()) };
    }
    await this.#unlock();
    await this.#stage("plan");
    const made = await this.#plan();
    const { changes } = made;
    await this.#stage("show");
    const shown = await this.#show(made);
    const warnings = this.#warnings;
    const planned = warnings.length === 0 ? shown : { ...shown, warnings };
    return changes ? planned : { ...planned, ...(await this.#look()) };
  }

  /** A person has named this lock. If it is another's by now it stays, and the plan tells whose. */
  async #unlock(): Promise<void> {
    const { log, order } = this.#context;
    if (order.unlock === undefined) return;
    const args = unlockArguments(order.unlock);
    const result = await this.#tofu({ stage: "workspace", name: "unlock", args, output: "text" });
    const { by, exitCode } = result.end;
    if (by !== "itself") throw failureOf("workspace", result);
    const end = exitCode === 0 ? "is released, as ordered" : `is not released: ${result.message}`;
    log.write(`nigari: lock ${order.unlock} ${end}`);
  }

  /** Notes the beginning of a stage, unless the run was asked to stop. */
  async #stage(stage: Stage): Promise<void> {
    const { journal, log, stopping } = this.#context;
    if (stopping.request !== undefined) {
      throw new StageStopped(stage, `Stopped before ${stage}`);
    }
    try {
      await journal.append({ type: "stage", stage, at: new Date().toISOString() });
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      const why = "the disk of the working directory is full; make room there";
      throw new StageFailure(stage, `${stage} was not begun: ${why}`);
    }
    log.write(`nigari: ${stage}`);
  }

  #warn(text: string): void {
    this.#warnings.push(text);
    this.#context.log.write(`nigari: warning: ${text}`);
  }

  async #artifact(): Promise<void> {
    const { folder, order } = this.#context;
    const { path } = order;
    const leftOut = await extractArtifact(join(folder.inputs, "artifact.tar.gz"), folder.work, {
      path,
    });
    for (const link of leftOut.slice(0, LINKS_NAMED)) this.#warn(linkLeftOut(link));
    this.#cwd = await folderInArtifact(folder.work, path, "spec.path");
    if (!(await holdsModule(this.#cwd))) this.#warn(noModule(path));
    // What a run of another time or place left in the source must not be taken for this one's.
    for (const left of [
      "errored.tfstate",
      ".terraform/terraform.tfstate",
      ".terraform/environment",
    ]) {
      await rm(join(this.#cwd, left), { force: true });
    }
  }

  async #init(): Promise<void> {
    const { folder, log, order } = this.#context;
    const laid = await layOut(order, { folder, cwd: this.#cwd });
    this.#env = { ...tofuEnvironment(this.#environment, order.env), ...laid.env };
    this.#program = findTofu(this.#env);
    const { NIGARI_CACHE: cache } = this.#environment;
    if (cache !== undefined) {
      const place = { cwd: this.#cwd, env: this.#env, program: this.#program };
      const { plugins } = folder;
      const say = (line: string) => log.write(`nigari: ${line}`);
      this.#cache = await InitCache.open({ folder: cache, plugins, order, place, say });
      this.#initSkipped = await this.#cache.restore();
    }
    await this.#refuseNewerState();
    if (this.#initSkipped) log.write("nigari: init is skipped: nothing it depends on has changed");
    else await this.#runInit(laid);
  }

  /** OpenTofu itself would take it, and write it back as it understands it. */
  async #refuseNewerState(): Promise<void> {
    const { stateTofuVersion: wrote } = this.#context.order;
    if (wrote === undefined) return;
    const file = await this.#result("init", "version", ["version", "-json"]);
    const { terraform_version: own } = recordOf(await this.#json("init", file));
    if (typeof own !== "string" || !isNewerVersion(wrote, own)) return;
    throw new StageFailure(
      "init",
      `The state was written by version ${wrote}, and runners of this object have ${own}, which ` +
        "could lose what it does not know; give them that version or a newer one " +
        "(spec.runnerPodTemplate.spec.image in a cluster, NIGARI_TOFU on one machine)",
    );
  }

  async #runInit(laid: Pick<LaidOut, "backendConfigFile">): Promise<void> {
    const { order } = this.#context;
    const args = initArguments(order, laid.backendConfigFile);
    const plugins = await this.#cache?.environment();
    const env = { ...this.#env, ...plugins };
    const result = await this.#tofu({ stage: "init", args, output: "text" }, env);
    if (result.end.exitCode !== 0) throw failureOf("init", result);
    if (order.backendRequired) await refuseLostState(this.#cwd);
    // Beside the plan, which only reads what is kept.
    this.#keeping = this.#cache?.keep() ?? Promise.resolve();
  }

  async #workspace(): Promise<void> {
    const { order } = this.#context;
    if (order.workspace === "default") return;
    if (!WORKSPACE_NAME.test(order.workspace)) {
      throw new StageFailure(
        "workspace",
        `spec.workspace "${order.workspace}" is no name that OpenTofu takes; ` +
          'use letters, digits, "-", "_" and "."',
      );
    }
    if (order.workspaceByAddress) {
      const read = await findWorkspaceRead(this.#cwd);
      if (read === undefined) return;
      throw new StageFailure(
        "workspace",
        `${read.file}:${read.line} reads ${read.expression}, which would be "default" although` +
          ` spec.workspace is "${order.workspace}": the backend of this object keeps a state for` +
          " each workspace without telling OpenTofu. Pass the name as a variable in spec.vars, or" +
          " set spec.backendConfig.customConfiguration to a backend that has workspaces",
      );
    }
    const args = workspaceArguments(order);
    const result = await this.#tofu({ stage: "workspace", args, output: "text" });
    if (result.end.exitCode !== 0) throw failureOf("workspace", result);
  }

  async #plan(): Promise<MadePlan> {
    const { folder, order } = this.#context;
    const varFiles: string[] = [];
    for (const file of order.varFiles) {
      varFiles.push(await varFileInArtifact(folder.work, file));
    }
    const plan = join(folder.files, "plan.bin");
    const args = planArguments(order, { plan, varFiles });
    let result = await this.#tofu({ stage: "plan", args, output: "ui" });
    if (await this.#wantsInit(result)) {
      await this.#stage("init");
      // No attributes of a backend: with them nothing is kept.
      await this.#runInit({ backendConfigFile: undefined });
      await this.#stage("plan");
      result = await this.#tofu({ stage: "plan", name: "plan-again", args, output: "ui" });
    }
    const { exitCode, by } = result.end;
    // A panic also ends with code 2, as a plan with changes does.
    const made = (await stat(plan).catch(() => undefined)) !== undefined;
    const ended = by === "itself" && (exitCode === 0 || exitCode === 2);
    if (!ended || !made) throw failureOf("plan", result);
    return { changes: exitCode === 2, summary: exitCode === 2 ? result.summary : noChanges };
  }

  /** Whether OpenTofu found what was put in the place of an init wanting; it is not kept then. */
  async #wantsInit(result: TofuResult): Promise<boolean> {
    if (!this.#initSkipped || !saysInitNeeded(result.message)) return false;
    this.#context.log.write(
      "nigari: OpenTofu asks for init, so what was kept of one is thrown away",
    );
    this.#initSkipped = false;
    await this.#cache?.drop();
    return true;
  }

  async #show({ changes, summary: counted }: MadePlan): Promise<Planned> {
    const { folder, mask, order } = this.#context;
    const plan = join(folder.files, "plan.bin");
    // Read beside the commands below; when one of those fails, nobody asks for them.
    const facts = Promise.all([readPlannedOn(plan), digestOf(plan)]);
    facts.catch(() => undefined);
    let json: unknown;
    // What the plan has told of itself needs no second look, which would start every provider.
    const doubt = !changes && order.targets.length > 0;
    if (counted === undefined || doubt || order.inventory || order.readablePlan === "json") {
      const shown = await this.#result("show", "show", showArguments(plan, "json"));
      json = await this.#json("show", shown);
      for (const target of targetsOfNothing(json, order.targets)) this.#warn(noTarget(target));
      if (order.readablePlan === "json") await rename(shown, join(folder.files, "plan.json"));
      await rm(shown, { force: true });
    }
    // A person is shown what would change; nothing to show needs no second call.
    if (changes || order.readablePlan === "human") {
      const text = await this.#result("show", "show-text", showArguments(plan, "human"));
      const masked = mask.apply(await readFile(text, "utf8"));
      await writeDurably(join(folder.files, "plan.txt"), masked);
      await rm(text, { force: true });
    }
    const [state, planDigest] = await facts;
    return {
      kind: "planned",
      changes,
      state,
      summary: counted ?? summaryOf(json),
      planDigest,
      nothingToDestroy: order.destroy && !changes,
      outputs: undefined,
      ...(order.inventory ? { inventory: inventoryOf(priorValues(json)) } : {}),
    };
  }

  async #apply(): Promise<void> {
    const { folder, order } = this.#context;
    const args = applyArguments(order, join(folder.inputs, "plan.bin"));
    const result = await this.#tofu({ stage: "apply", args, output: "ui" });
    // Before anything else: the only copy of what was done may lie in a file that nobody expects.
    const stateRescued = await this.#rescueState();
    this.#outputsTold = result.outputs;
    if (result.end.exitCode === 0 && !stateRescued) return;
    await this.#wantsInit(result);
    const unrecorded = result.end.abandoned ? [] : await this.#unrecorded(result);
    throw failureOf("apply", result, { stateRescued, unrecorded });
  }

  /** OpenTofu leaves its state in errored.tfstate if the backend does not take it. */
  async #rescueState(): Promise<boolean> {
    const { folder, log } = this.#context;
    const left = join(this.#cwd, "errored.tfstate");
    if ((await stat(left).catch(() => undefined)) === undefined) return false;
    const kept = join(folder.files, "errored.tfstate");
    await copyFile(left, `${kept}.tmp`);
    await synced(`${kept}.tmp`);
    await moveDurably(`${kept}.tmp`, kept);
    log.write("nigari: OpenTofu could not write its state; the copy that it left is kept");
    return true;
  }

  /**
   * What may exist although the state does not say so: whatever was in flight and, since OpenTofu
   * hands its state on at most every 20 s, also what it had created if it did not come to its end.
   */
  async #unrecorded({ end, ledger }: TofuResult): Promise<string[]> {
    const inFlight = ledger.inFlight();
    const cameToItsEnd = end.exitCode === 0 || end.exitCode === 1;
    if (cameToItsEnd || ledger.created().size === 0) return inFlight;
    let state: unknown;
    try {
      const file = await this.#result("apply", "state", ["state", "pull"], STATE_PULL_MS);
      state = await this.#json("apply", file);
      await rm(file, { force: true });
    } catch {
      // Then nothing of it counts as recorded.
    }
    return [...new Set([...inFlight, ...notInState(ledger.created(), state)])].sort();
  }

  /** It is applied, whoever wants us to stop now: a later plan looks again. */
  async #lookAfterApply(): Promise<Found> {
    const found: Found = { outputs: undefined };
    try {
      await this.#lookInto(found);
      if (this.#context.order.inventory) found.inventory = await this.#inventory();
    } catch (error) {
      if (!(error instanceof StageStopped)) throw error;
    }
    return found;
  }

  async #look(): Promise<Found> {
    const found: Found = { outputs: undefined };
    await this.#lookInto(found);
    return found;
  }

  /** Reads the outputs and makes the checks; what is found before we are stopped is there. */
  async #lookInto(found: Found): Promise<void> {
    const outputs = await this.#outputs();
    found.outputs = outputs?.facts;
    const { healthChecks, outputNames } = this.#context.order;
    if (healthChecks.length === 0) return;
    await this.#stage("health");
    const values = templateValues(outputs?.json, outputNames);
    const { signal } = this.#context.stopping;
    const health = await checkHealth(healthChecks, values, signal);
    if (signal.aborted) throw new StageStopped("health", "Stopped during the health checks");
    found.health = health;
  }

  async #outputs(): Promise<{ facts: Outputs; json: unknown } | undefined> {
    const { folder, order } = this.#context;
    if (!order.outputs) return undefined;
    await this.#stage("outputs");
    const text = (await this.#knownOutputs()) ?? (await this.#askedOutputs());
    await writeDurably(join(folder.files, "outputs.json"), text);
    const json: unknown = JSON.parse(text);
    return { facts: outputFactsOf(json), json };
  }

  /** The apply has told them, or they stand in the state that a plan of no changes was made on. */
  async #knownOutputs(): Promise<string | undefined> {
    const { folder, order } = this.#context;
    if (order.operation === "apply") return this.#outputsTold;
    return await readPriorOutputs(join(folder.files, "plan.bin"));
  }

  async #askedOutputs(): Promise<string> {
    const file = await this.#result("outputs", "outputs", outputArguments);
    await this.#json("outputs", file);
    const text = await readFile(file, "utf8");
    await rm(file, { force: true });
    return text;
  }

  async #inventory(): Promise<Inventory> {
    const file = await this.#result("outputs", "inventory", stateArguments);
    const { values } = recordOf(await this.#json("outputs", file));
    await rm(file, { force: true });
    return inventoryOf(values);
  }

  /** Runs a command whose stdout is a result; the file that holds it. */
  async #result(
    stage: Stage,
    name: string,
    args: readonly string[],
    urgentMs?: number,
  ): Promise<string> {
    const result = await this.#tofu({ stage, name, args, output: "data", urgentMs });
    if (result.end.exitCode !== 0) throw failureOf(stage, result);
    return join(this.#context.folder.steps, `${name}.out`);
  }

  async #json(stage: Stage, path: string): Promise<unknown> {
    const { size } = await stat(path);
    if (size > RESULT_BYTES) {
      throw new StageFailure(stage, `OpenTofu's result of ${size} bytes is too large to be read`);
    }
    try {
      return JSON.parse(await readFile(path, "utf8"));
    } catch {
      // The parser's own words would quote the result.
      throw new StageFailure(stage, "OpenTofu's result is not the JSON that it should be");
    }
  }

  async #tofu(
    command: Omit<TofuCommand, "program" | "cwd" | "env">,
    env = this.#env,
  ): Promise<TofuResult> {
    const where = { program: this.#program, cwd: this.#cwd, env };
    return await runTofu(this.#context, { ...command, ...where });
  }
}

/** What OpenTofu says where its working folder is not as init leaves it. */
const INIT_NEEDED = new RegExp(
  [
    "Inconsistent dependency lock file",
    "Required plugins are not installed",
    "Backend initialization required",
    "Module not installed",
    "match any of the checksums",
  ].join("|"),
);

function saysInitNeeded(message: string): boolean {
  return INIT_NEEDED.test(message);
}

async function synced(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
