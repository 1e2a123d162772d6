import type { AnyObject, ObjectKey } from "../api/kinds.ts";
import type { Call } from "../ports/call.ts";
import type { Clock } from "../ports/clock.ts";
import type { Manifests } from "../ports/manifests.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import type { LiveRun, RunLogs } from "../ports/runs.ts";
import type { StateAdmin, StateUnlocker } from "../ports/state.ts";

/**
 * What a verb works on: a running engine over its socket, the data directory itself, or a cluster
 * through its API server.
 */
export interface World {
  readonly store: ObjectStore;
  readonly logs: RunLogs;
  readonly state: StateAdmin;
  /** Undefined when no engine runs: nobody could tell who lives. */
  readonly unlocker?: StateUnlocker;
  /** The engine's word on a run under way; always undefined when no engine runs. */
  live(key: ObjectKey, call: Call): Promise<LiveRun | undefined>;
  /** "engine (pid 12, since …)", "data directory, no engine runs" or "cluster prod (…)". */
  readonly via: string;
  /** Where `via` must be said, because it could have been somewhere else. */
  readonly saysVia?: boolean;
  /** Whose names are meant where nobody names a namespace; "default" if left out. */
  readonly namespace?: string;
  readonly engineRuns: boolean;
  /** What is said where no engine runs; that "nigari up" starts one if left out. */
  readonly noEngine?: string;
  close(): Promise<void>;
}

/** Where a person says that the world is. */
export interface PlaceFlags {
  readonly dataDir: string | undefined;
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
}

/** What main hands to the command line: the outside world, so that commands stay testable. */
export interface Shell {
  readonly clock: Clock;
  readonly out: Output;
  /**
   * Opens what the verbs work on. Fails with `CliError`: exit 5 if it cannot be reached, exit 3 if
   * two places could be meant.
   */
  connect(place: PlaceFlags, call: Call): Promise<World>;
  /** Runs the engine in the foreground. Answers with an exit code. */
  up(options: UpOptions): Promise<number>;
  /** A file's text, or standard input for "-". */
  readFile(path: string): Promise<Uint8Array>;
  /** Objects of manifests: files, folders, or "-" for standard input. */
  readManifests(paths: readonly string[], namespace: string, call: Call): Promise<Manifests>;
  /** Makes one object so, as kubectl apply does. Fails with StoreError. */
  applyObject(store: ObjectStore, object: AnyObject, call: Call): Promise<string>;
  readonly version: string;
  /** Fires at the first Ctrl-C. */
  readonly interrupted: AbortSignal;
}

export interface UpOptions {
  readonly from: string;
  readonly dataDir: string | undefined;
  readonly passEnv: readonly string[];
  readonly prune: boolean;
  readonly wait: boolean;
  readonly concurrent: number;
  readonly lostApply: "interrupt" | "wait";
  /** A loopback address with a port, to be reached over TCP with a token. */
  readonly listen: string | undefined;
  readonly ref: string | undefined;
  readonly path: string | undefined;
  readonly pollMs: number;
  /** Files with what a Git URL needs: an https token, an ssh key, known hosts. */
  readonly tokenFile: string | undefined;
  readonly identityFile: string | undefined;
  readonly knownHostsFile: string | undefined;
}

export interface Output {
  write(text: string): void;
  error(text: string): void;
  readonly isTerminal: boolean;
  readonly columns: number;
  readonly colours: boolean;
}

/** Exit codes, documented in docs/cli.md. */
export const EXIT = {
  ok: 0,
  /** What was asked about has failed. */
  failed: 1,
  /** Something needed could not be read. */
  incomplete: 2,
  usage: 3,
  notFound: 4,
  unreachable: 5,
  interrupted: 130,
} as const;

/** An error that a person is shown as it is, and its exit code. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly exitCode: number;
  constructor(exitCode: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
