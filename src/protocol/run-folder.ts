import { join } from "node:path";

/**
 * The folder of one run, the meeting place of runner and platform. All of it is 0700/0600.
 *
 *     run.json        written by the platform before the runner is started (RunIdentity)
 *     launch.json     written by the platform once the runner's process is there (ProcessIdentity)
 *     runner.json     written by the runner as its first act (ProcessIdentity)
 *     end.json        written by the platform when it saw the runner's end (RunnerEnd)
 *     runner.log      stdout and stderr of the runner
 *     reserve         room that the runner gives up on a full disk, so that it can tell its outcome
 *     order.json      the order, stored before it is acknowledged; holds secrets
 *     in/             artifact.tar.gz, plan.bin as received
 *     work/           the extracted artifact; tofu's folder is work/<path>
 *     home/           the run's own home folder, if files are mapped into it
 *     plugins/        the run's own packages of providers, linked to those of others
 *     cli.tfrc        the tofu command's own configuration, if the order has one
 *     journal/        000001.json …, one entry a file: written, fsynced, renamed, then reported
 *     steps/          <stage>.json (ProcessIdentity of the group's leader), .out, .err, .exit,
 *                     .interrupted (made before its one and only SIGINT is sent)
 *     log.txt         masked lines for people, as Watch streams them by offset
 *     files/          plan.bin, plan.json, plan.txt, outputs.json, errored.tfstate
 */
export interface RunFolder {
  readonly root: string;
  readonly identity: string;
  readonly launch: string;
  readonly runner: string;
  readonly end: string;
  readonly runnerLog: string;
  readonly reserve: string;
  readonly order: string;
  readonly inputs: string;
  readonly work: string;
  readonly home: string;
  readonly plugins: string;
  readonly cliConfig: string;
  readonly backendConfig: string;
  readonly journal: string;
  readonly steps: string;
  readonly log: string;
  readonly files: string;
}

export function runFolder(root: string): RunFolder {
  return {
    root,
    identity: join(root, "run.json"),
    launch: join(root, "launch.json"),
    runner: join(root, "runner.json"),
    end: join(root, "end.json"),
    runnerLog: join(root, "runner.log"),
    reserve: join(root, "reserve"),
    order: join(root, "order.json"),
    inputs: join(root, "in"),
    work: join(root, "work"),
    home: join(root, "home"),
    plugins: join(root, "plugins"),
    cliConfig: join(root, "cli.tfrc"),
    backendConfig: join(root, "backend.tfbackend"),
    journal: join(root, "journal"),
    steps: join(root, "steps"),
    log: join(root, "log.txt"),
    files: join(root, "files"),
  };
}

/** run.json: who this run is. The token also stands in the environment of every process of it. */
export interface RunIdentity {
  readonly runId: string;
  readonly namespace: string;
  readonly name: string;
  /** Of the object; runs of before that was noted have none. */
  readonly uid?: string | undefined;
  readonly epoch: number;
  /** Value of NIGARI_RUN_TOKEN in the run's processes; finds those that left the group. */
  readonly token: string;
  /** Unix socket that the runner serves. */
  readonly socket: string;
  readonly createdAt: string;
}

/** end.json: how the runner ended, or how its end is known. */
export interface RunnerEnd {
  readonly proof: string;
  /** When it was seen, RFC 3339. */
  readonly at: string;
}

/** What tells one process from every other that ever had its pid. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Start time as the platform gives it (Linux: clock ticks since boot). */
  readonly startTime: string;
  /** Identity of the kernel's start (Linux: /proc/sys/kernel/random/boot_id). */
  readonly bootId: string;
}

/** Name of the environment variable that marks every process of a run. */
export const RUN_TOKEN = "NIGARI_RUN_TOKEN";
/** Version of the contract in proto/runner.proto. N collects runs of N − 1. */
export const PROTOCOL_VERSION = 1;
