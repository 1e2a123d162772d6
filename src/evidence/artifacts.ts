import type { ControlPlaneSign, ControlPlaneView } from "./control-plane.ts";
import type { LogLine, Place } from "./model.ts";
import type { PassesView } from "./passes.ts";
import type { NodeView, PodView } from "./pods.ts";
import { runnerFate } from "./runners.ts";
import type { TerraformView } from "./terraforms.ts";
import type { CallsView } from "./workers.ts";

/** How an object fares with its source's archive, while it does not have it. */
export interface ArtifactTrouble {
  readonly object: TerraformView;
  /**
   * `fetching`: the download goes on, silently, with a runner that is alive; `maybe-fetching` if
   * it is not known whether the runner is alive or, where there is no `line`, how far the pass is.
   * `unreachable`: it was given up, nobody answered. `refused`: somebody answered, and not with
   * the archive; or there is no source or no archive to fetch.
   */
  readonly state: "fetching" | "maybe-fetching" | "unreachable" | "refused";
  /** When the download began, as far as it is known. */
  readonly sinceMs: number;
  readonly attempts: number | undefined;
  /** What was said; of a silent download the last line. */
  readonly says: string;
  readonly line: LogLine | undefined;
  readonly place: Place;
}

export interface ArtifactFacts {
  readonly terraforms: readonly TerraformView[];
  readonly passes?: PassesView;
  readonly pods?: readonly PodView[];
  readonly nodes?: readonly NodeView[];
  readonly calls?: CallsView;
}

/** A download that is silent for less is no trouble. */
const SILENT_MS = 60_000;
/** A download gives up by itself within this: ten tries, 5 to 30 s apart. */
export const DOWNLOAD_MS = 10 * 60_000;
/** The log and the status of one step are written some seconds apart. */
const APART_MS = 5_000;

const UNREACHABLE = [
  /i\/o timeout/,
  /connection (refused|reset)/,
  /no route to host/,
  /context deadline exceeded/,
  /TLS handshake timeout/,
  /no such host/,
  /unexpected EOF/,
];

/** Objects that stand without their archive now; old errors that are over are none. */
export function artifactTroubles(facts: ArtifactFacts, asOfMs: number): ArtifactTrouble[] {
  return facts.terraforms.flatMap((object) => {
    if (object.suspended) return [];
    return failedFetch(object, facts) ?? silentFetch(object, facts, asOfMs) ?? [];
  });
}

function failedFetch(object: TerraformView, facts: ArtifactFacts): ArtifactTrouble | undefined {
  const { ready } = object;
  if (ready?.status !== "False" || ready.reason !== "ArtifactFailed") return undefined;
  const error = facts.passes?.byObject.get(object.key)?.error;
  const line = error?.mark?.startsWith("artifact-") === true ? error : undefined;
  const unreachable =
    /failed to download artifact/.test(ready.message) &&
    UNREACHABLE.some((each) => each.test(ready.message));
  const attempts = /giving up after (\d+) attempt/.exec(ready.message)?.[1];
  const tookMs = lastedMs(line);
  return {
    object,
    state: unreachable ? "unreachable" : "refused",
    sinceMs: (ready.sinceMs ?? 0) - tookMs,
    attempts: attempts === undefined ? undefined : Number(attempts),
    says: ready.message,
    line,
    place: object.place,
  };
}

/** "Reconciliation failed after 8m36.5s": how long the pass had been at it. */
function lastedMs(line: LogLine | undefined): number {
  const found = /failed after (?:(\d+)h)?(?:(\d+)m)?([\d.]+)s/.exec(line?.message ?? "");
  if (found === null) return 0;
  const [, hours = "0", minutes = "0", seconds = "0"] = found;
  return ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000;
}

/** After "setting up terraform" the archive is fetched; nothing is logged until that ends. */
function silentFetch(
  object: TerraformView,
  facts: ArtifactFacts,
  asOfMs: number,
): ArtifactTrouble | undefined {
  const pass = facts.passes?.byObject.get(object.key);
  if (pass === undefined || pass.last.atMs < (object.inCall?.sinceMs ?? 0) - APART_MS)
    return untoldFetch(object, facts, asOfMs);
  if (!pass.fetching) return undefined;
  if (facts.passes === undefined || facts.passes.covered.toMs < asOfMs - SILENT_MS)
    return undefined;
  if (asOfMs - pass.last.atMs < SILENT_MS) return undefined;
  if (facts.calls !== undefined && facts.calls.downloads === 0) return undefined;
  const { pods, nodes } = facts;
  const fate = pods && runnerFate(object, pass.last.atMs, pods, nodes).fate;
  const unknown = fate === undefined || fate === "unknown";
  // A runner that is down or not up yet holds the pass by itself, after the same line.
  if (!unknown && fate !== "alive") return undefined;
  return {
    object,
    state: unknown ? "maybe-fetching" : "fetching",
    sinceMs: pass.last.atMs,
    attempts: undefined,
    says: pass.last.message,
    line: pass.last,
    place: pass.last.place,
  };
}

/** The status says Initializing, of which the download is one part; no log says which it is. */
function untoldFetch(
  object: TerraformView,
  facts: ArtifactFacts,
  asOfMs: number,
): ArtifactTrouble | undefined {
  const { inCall, ready } = object;
  if (inCall?.stage !== "unknown") return undefined;
  const silentMs = asOfMs - inCall.sinceMs;
  if (silentMs < SILENT_MS || silentMs > DOWNLOAD_MS) return undefined;
  if (facts.calls?.downloads === 0) return undefined;
  const fate = facts.pods && runnerFate(object, inCall.sinceMs, facts.pods, facts.nodes).fate;
  if (fate !== undefined && fate !== "unknown" && fate !== "alive") return undefined;
  return {
    ...{ object, state: "maybe-fetching", sinceMs: inCall.sinceMs, attempts: undefined },
    ...{ says: ready?.message ?? "", line: undefined, place: object.place },
  };
}

/** How long after a sign of trouble the control plane's trouble may still be felt. */
export const AFTERMATH_MS = 15 * 60_000;

/** The newest sign within 15 minutes before this began, or while it lasted. */
export function signNear(
  controlPlane: ControlPlaneView,
  sinceMs: number,
  asOfMs: number,
): ControlPlaneSign | undefined {
  return controlPlane.signs.findLast(
    (sign) => sign.atMs <= asOfMs && sign.atMs >= sinceMs - AFTERMATH_MS,
  );
}
