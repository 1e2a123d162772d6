import type {
  LivenessVerdict,
  Operation,
  RunStatus,
  Stage,
  Terraform,
  TerraformSpec,
} from "../api/terraform.ts";

/**
 * Everything a pass has read before it decides: the only thing `decide` sees besides the time.
 * Gathered by the engine; plain data, so that a test writes it down and a simulation makes it up.
 */
export interface Observed {
  readonly terraform: Terraform;
  readonly source: SourceFact;
  /** Artifact of status.lastGood, if it can still be read: for a last destroy. */
  readonly lastArtifact?: ArtifactFact | undefined;
  /** In the order of spec.dependsOn. */
  readonly dependencies: readonly DependencyFact[];
  /** Names (`namespace/name`) of the objects that must go before this one, sorted. */
  readonly dependants: readonly string[];
  /** Those of `dependants` that are being deleted already. */
  readonly dependantsLeaving?: readonly string[];
  readonly inputs: InputsFact;
  /** The inputs of the last good run, if they were kept: for a last destroy. */
  readonly keptInputs?: KeptInputsFact | undefined;
  /** What is known of status.run; present exactly if the status has one. */
  readonly run: RunFact | undefined;
  readonly plan: PendingPlanFact;
  readonly outputsSecret: OutputsSecretFact;
  readonly state: StateFact;
  /** An effect that this pass asked for and that failed; the same is not asked for again. */
  readonly failedEffect: FailedEffect | undefined;
  readonly engine: EngineFact;
}

export interface EngineFact {
  /** Leadership epoch; every intent bears it. */
  readonly epoch: number;
  /** First signal came: nothing new is started, what runs goes on. */
  readonly shuttingDown: boolean;
  /** A slot for one more run is free. */
  readonly slotFree: boolean;
  readonly lostApply: LostApplyPolicy;
  /** Runners are pods, so that all of a spec's pod template is obeyed. */
  readonly runnersArePods?: boolean;
  /** Why nothing may be started, in words that name the other controller; undefined: all may. */
  readonly heldBack?: string | undefined;
  /** Identity for a run that this pass may start, made beforehand so that decide stays pure. */
  readonly nextRunId: string;
  /** In [0, 1): spreads retries, made beforehand for the same reason. */
  readonly jitter: number;
}

/** What to do with an apply whose runner is unreachable: ask tofu to stop once, or leave it. */
export type LostApplyPolicy = "interrupt" | "wait";

export type SourceFact =
  | {
      readonly state: "ready";
      readonly artifact: ArtifactFact;
      /** Present while the archive has yet to be fetched from where the source keeps it. */
      readonly fetch?: ArtifactFetchFact | undefined;
    }
  /** The source object does not exist. */
  | { readonly state: "missing"; readonly message: string }
  /** The reference is not allowed. */
  | { readonly state: "denied"; readonly message: string }
  /** The source object has no artifact yet, or says why it has none. */
  | { readonly state: "no-artifact"; readonly message: string };

export type ArtifactFetchFact =
  | { readonly state: "absent" }
  | { readonly state: "fetching" }
  /** The last attempt failed; another may be under way. */
  | { readonly state: "failed"; readonly message: string };

export interface ArtifactFact {
  /** Opaque. */
  readonly revision: string;
  /** `sha256:<hex>`. */
  readonly digest: string;
  /** Empty: wherever it is kept by its digest. */
  readonly url: string;
  readonly sizeBytes: number | undefined;
}

export interface DependencyFact {
  readonly namespace: string;
  readonly name: string;
  /** Undefined: there is no such object. */
  readonly terraform: Terraform | undefined;
  /** It writes outputs to a Secret, and that Secret can be read. Undefined: it writes none. */
  readonly outputsReady: boolean | undefined;
  /** Cross-namespace reference that is not allowed. */
  readonly denied: boolean;
}

export type InputsFact =
  | {
      readonly state: "resolved";
      /**
       * Digest over everything besides the artifact that shapes a plan: path, workspace, backend,
       * variables, environment. Not `destroy`, which is compared by itself; nor the interval and
       * the like, so that their change lets a plan stand that waits for approval.
       */
      readonly digest: string;
      /** A digest of each Secret and ConfigMap read, by `Kind namespace/name`: what changed. */
      readonly sources?: Readonly<Record<string, string>>;
    }
  | {
      readonly state: "failed";
      /** A condition reason, such as VarsGenerationFailed. */
      readonly reason: string;
      /** Names object and key; holds no value. */
      readonly message: string;
    };

export interface KeptInputsFact {
  /** Digest as that of `InputsFact`, with the spec as it is now. */
  readonly digest: string;
}

export interface PendingPlanFact {
  /** The stored plan file of status.plan.pending can be read and has the digest in the status. */
  readonly stored: boolean;
  /** Id the store says it has, if any. */
  readonly id: string | undefined;
}

export type OutputsSecretFact =
  | { readonly state: "not-wanted" }
  | { readonly state: "absent" }
  /** Present and owned by this object; `keys` are its data keys, sorted. */
  | { readonly state: "present"; readonly keys: readonly string[] }
  /** A Secret of that name that somebody else owns; it is not touched. */
  | { readonly state: "foreign"; readonly owner: string };

export interface StateFact {
  /** Lock on the state, where the backend can be asked (state door). */
  readonly lock: LockFact | undefined;
  /** The current state, where it can be asked for without a run (state door). */
  readonly head?: StateHeadFact | undefined;
  /** Which backend it lies in: the same text means the same place, for one workspace. */
  readonly place?: string;
  /**
   * Versions kept aside that a person must accept or drop. What an outcome calls `stateRescued`
   * stands here from the same pass on, unless it could be made the current state.
   */
  readonly rescued: readonly RescuedState[];
}

export type StateHeadFact =
  /** There is none. `former`: the last one that there was. */
  | { readonly state: "absent"; readonly former: FoundState | undefined }
  | ({
      readonly state: "present" /** Of the run that wrote it; undefined: a person did. */;
      readonly runId: string | undefined;
      /** Where it lies nobody notes who writes: `runId` says nothing. */
      readonly writerHidden?: boolean;
      /** Version of the tofu that wrote it, if that is told. */
      readonly tofuVersion?: string;
      /** Why its content cannot be used, with the mend; undefined: no damage is known. */
      readonly damage?: string;
    } & FoundState);

/** A state as it was read: its head, and what is in it. */
export interface FoundState {
  readonly serial: number;
  readonly lineage: string;
  /** Managed resources in it; undefined where it does not say (encrypted). */
  readonly resources: number | undefined;
}

/** "absent": the plan was made on no state at all. */
export type PlannedOn = ({ readonly state: "present" } & FoundState) | { readonly state: "absent" };

export interface LockFact {
  readonly id: string;
  /** Operation as tofu wrote it, such as OperationTypeApply. */
  readonly operation: string;
  readonly who: string;
  /** RFC 3339. */
  readonly created: string;
  /** Run of ours that took it; undefined for a stranger. */
  readonly runId: string | undefined;
  /** How it is known that its holder, which wrote nothing, is gone; undefined: it is not. */
  readonly abandoned?: string;
}

export interface RescuedState {
  /** What `nigari state push --accept` takes. */
  readonly id: string;
  readonly runId: string;
  readonly serial: number;
  readonly at: string;
}

export interface FailedEffect {
  readonly effect: Effect["do"];
  readonly reason: string;
  /** For people; holds no secret. */
  readonly message: string;
  /** May pass by itself. */
  readonly transient: boolean;
}

/** What is known of a run: its stored intent, its runner's word, and the platform's evidence. */
export interface RunFact {
  readonly id: string;
  /** "gone" only on proof: the process has ended, or its machine has started anew since. */
  readonly runner: "unknown" | "starting" | "running" | "gone";
  /** How the end of a gone runner is known, in words: "killed by signal 9", "machine rebooted". */
  readonly proof: string | undefined;
  /**
   * Processes of the run besides the runner (tofu, providers) that still live; undefined while it
   * cannot be known. The run is dead only at 0 with the runner gone.
   */
  readonly workersAlive: number | undefined;
  readonly verdict: LivenessVerdict;
  /** Milliseconds since the last sign of life, on a clock that stops when the machine sleeps. */
  readonly silentMs: number;
  readonly stage: Stage;
  /**
   * The step to which the living workers of a gone runner belong, if the run's own journal tells
   * for certain. Undefined: not known, and then the workers of an apply may be writing.
   */
  readonly workersStage?: Stage | undefined;
  /**
   * True: tofu has ended, on proof. What lives of the run is what tofu began and left behind: a
   * program of a provisioner, or a provider that outlived a kill.
   */
  readonly onlyLeftovers?: boolean | undefined;
  /** False: the living runner has taken no order, on evidence of its machine; nothing has begun. */
  readonly orderTaken?: boolean | undefined;
  /**
   * True: the machine of the run cannot be reached, or nobody can say any more what became of it
   * there; whether the run has ended cannot be known from here.
   */
  readonly cutOff?: boolean | undefined;
  /** Where the runner is, if that is more than "here". */
  readonly place?: RunnerPlace | undefined;
  /** RFC 3339. */
  readonly stageSince: string;
  /**
   * Milliseconds in this stage as far as the engine has watched it, on a clock that neither jumps
   * nor runs while the machine sleeps: what a time limit is judged by.
   */
  readonly stageMs?: number | undefined;
  /** The runner has acknowledged the start. */
  readonly startedAt: string | undefined;
  /** Resources whose action has begun and not ended, for an apply. */
  readonly inFlight: readonly string[];
  /** The last word of the run; undefined while it goes on. */
  readonly outcome: RunOutcome | undefined;
  /** Why the launch does not come about (no runner yet), if it fails. */
  readonly launchError: string | undefined;
}

/** Where a runner is and what is the matter there, in words; names hold no secret. */
export interface RunnerPlace {
  readonly pod: string;
  /** Undefined: it has not been placed on one. */
  readonly node: string | undefined;
  /** What is wrong with the node, as the end of a sentence: "is not Ready since …". */
  readonly nodeTrouble?: string | undefined;
  /** What the runner waits for before it can start, as a sentence without its stop. */
  readonly waitsFor?: string | undefined;
  /** Why the runner is being stopped from outside, as the end of a sentence. */
  readonly stoppedBy?: string | undefined;
}

export interface PlanSummary {
  readonly add: number;
  readonly change: number;
  readonly destroy: number;
  readonly import: number;
}

export interface OutputFact {
  readonly name: string;
  readonly sensitive: boolean;
}

/** What came of one check of spec.healthChecks. */
export interface HealthFact {
  readonly name: string;
  /** What is wrong, in words that hold no output; undefined: it passed. */
  readonly trouble: string | undefined;
}

/** The managed resources in the state. */
export interface Inventory {
  /** n: name, t: type, id: identifier, as status.inventory has them. */
  readonly entries: readonly { readonly n: string; readonly t: string; readonly id: string }[];
  /** How many were left out for want of room. */
  readonly more: number;
}

/** How a run ended. Values (plan, outputs) stay in the run's files; here is what decides. */
export type RunOutcome =
  | {
      readonly kind: "planned";
      readonly changes: boolean;
      readonly summary: PlanSummary;
      /** sha256 hex of the plan file. */
      readonly planDigest: string;
      /** A destroy plan that finds nothing to destroy. */
      readonly nothingToDestroy: boolean;
      /** Present if the plan found no changes and outputs were read. */
      readonly outputs: readonly OutputFact[] | undefined;
      /** The state that the plan was made on, if the plan file tells (not an encrypted one). */
      readonly state?: PlannedOn | undefined;
      /** Present if there were checks to make, and they were made. */
      readonly health?: readonly HealthFact[] | undefined;
      /** Present if it was asked for. */
      readonly inventory?: Inventory | undefined;
      /** What did not hinder the plan, and a person should know of; masked. */
      readonly warnings?: readonly string[] | undefined;
    }
  | {
      readonly kind: "applied";
      readonly outputs: readonly OutputFact[] | undefined;
      readonly health?: readonly HealthFact[] | undefined;
      readonly inventory?: Inventory | undefined;
    }
  | {
      readonly kind: "failed";
      readonly stage: Stage;
      /** A condition reason. */
      readonly reason: string;
      /** Masked text of tofu's diagnostics or of the runner. */
      readonly message: string;
      readonly exitCode: number | undefined;
      /** The lock in the way, if that was the trouble. */
      readonly lock: LockFact | undefined;
      /** The saved plan no longer fits the state. */
      readonly planStale: boolean;
      /** tofu could not write its state, left it behind, and it is kept. */
      readonly stateRescued: boolean;
      /** Resources that may exist although the state does not say so. */
      readonly unrecorded: readonly string[];
    }
  | { readonly kind: "cancelled"; readonly stage: Stage; readonly message: string }
  /**
   * The runner died; what tofu left was found on the platform. `exitCode` undefined: tofu was
   * killed too.
   */
  | {
      readonly kind: "orphaned";
      readonly stage: Stage;
      readonly exitCode: number | undefined;
      readonly unrecorded: readonly string[];
      readonly stateRescued: boolean;
    };

/** What a pass does to the world, in the order listed; each is safe to do again. */
export type Effect =
  | { readonly do: "add-finalizer" }
  | { readonly do: "remove-finalizer" }
  /** Save the run's plan file (and its readable form) under this id. */
  | { readonly do: "save-plan"; readonly runId: string; readonly planId: string }
  | { readonly do: "delete-plan" }
  | { readonly do: "write-outputs"; readonly runId: string }
  | { readonly do: "delete-outputs" }
  /**
   * Keep the inputs of this digest for a later destroy: as those an apply is about to try, or,
   * once it has succeeded, as good ones.
   */
  | { readonly do: "keep-inputs"; readonly digest: string; readonly as: "tried" | "good" }
  | { readonly do: "forget-inputs" }
  /** Release a lock by its id: ours and a plan's, or its holder is proven dead. */
  | { readonly do: "release-lock"; readonly lockId: string; readonly why: string }
  /** From now on this run's state writes are kept aside, never current. */
  | { readonly do: "revoke-credentials"; readonly runId: string; readonly proof: string }
  /** SIGINT once to the run's processes. */
  | { readonly do: "interrupt-run"; readonly runId: string }
  /**
   * End every process of the run and confirm it. Not asked for an apply that may write, unless a
   * person orders it.
   */
  | { readonly do: "terminate-run"; readonly runId: string }
  /** End the runner and none of its workers, and confirm it. */
  | { readonly do: "end-runner"; readonly runId: string }
  /** Fetch the archive, apart from any pass; the object is looked at again when that has ended. */
  | { readonly do: "fetch-artifact"; readonly artifact: ArtifactFact }
  /** Start what status.run says; the status is stored before. */
  | { readonly do: "launch-run"; readonly runId: string }
  /** Remove what is left of a collected run. */
  | { readonly do: "remove-run"; readonly runId: string }
  | {
      readonly do: "event";
      readonly type: "Normal" | "Warning";
      readonly reason: string;
      readonly message: string;
    };

/** What a pass has decided. */
export interface Decision {
  /** Done before the status is stored; the status says that they were done. */
  readonly before: readonly Effect[];
  /** The whole next status, conditions included. Stored only if it differs. */
  readonly status: NonNullable<Terraform["status"]>;
  /**
   * Done once the status is stored; the status says that they are intended. What fails here is
   * asked for again by the next pass, as long as the facts call for it. A `remove-run` lost to a
   * crash is made good by removing every ended run that no status names.
   */
  readonly after: readonly Effect[];
  /** Milliseconds until the object is due by itself; undefined: only an event makes it due. */
  readonly requeueAfterMs: number | undefined;
  /** One line for the log: which step decided, and what. */
  readonly why: string;
}

/** What a run is told to do, made from the spec and the resolved inputs by the engine. */
export interface RunOrder {
  readonly run: RunStatus;
  readonly operation: Operation;
  readonly spec: TerraformSpec;
}
