import type { LivenessVerdict } from "../api/terraform.ts";
import type { RunFact } from "./facts.ts";
import { isProvenDead } from "./guards.ts";
import { bringUpMs, suspectAfterMs, unreachableAfterMs } from "./limits.ts";

/** What is known of a runner on two paths: its stream, and the platform. */
export interface LivenessEvidence {
  /** The platform's word. */
  readonly runner: RunFact["runner"];
  /** Processes besides the runner; undefined while they cannot be counted. */
  readonly workersAlive: number | undefined;
  /** The machine has started anew since: every process of before is gone. */
  readonly rebooted: boolean;
  /** The runner has given a sign of life at least once. */
  readonly heard: boolean;
  /** Its machine cannot be reached: there is nothing to be patient for. */
  readonly cutOff?: boolean | undefined;
  /** The platform itself says that it has not started yet, and what for it waits. */
  readonly waits?: boolean | undefined;
  /** Milliseconds since the last sign, or since the launch, on a clock that stops in sleep. */
  readonly silentMs: number;
}

/**
 * Judges a runner. Silence alone never makes it dead: that takes proof that nothing of the run can
 * write any more. `lagMs` is how late the judge itself was; that much silence is its own fault.
 */
export function judge(evidence: LivenessEvidence, lagMs: number): LivenessVerdict {
  const { runner, silentMs } = evidence;
  if (isProvenDead(evidence)) return "dead";
  if (runner === "gone") return "unreachable";
  // Whether that takes too long is for the time limit of a launch to say.
  if (evidence.waits === true && evidence.cutOff !== true) return "alive";
  const silence = silentMs - Math.max(0, lagMs);
  if (silence < suspectAfterMs()) return "alive";
  return silence < patienceMs(evidence) ? "suspect" : "unreachable";
}

/** The stream and the cluster are two witnesses: where both say so nothing is waited for. */
function patienceMs({ cutOff, heard, runner }: LivenessEvidence): number {
  if (cutOff === true) return suspectAfterMs();
  return heard || runner === "running" ? unreachableAfterMs() : bringUpMs();
}
