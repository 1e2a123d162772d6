import type { LogLine } from "../../evidence/model.ts";
import type { PassView } from "../../evidence/passes.ts";
import type { EventView, PodView } from "../../evidence/pods.ts";
import { isRunner, runnerPodOf } from "../../evidence/runners.ts";
import type { TerraformView } from "../../evidence/terraforms.ts";
import { citeLine, citePod, oneLine } from "../cites.ts";
import { defineRecognizer, type Finding, type Undecided, verdictOf } from "../define.ts";
import { missing } from "../judge.ts";
import { HARMLESS, MINUTE_MS, stamp, stampOf } from "../words.ts";

/** A container may take so long to start without being a fault. */
const PATIENCE_MS = MINUTE_MS;
/** A large image may be pulled for so long; nothing says that it is being pulled well. */
const PULL_MS = 10 * MINUTE_MS;
/** The refusal is told anew with every try. */
const QUOTA_MS = 5 * MINUTE_MS;

/** A runner whose container has not started, or whose pod was refused. */
export const runnerNeverReady = defineRecognizer({
  id: "tofu/runner-never-ready",
  since: "0.1.0",
  maturity: "trial",
  severity: "failure",
  summary: "Checks for runners that never started, and says what holds them.",
  plural: "runners have never started",
  needs: ["pods"],
  wants: ["events", "passes", "terraforms"],
  lookAlikes: [
    {
      id: "tofu/reconcile-parked",
      tellApart: "There a runner got a call and is gone; here none has ever run.",
    },
    { id: "tofu/runner-restarting", tellApart: "There the container starts and ends." },
    {
      id: "tofu/runner-pods-failed-left-behind",
      tellApart: "There the pod has run and is Failed.",
    },
  ],

  recognize({ pods, events, passes, terraforms }, { asOfMs }) {
    const held: Finding[] = [];
    const young: PodView[] = [];
    for (const pod of pods) {
      const cause = heldBy(pod, events ?? [], asOfMs);
      if (cause === "soon to tell") young.push(pod);
      else if (cause !== undefined) held.push(ofPod(pod, cause));
    }
    const quota = (events ?? []).filter(
      (event) => event.reason === "RunnerQuotaExhausted" && asOfMs - event.atMs < QUOTA_MS,
    );
    const exhausted = new Set(quota.map((event) => event.about));
    const byEvent = (terraforms ?? [])
      .filter((object) => exhausted.has(object.ref) && !passes?.byObject.has(object.key))
      .flatMap((object) => quota.findLast((event) => event.about === object.ref) ?? [])
      .map(ofEvent);
    const refused = (terraforms ?? []).flatMap((object) => {
      const pass = passes?.byObject.get(object.key);
      const line = pass?.error;
      const cause = line === undefined ? undefined : refusedFor(line);
      return pass === undefined || line === undefined || cause === undefined || isOver(object, pass)
        ? []
        : [ofRefusal(object, line, cause)];
    });
    const undecided: Undecided[] = (terraforms ?? [])
      .filter((object) => awaitsPod(object, pods, asOfMs) && !passes?.byObject.has(object.key))
      .filter((object) => !exhausted.has(object.ref))
      .map((object) => ({
        objects: [object.ref],
        why: `${object.key} has no runner pod yet; only the log says why.`,
        missing: [missing("passes")],
      }));
    const findings = [...held, ...refused, ...byEvent];
    undecided.push(...(events === undefined ? young.map(ofYoung) : []));
    return verdictOf(findings, undecided, "Every runner that exists has started.");
  },

  remedies: [
    {
      do: "Read what holds {pod}: {cause}.",
      command: "kubectl -n {namespace} describe pod {pod}",
      risk: "read-only",
      precondition: "None.",
      effect: "The events name what is missing.",
      price: HARMLESS,
      undo: "Not needed.",
      verify: "You know what to mend.",
    },
    {
      do: "Mend it in spec.runnerPodTemplate or in the cluster, then delete the pod if it exists.",
      command: "kubectl -n {namespace} delete pod {pod}",
      risk: "reversible",
      precondition: "The cause is mended.",
      effect: "The next pass makes a new one; a pending pod is never replaced by itself.",
      price: "None: nothing runs in it.",
      undo: "Change the template back.",
      verify: "The new pod is Running.",
    },
  ],
  doesNotHelp: ["Mending the template alone: the pending pod is not replaced."],
  defect: {
    what: "A pod counts as ready as soon as it has an address; then a pass waits 30 min for it.",
    versions: "tofu-controller up to 0.16.5",
    files: ["controllers/tf_controller_runner.go"],
    references: [],
  },
  doc: {
    meaning: "The runner's container cannot start, or its pod may not be created.",
    impact: "The object waits; where the pod has an address, a worker is held for 30 min a pass.",
    symptoms: ["The pod is Pending or ContainerCreating, or there is none and the log says why."],
    limits: "Why a volume is not there is said by events, which live an hour.",
  },
  firstSeen: "2026-07-03",
  lastVerified: { on: "2026-11-30", against: "tofu-controller 0.16.5 (source), Kubernetes 1.36" },
});

interface Hold {
  readonly cause:
    | "image"
    | "scheduling"
    | "volume"
    | "configuration"
    | "quota"
    | "service-account"
    | "unknown";
  readonly says: string;
}

const waitings: readonly { readonly reason: RegExp; readonly cause: Hold["cause"] }[] = [
  {
    reason: /^(ErrImagePull|ImagePullBackOff|InvalidImageName|ErrImageNeverPull)$/,
    cause: "image",
  },
  { reason: /^(CreateContainerConfigError|CreateContainerError)$/, cause: "configuration" },
  { reason: /^(RunContainerError|StartError)$/, cause: "configuration" },
];

function heldBy(
  pod: PodView,
  events: readonly EventView[],
  asOfMs: number,
): Hold | "soon to tell" | undefined {
  if (!isRunner(pod) || pod.phase !== "Pending" || pod.deletedMs !== undefined) return undefined;
  if (pod.containers.some((each) => each.restartCount > 0 || each.ended !== undefined)) {
    return undefined;
  }
  if (asOfMs - (pod.createdMs ?? asOfMs) < PATIENCE_MS) return undefined;
  if (pod.unschedulable !== undefined) return { cause: "scheduling", says: pod.unschedulable };
  const container = pod.containers.find((each) => each.waitingReason !== undefined);
  const reason = container?.waitingReason ?? "";
  const known = waitings.find((row) => row.reason.test(reason));
  if (known !== undefined) {
    return { cause: known.cause, says: `${reason}: ${container?.waitingMessage ?? ""}` };
  }
  const volume = events.findLast(
    (event) => event.about === pod.ref && /^Failed(Mount|AttachVolume)$/.test(event.reason),
  );
  if (volume !== undefined) return { cause: "volume", says: volume.message };
  if (asOfMs - (pod.createdMs ?? asOfMs) < PULL_MS) return "soon to tell";
  return { cause: "unknown", says: reason === "" ? "No reason is given." : reason };
}

/** Modules create pods and meet quotas too; those are no runners. */
const ABOUT_RUNNER = /lookup or create runner|runner pod|-tf-runner"/;

function refusedFor(line: LogLine): Hold | undefined {
  const text = `${line.message} ${line.error ?? ""}`;
  if (!ABOUT_RUNNER.test(text)) return undefined;
  if (/exceeded quota/.test(text)) return { cause: "quota", says: text };
  if (/serviceaccount "[^"]*" not found/i.test(text))
    return { cause: "service-account", says: text };
  return undefined;
}

/** Ready says that a pass has begun, and there is no pod to run it in. */
function awaitsPod(object: TerraformView, pods: readonly PodView[], asOfMs: number): boolean {
  const { ready } = object;
  if (ready?.status !== "Unknown" || ready.message !== "Reconciliation in progress") return false;
  if (object.suspended || object.stalled?.status === "True") return false;
  return asOfMs - (ready.sinceMs ?? asOfMs) >= PATIENCE_MS && !runnerPodOf(object, pods);
}

function ofYoung(pod: PodView): Undecided {
  const why = `${pod.key} has not started yet; only the events say what it waits for.`;
  return { objects: [pod.ref], why, missing: [missing("events")] };
}

function ofEvent(event: EventView): Finding {
  const [, namespace = "", name = ""] = event.about.split("/");
  return {
    objects: [event.about],
    says: `No runner of ${namespace}/${name} may be created (quota).`,
    facts: { cause: "quota", says: event.message, pod: `${name}-tf-runner`, namespace },
    cites: [{ says: `${stamp(event.atMs)} ${event.reason}: ${event.message}`, place: event.place }],
    since: stamp(event.atMs),
    causes: [],
  };
}

/** A refusal counts until the object is Ready or a later pass has its runner. */
function isOver({ ready }: TerraformView, { error, lines }: PassView): boolean {
  const refusedMs = error?.atMs ?? 0;
  if (ready?.status === "True" && (ready.sinceMs ?? 0) > refusedMs) return true;
  return lines.some((line) => line.atMs > refusedMs && HAS_RUNNER.test(line.message));
}

const HAS_RUNNER = /^(runner is running|setting up terraform)/;

function ofPod(pod: PodView, { cause, says }: Hold): Finding {
  const name = pod.owner?.name ?? pod.name.replace(/-tf-runner$/, "");
  const why = `${cause}: ${oneLine(says, 120)}`;
  return {
    objects: [`Terraform/${pod.namespace}/${name}`],
    says: `The runner of ${pod.namespace}/${name} has never started (${why}).`,
    facts: { cause, says: oneLine(says, 300), pod: pod.name, namespace: pod.namespace },
    cites: [citePod(pod, `Pod ${pod.key} is Pending: ${oneLine(says, 160)}`)],
    since: stampOf(pod.createdMs),
    causes: [],
  };
}

function ofRefusal(object: TerraformView, line: LogLine, { cause, says }: Hold): Finding {
  return {
    objects: [object.ref],
    says: `No runner of ${object.key} may be created (${cause}).`,
    facts: {
      cause,
      says: oneLine(says, 300),
      pod: `${object.name}-tf-runner`,
      namespace: object.namespace,
    },
    cites: [citeLine(line)],
    since: stampOf(line.atMs),
    causes: [],
  };
}
