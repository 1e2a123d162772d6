import type { Operation, Stage, TerraformSpec } from "../api/terraform.ts";
import type { RunnerPlace, RunOutcome } from "../domain/facts.ts";
import type { Call } from "./call.ts";

/**
 * Where runners live: local processes, or pods.
 *
 * Call order for one run: launch → connect → put the files → start → watch (again and again until
 * an outcome) → read its files → release → remove. `inspect`, `signal` and `collect` work at any
 * time and need no living runner. Everything is idempotent by run id.
 *
 * `launch`, `signal`, `collect` and `remove` fail with `RunnerError("Refused")`, and do nothing, if
 * the call bears an older epoch than one before did, of whatever run. The newest is kept where the
 * runs are, so that it outlives the engine.
 */
export interface RunnerPlatform {
  /**
   * Starts the runner of a run. Returns once the platform has taken it, not once it is up. A second
   * call for the same run id changes nothing.
   */
  launch(run: RunnerLaunch, call: Call): Promise<void>;
  /** What the platform itself knows of the run; never asks the runner. */
  inspect(runId: string, call: Call): Promise<PlatformFact>;
  /**
   * A connection, made when first used; it never waits for readiness. Its calls bear the epoch: a
   * runner refuses one that is older than the newest it has met.
   */
  connect(runId: string, epoch?: number): RunnerConnection;
  /**
   * "interrupt": SIGINT once to the run's workers. "terminate": SIGKILL to every process of the
   * run, workers and runner, and returns only when none is left. "end-runner": SIGKILL to the
   * runner and to no worker, and returns only when it is gone.
   */
  signal(runId: string, what: RunSignal, call: Call): Promise<void>;
  /**
   * What a dead runner left: the journal's outcome if it wrote one, else what can be told from
   * exit files and tofu's own JSON. `state` is the state as it is now, if it can be read: what is
   * in it is not called unrecorded. Fails with `RunnerError("StillAlive")` while a process lives.
   */
  collect(runId: string, call: Call, state?: Uint8Array): Promise<RunOutcome>;
  /** A result file of the run, whether its runner lives or not; undefined if it made none. */
  readFile(runId: string, file: RunFile, call: Call): Promise<Uint8Array | undefined>;
  /**
   * Log lines behind a byte offset, as the run's machine has them on disk, at most 1 MiB at once;
   * none: there are no more. For what a dead runner could not say: `collect` completes the log.
   */
  readLog(runId: string, fromOffset: number, call: Call): Promise<LogEvent[]>;
  /** Removes what is left of the run. Refused while a process of it lives. */
  remove(runId: string, call: Call): Promise<void>;
  /** Ids of every run the platform still knows. */
  list(call: Call): Promise<string[]>;
  /** Run ids about which the platform has news (a process ended); ends with the signal. */
  changes(call: Call): AsyncIterable<string>;
}

export type RunSignal = "interrupt" | "terminate" | "end-runner";

export interface RunnerLaunch {
  readonly runId: string;
  readonly namespace: string;
  readonly name: string;
  /** Of the object; another one of the same name has another. */
  readonly uid?: string | undefined;
  readonly epoch: number;
  /** Environment of the runner process: allow-list, passed-on names, and the object's own. */
  readonly env: Readonly<Record<string, string>>;
  /** Undefined where nobody asks: local processes have no use for it. */
  readonly pod?: PodWishes | undefined;
}

/** What a pod is made from, besides what the platform knows by itself. */
export interface PodWishes {
  /** Of the Terraform object, which will own the pod. */
  readonly ownerUid: string;
  readonly operation: Operation;
  /** A person waits for it, or a deletion does. */
  readonly urgent?: boolean;
  /** Of the source. */
  readonly revision: string;
  readonly template: TerraformSpec["runnerPodTemplate"];
  readonly serviceAccountName: string | undefined;
  readonly gracePeriodSeconds: number | undefined;
}

/** Result files a run may leave. */
export const runFiles = [
  "plan.bin",
  "plan.json",
  "plan.txt",
  "outputs.json",
  "errored.tfstate",
] as const;
export type RunFile = (typeof runFiles)[number];

export interface PlatformFact {
  readonly runner: "unknown" | "starting" | "running" | "gone";
  /** How the end is known. */
  readonly proof: string | undefined;
  /** Living processes of the run besides the runner; undefined while it cannot be known. */
  readonly workersAlive: number | undefined;
  /**
   * The step to which the workers of a gone runner belong, if the run's own journal, written before
   * each step, can be read.
   */
  readonly workersStage?: Stage | undefined;
  /** True: the step's own command has ended, on proof, and what lives was left behind by it. */
  readonly onlyLeftovers?: boolean;
  /** False: a living runner has taken no order, by what it has on disk, so it cannot have begun. */
  readonly orderTaken?: boolean | undefined;
  /** When the runner's end was seen, RFC 3339. */
  readonly goneAt: string | undefined;
  /**
   * True: the machine of the run cannot be reached, or nobody can say any more what became of it
   * there; whether the run has ended cannot be known from here.
   */
  readonly cutOff?: boolean | undefined;
  readonly place?: RunnerPlace | undefined;
  /** Of the object that the run was launched for, if its launch said so. */
  readonly uid?: string | undefined;
}

/**
 * One runner, spoken to. Errors are RunnerError. Every method but `watch` ends within 10 s;
 * `putFile` within 10 s after the last chunk that moved on, and `watch` if nothing at all comes in
 * that time. From then on a heartbeat comes every 2 s, and its absence is the caller's to judge.
 */
export interface RunnerConnection {
  hello(call: Call): Promise<RunnerHello>;
  /** Sends a file in chunks; the runner checks the digest (sha256 hex). */
  putFile(file: InputFile, call: Call): Promise<void>;
  /** Starts the operation; a second start with the same run id answers like the first. */
  start(order: StartOrder, call: Call): Promise<void>;
  /**
   * Events with `sequence` from `fromSequence` on (1 is the first), and the log from a byte offset
   * on: that of the last line received, or 0. Ends behind the outcome.
   */
  watch(from: { fromSequence: number; logOffset: number }, call: Call): AsyncIterable<RunEvent>;
  /**
   * SIGINT once, grace, SIGKILL; answers at once. The outcome is `cancelled`, unless something was
   * left that must be told: then it is `failed`.
   */
  cancel(graceMs: number, call: Call): Promise<void>;
  /** Everything is collected: the runner removes its work and exits. */
  release(call: Call): Promise<void>;
  /** Throws the transport away; the next call makes a new one. */
  close(): void;
}

export interface RunnerHello {
  readonly protocolVersion: number;
  readonly runnerVersion: string;
  readonly runId: string;
  /** Identity of the machine's start; another one proves that everything before is dead. */
  readonly bootId: string;
  readonly pid: number;
  /** The order was taken. */
  readonly started: boolean;
  readonly finished: boolean;
}

export interface InputFile {
  readonly name: "artifact.tar.gz" | "plan.bin";
  /** sha256 hex. */
  readonly digest: string;
  readonly sizeBytes: number;
  /** Chunks of at most 1 MiB. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** A file that a run finds: below its own home folder, or below the root module's folder. */
export interface OrderedFile {
  readonly location: "home" | "workspace";
  /** Relative, without parts that lead up. */
  readonly path: string;
  readonly content: Uint8Array;
}

/** Everything a run needs to be told. Secret values occur in env, variables and files. */
export interface StartOrder {
  readonly runId: string;
  readonly epoch: number;
  readonly namespace: string;
  readonly name: string;
  readonly operation: Operation;
  readonly destroy: boolean;
  /** Folder of the root module in the artifact. */
  readonly path: string;
  readonly artifactDigest: string;
  /** sha256 hex of the plan to carry out; undefined for a plan. */
  readonly planDigest: string | undefined;
  /** Added to the runner's environment for tofu. */
  readonly env: Readonly<Record<string, string>>;
  /** JSON text of generated.auto.tfvars.json. */
  readonly variables: string;
  /** HCL text of backend_override.tf; undefined: none is written. */
  readonly backend: string | undefined;
  readonly backendConfig: Readonly<Record<string, string>>;
  /** The state must lie outside of the run's folder, whoever says where. */
  readonly backendRequired: boolean;
  readonly files: readonly OrderedFile[];
  /** Text of the tofu command's own configuration; undefined: whatever the machine has. */
  readonly cliConfig: string | undefined;
  readonly workspace: string;
  /** The backend has no workspaces of its own: `workspace` only names the state. */
  readonly workspaceByAddress: boolean;
  readonly upgrade: boolean;
  readonly lock: boolean;
  readonly lockTimeout: string;
  readonly refresh: boolean;
  readonly targets: readonly string[];
  readonly parallelism: number;
  readonly varFiles: readonly string[];
  readonly readablePlan: "none" | "json" | "human";
  /** Read outputs after an apply, or after a plan without changes. */
  readonly outputs: boolean;
  /** Values that must never leave the runner in a log line or message. */
  readonly sensitive: readonly string[];
  /** Time limits in ms; absent: no limit. */
  readonly stageLimitMs: Partial<Record<Stage, number>>;
  /** Bytes kept of each of tofu's output files. */
  readonly outputLimitBytes: number;
  /** Made after an apply, and after a plan without changes. */
  readonly healthChecks: readonly HealthCheckOrder[];
  /** Outputs by other names, for the templates of the checks: name to output. */
  readonly outputNames: Readonly<Record<string, string>>;
  /** Tell the managed resources of the state. */
  readonly inventory: boolean;
  /** Lock that a person has ordered to release before the plan. */
  readonly unlock: string | undefined;
  /** Version of the tofu that wrote the state, where it is known; an older one refuses to plan. */
  readonly stateTofuVersion: string | undefined;
}

export interface HealthCheckOrder {
  readonly name: string;
  readonly type: "tcp" | "http";
  /** Address or URL, into which outputs are filled. */
  readonly target: string;
  /** How long it may be tried. */
  readonly timeoutMs: number;
}

export interface LogEvent {
  readonly type: "log";
  /** Byte offset behind this line, for resuming. */
  readonly offset: number;
  readonly line: string;
}

export type RunEvent =
  | { readonly type: "heartbeat" }
  | {
      readonly type: "stage";
      readonly sequence: number;
      readonly stage: Stage;
      readonly at: string;
    }
  | LogEvent
  | {
      readonly type: "progress";
      readonly sequence: number;
      readonly resource: string;
      readonly action: string;
      readonly state: "started" | "done" | "failed";
    }
  | { readonly type: "outcome"; readonly sequence: number; readonly outcome: RunOutcome };

export type RunnerErrorCode =
  /** No process answers there. */
  | "Unavailable"
  /** No answer in time. */
  | "DeadlineExceeded"
  /** The runner serves another run or does not take what it is told; or the platform does not. */
  | "Refused"
  /** An engine of a newer epoch has spoken to it. */
  | "Superseded"
  /** It speaks another version of the contract. */
  | "Incompatible"
  /** A process of the run lives. */
  | "StillAlive"
  /** A file did not arrive whole. */
  | "DataLoss"
  | "NotFound"
  | "Internal";

export class RunnerError extends Error {
  override readonly name = "RunnerError";
  readonly code: RunnerErrorCode;
  constructor(code: RunnerErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
