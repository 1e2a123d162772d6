import type { RunOutcome } from "../../../domain/facts.ts";
import { isEpochCurrent } from "../../../domain/guards.ts";
import { interruptGraceMs } from "../../../domain/limits.ts";
import type { Call } from "../../../ports/call.ts";
import type { Clock, Random } from "../../../ports/clock.ts";
import type { Log } from "../../../ports/log.ts";
import {
  type LogEvent,
  type PlatformFact,
  type PodWishes,
  type RunFile,
  RunnerError,
  type RunnerLaunch,
  type RunnerPlatform,
  type RunSignal,
} from "../../../ports/runner.ts";
import type { RunnerTarget } from "../../../protocol/client.ts";
import { runnerIdentity, towards } from "../../../protocol/mutual-tls.ts";
import { type PrintedRun, readPodOutput } from "../../../protocol/pod-output.ts";
import type { Authority } from "../authority.ts";
import type { Connection } from "../connection.ts";
import { isQuota, PodApi } from "./api.ts";
import { Certificates } from "./certificate.ts";
import { collectPod } from "./collect.ts";
import { platformFact, runnerStatus } from "./evidence.ts";
import { Gates } from "./gates.ts";
import { type PodDefaults, podManifest } from "./manifest.ts";
import { podName, RUNNER_PORT } from "./names.ts";
import { PodConnection } from "./pod-connection.ts";
import { QuotaLines } from "./quota-lines.ts";
import { Sight } from "./sight.ts";
import type { KeptTrace } from "./traces.ts";

export interface PodPlatformOptions {
  readonly connection: Connection;
  /** Signs the certificates by which controller and runners know each other. */
  readonly authority: Pick<Authority, "leaf" | "trusted">;
  /** The only namespace that is looked at; undefined: all. */
  readonly namespace: string | undefined;
  /** Image of runners, pull secrets, proxies. */
  readonly defaults: PodDefaults;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The newest epoch that anybody leads with, as the Lease has it; undefined: not looked at. */
  readonly newestEpoch?: (call: Call) => Promise<number>;
}

/** A deletion of a pod whose kubelet answers takes about two seconds. */
const TERMINATE_MS = 10_000;
const LOOK_MS = 100;

/**
 * Runners as pods, one for each attempt, each of its own name. Make one for each time of leading:
 *
 *     const platform = new PodPlatform(options);
 *     await platform.start(signal);    // lists pods, nodes and traces; keeps them true
 *     createEngine({ platform, … });   // from then until the signal fires; then make another
 *
 * What is asked here is answered from what is watched, never by a request. A run is gone only on
 * proof (`provenEnd`): its pod is held by a finalizer until its kubelet's word is read, and what is
 * known of it stands on its Secret too, so that neither a restart nor a forced deletion lets it be
 * forgotten.
 */
export class PodPlatform implements RunnerPlatform {
  readonly #options: PodPlatformOptions;
  readonly #api: PodApi;
  readonly #certificates: Certificates;
  readonly #gates: Gates;
  readonly #sight: Sight;
  readonly #quotas: QuotaLines;
  readonly #launching = new Map<string, Promise<void>>();
  readonly #printed = new Map<string, PrintedRun>();

  constructor(options: PodPlatformOptions) {
    this.#options = options;
    this.#api = new PodApi(options.connection, options.clock);
    this.#certificates = new Certificates(options.authority, options.clock);
    this.#quotas = new QuotaLines(options.clock);
    const { log, clock } = options;
    this.#sight = new Sight({ ...options, api: this.#api }, (pod) => this.#gates.opens(pod));
    this.#gates = new Gates({
      ...{ api: this.#api, certificates: this.#certificates, sight: this.#sight, log, clock },
    });
  }

  /** Resolves once all pods, nodes and traces are known; tries until then. */
  async start(signal: AbortSignal): Promise<void> {
    await this.#sight.start(signal);
    void this.#gates.run(signal);
  }

  async launch(run: RunnerLaunch, call: Call): Promise<void> {
    await this.#mayCommand(call);
    const { runId } = run;
    // Two calls at once for the same run must not both find it missing.
    let launching = this.#launching.get(runId);
    if (launching === undefined) {
      launching = this.#launch(run, call).finally(() => this.#launching.delete(runId));
      this.#launching.set(runId, launching);
    }
    await launching;
  }

  async inspect(runId: string, call: Call): Promise<PlatformFact> {
    inTime(call);
    const trace = this.#sight.trace(runId);
    if (trace === undefined) {
      return { runner: "unknown", proof: undefined, workersAlive: 0, goneAt: undefined };
    }
    return platformFact(trace, this.#sight.seen(trace), this.#sight.end(trace));
  }

  connect(runId: string, epoch?: number): PodConnection {
    return new PodConnection({
      target: (call) => this.#target(runId, epoch, call),
      greeted: (bootId, call) => this.#sight.greeted(runId, bootId, call),
      sign: () => this.#sight.sign(runId),
    });
  }

  async signal(runId: string, what: RunSignal, call: Call): Promise<void> {
    await this.#mayCommand(call);
    const trace = this.#sight.trace(runId);
    if (trace === undefined || this.#sight.end(trace) !== undefined) return;
    if (what === "interrupt") return await this.#interrupt(runId, call);
    // With its first process everything of a container ends.
    const { pod } = this.#sight.seen(trace);
    const at = { namespace: trace.namespace, name: trace.pod };
    if (pod !== undefined) await this.#api.deletePod(at, trace.podUid, call);
    if (await this.#mayLeave(trace, call)) return;
    await this.#untilEnded(trace, call);
  }

  async collect(runId: string, call: Call, state?: Uint8Array): Promise<RunOutcome> {
    inTime(call);
    const trace = this.#dead(runId);
    const { pod } = this.#sight.seen(trace);
    const lastWord = pod && runnerStatus(pod)?.state?.terminated?.message;
    const printed = await this.#output(trace, call);
    const outcome = collectPod({ printed, lastWord }, state);
    if (outcome !== undefined) return outcome;
    if (this.#sight.end(trace)?.neverRan === true) return NEVER_RAN;
    throw new RunnerError("NotFound", `Nothing is left of run ${runId} that could tell of it`);
  }

  async readFile(runId: string, file: RunFile, call: Call): Promise<Uint8Array | undefined> {
    inTime(call);
    const trace = this.#known(runId);
    // Its files were in the pod.
    if (this.#sight.end(trace) !== undefined) return undefined;
    const connection = this.connect(runId, call.epoch);
    try {
      return await connection.readFile(file, call);
    } finally {
      connection.close();
    }
  }

  async readLog(runId: string, fromOffset: number, call: Call): Promise<LogEvent[]> {
    inTime(call);
    const printed = await this.#output(this.#known(runId), call);
    const rest = (printed?.log ?? []).filter(({ offset }) => offset > fromOffset);
    const part: LogEvent[] = [];
    for (const line of rest) {
      part.push(line);
      if (line.offset - fromOffset > LOG_PART_BYTES) break;
    }
    return part;
  }

  async remove(runId: string, call: Call): Promise<void> {
    await this.#mayCommand(call);
    const trace = this.#sight.trace(runId);
    if (trace === undefined) return;
    const mayGo = this.#sight.end(trace) !== undefined || (await this.#mayLeave(trace, call));
    if (!mayGo) {
      throw new RunnerError("StillAlive", `Pod ${trace.namespace}/${trace.pod} may still run`);
    }
    const at = { namespace: trace.namespace, name: trace.pod };
    const hasPod = this.#sight.seen(trace).pod !== undefined;
    if (hasPod) await this.#api.deletePod(at, trace.podUid, call);
    // The pod's object goes last: as long as it is there, whoever comes after us ends this.
    await this.#api.deleteSecret(at, call);
    this.#sight.leaving(trace);
    if (hasPod) await this.#api.letGo(at, trace.podUid, call);
    this.#sight.forget(runId);
    this.#quotas.freed(trace.namespace);
    this.#printed.delete(runId);
  }

  async list(call: Call): Promise<string[]> {
    inTime(call);
    return this.#sight.runs().sort();
  }

  changes(call: Call): AsyncIterable<string> {
    return this.#sight.changes(call.signal);
  }

  async #launch(run: RunnerLaunch, call: Call): Promise<void> {
    const { pod: wishes, runId } = run;
    if (wishes === undefined) throw new RunnerError("Internal", "A pod needs its object's wishes");
    // Begun before: by an engine that died, or in a call whose answer got lost.
    if (this.#sight.trace(runId) === undefined) {
      await this.#create({ ...run, pod: wishes }, call);
    }
    const trace = this.#sight.trace(runId);
    const pod = trace && this.#sight.seen(trace).pod;
    if (pod !== undefined) await this.#gates.open(pod, call);
  }

  /** Only whose turn it is asks, where the quota had no room before. */
  async #create(run: RunnerLaunch & { readonly pod: PodWishes }, call: Call): Promise<void> {
    const { namespace, runId } = run;
    const { urgent = false } = run.pod;
    const turn = this.#quotas.turn(namespace, runId, urgent);
    if (turn !== undefined) {
      const where = `it is number ${turn.place} of ${turn.of} that wait for it`;
      throw new RunnerError("Unavailable", `the quota of namespace ${namespace} is used; ${where}`);
    }
    const at = { namespace, name: podName(run.name, runId) };
    const manifest = podManifest(run, this.#options.defaults);
    try {
      this.#sight.put(await this.#api.createPod(manifest, at, call));
      this.#quotas.served(namespace, runId);
    } catch (error) {
      if (isQuota(error)) this.#quotas.refused(namespace, runId, urgent);
      throw error;
    }
  }

  async #target(runId: string, epoch: number | undefined, call: Call): Promise<RunnerTarget> {
    const trace = this.#sight.trace(runId);
    const ip = trace && this.#sight.seen(trace).pod?.status?.podIP;
    if (trace === undefined || ip === undefined || ip === "") {
      throw new RunnerError("Unavailable", `The runner of run ${runId} has no address`);
    }
    const own = await this.#certificates.own(call);
    return {
      ...{ runId, epoch },
      address: ip.includes(":") ? `[${ip}]:${RUNNER_PORT}` : `${ip}:${RUNNER_PORT}`,
      ...towards(runnerIdentity(runId, trace.podUid), own),
    };
  }

  /** SIGINT once; the grace that follows here is longer than any that the engine gives. */
  async #interrupt(runId: string, call: Call): Promise<void> {
    const connection = this.connect(runId, call.epoch);
    try {
      await connection.cancel(GRACE_FACTOR * interruptGraceMs(), call);
    } finally {
      connection.close();
    }
  }

  /**
   * A plan writes nothing: one of which nobody can say what became of it is left to itself. Its pod
   * goes at once, and its kubelet ends what is left of it when it comes back.
   */
  async #mayLeave(trace: KeptTrace, call: Call): Promise<boolean> {
    if (trace.operation !== "plan") return false;
    const { cutOff } = await this.inspect(trace.runId, call);
    return cutOff === true;
  }

  async #untilEnded(trace: KeptTrace, call: Call): Promise<void> {
    const { clock } = this.#options;
    const signal = clock.deadline("Ending a pod", TERMINATE_MS, call.signal);
    while (this.#sight.end(trace) === undefined) {
      if (signal.aborted) {
        const message = `Pod ${trace.namespace}/${trace.pod} has not ended although deleted`;
        throw new RunnerError("DeadlineExceeded", message, { cause: signal.reason });
      }
      await clock.sleep(LOOK_MS, signal);
    }
  }

  /** What the container printed. Fails where a kubelet that should answer does not. */
  async #output(trace: KeptTrace, call: Call): Promise<PrintedRun | undefined> {
    const known = this.#printed.get(trace.runId);
    if (known !== undefined) return known;
    const { pod, node } = this.#sight.seen(trace);
    if (pod === undefined || node === undefined || node.trouble !== undefined) return undefined;
    const at = { namespace: trace.namespace, name: trace.pod };
    const text = await this.#api.log(at, call);
    const printed = text === undefined ? undefined : readPodOutput(text);
    if (printed !== undefined && this.#sight.end(trace) !== undefined) {
      this.#printed.set(trace.runId, printed);
    }
    return printed;
  }

  #dead(runId: string): KeptTrace {
    const trace = this.#known(runId);
    if (this.#sight.end(trace) !== undefined) return trace;
    throw new RunnerError("StillAlive", `Pod ${trace.namespace}/${trace.pod} may still run`);
  }

  #known(runId: string): KeptTrace {
    const trace = this.#sight.trace(runId);
    if (trace !== undefined) return trace;
    throw new RunnerError("NotFound", `Run ${runId} is not known here`);
  }

  /** Who led before, and does not know yet that he leads no longer, changes nothing. */
  async #mayCommand(call: Call): Promise<void> {
    inTime(call);
    const { newestEpoch } = this.#options;
    if (call.epoch === undefined || newestEpoch === undefined) return;
    const newest = await newestEpoch(call);
    if (isEpochCurrent(call.epoch, newest)) return;
    const message = `Epoch ${call.epoch} is over: an engine of epoch ${newest} commands the runs`;
    throw new RunnerError("Refused", message);
  }
}

/** What readLog answers with at most. */
const LOG_PART_BYTES = 1 << 20;
const GRACE_FACTOR = 100;
const NEVER_RAN: RunOutcome = {
  ...{ kind: "orphaned", stage: "launch", exitCode: undefined },
  ...{ unrecorded: [], stateRescued: false },
};

function inTime(call: Call): void {
  if (!call.signal.aborted) return;
  throw new RunnerError("DeadlineExceeded", "The call's time was over before it began", {
    cause: call.signal.reason,
  });
}
