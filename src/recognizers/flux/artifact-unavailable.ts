import { type ArtifactTrouble, artifactTroubles, signNear } from "../../evidence/artifacts.ts";
import type { ControlPlaneView } from "../../evidence/control-plane.ts";
import { sourceControllersOf } from "../../evidence/controllers.ts";
import type { PodView } from "../../evidence/pods.ts";
import { citePod, citeReady, oneLine } from "../cites.ts";
import { defineRecognizer, type Finding, type Undecided, verdictOf } from "../define.ts";
import { missing } from "../judge.ts";
import { HARMLESS, stamp } from "../words.ts";

/** An artifact that cannot be had, and will not come by waiting. */
export const artifactUnavailable = defineRecognizer({
  id: "flux/artifact-unavailable",
  since: "0.1.0",
  maturity: "trial",
  severity: "failure",
  summary: "Checks for artifacts that are refused, missing or wrong, or that nobody serves.",
  plural: "objects cannot have their artifact",
  needs: ["terraforms"],
  wants: ["pods", "controlPlane", "passes"],
  lookAlikes: [
    {
      id: "flux/artifact-fetch-transient",
      tellApart: "Nobody answers in time, in the wake of an unsteady control plane.",
    },
  ],

  recognize(known, { asOfMs }) {
    const findings: Finding[] = [];
    const undecided: Undecided[] = [];
    const down = downOf(known.pods);
    for (const trouble of artifactTroubles(known, asOfMs)) {
      if (trouble.state === "fetching" || trouble.state === "maybe-fetching") continue;
      const cause = causeOf(trouble, down, steadiness(known.controlPlane, trouble, asOfMs));
      if (cause === "transient") continue;
      if (cause !== "unknown") findings.push(findingOf(trouble, cause, down));
      else {
        const why = `Why nobody serves the artifact of ${trouble.object.key} is not known.`;
        const missed = [missing("controlPlane")];
        undecided.push({ objects: [trouble.object.ref], why, missing: missed });
      }
    }
    return verdictOf(findings, undecided, "No artifact is refused or missing.");
  },

  remedies: [
    {
      do: "Look at the source: {source}.",
      command: "kubectl -n {namespace} describe gitrepositories,ocirepositories,buckets",
      risk: "read-only",
      precondition: "None.",
      effect: "You see whether it exists, is ready and offers an artifact.",
      price: HARMLESS,
      undo: "Not needed.",
      verify: "The source is Ready with an artifact.",
    },
    {
      do: "Have the source fetched again.",
      command:
        "kubectl -n {namespace} annotate {sourceKind} {sourceName} --overwrite " +
        'reconcile.fluxcd.io/requestedAt="$(date -u +%FT%TZ)"',
      risk: "reversible",
      precondition: "The source exists and its controller runs.",
      effect: "A new artifact is stored.",
      price: "None.",
      undo: "Not needed.",
      verify: "The object leaves ArtifactFailed.",
    },
  ],
  doesNotHelp: ["Restarting the tofu-controller: it asks for the same artifact again."],
  doc: {
    meaning: "The source has no artifact, or the server answers with something else.",
    impact: "Objects of this source stand still; nothing is damaged.",
    symptoms: [
      "Ready=False ArtifactFailed: 404, a digest or size that does not fit, source not found.",
    ],
    limits: "A refusal that is over is not told.",
  },
  firstSeen: "2026-07-03",
  lastVerified: { on: "2026-11-30", against: "source-controller 1.9.6" },
});

type Cause =
  | "not-found"
  | "wrong-content"
  | "no-source"
  | "no-artifact"
  | "source-controller-down"
  | "unreachable"
  | "refused";
type Down = PodView | undefined;

const refusals: readonly { readonly fits: RegExp; readonly cause: Cause }[] = [
  { fits: /Source '[^']*' not found|could not get Source object/i, cause: "no-source" },
  { fits: /artifact not found|Source is not ready/i, cause: "no-artifact" },
  { fits: /checksum|digest|expected artifact size/i, cause: "wrong-content" },
  { fits: /status: ?404|404 Not Found/i, cause: "not-found" },
];

/** Why there is none; `transient` and `unknown` are not for this recognizer to say. */
function causeOf(
  { state, says }: ArtifactTrouble,
  down: Down,
  steady: "yes" | "no" | "unknown",
): Cause | "transient" | "unknown" {
  if (state === "refused") return refusals.find((row) => row.fits.test(says))?.cause ?? "refused";
  if (down !== undefined) return "source-controller-down";
  return steady === "yes" ? "unreachable" : steady === "no" ? "transient" : "unknown";
}

/** A source-controller that is not Ready; undefined if one runs or none is known. */
function downOf(pods: readonly PodView[] | undefined): Down {
  if (pods === undefined) return undefined;
  const own = sourceControllersOf(pods);
  return own.some((pod) => pod.ready && pod.deletedMs === undefined) ? undefined : own[0];
}

/** Whether the control plane was steady around this. */
function steadiness(
  controlPlane: ControlPlaneView | undefined,
  trouble: ArtifactTrouble,
  asOfMs: number,
): "yes" | "no" | "unknown" {
  if (controlPlane === undefined) return "unknown";
  if (signNear(controlPlane, trouble.sinceMs, asOfMs) !== undefined) return "no";
  return controlPlane.cut ? "unknown" : "yes";
}

function findingOf(trouble: ArtifactTrouble, cause: Cause, down: Down): Finding {
  const { object, says, sinceMs, line } = trouble;
  const isDown = cause === "source-controller-down";
  const { kind = "Source", key = "" } = object.source ?? {};
  return {
    objects: [object.ref],
    says: `${object.key} cannot have its artifact (${cause}).`,
    facts: {
      cause,
      message: oneLine(says, 200),
      source: `${kind}/${key}`,
      sourceKind: kind.toLowerCase(),
      sourceName: key.split("/")[1] ?? "",
      namespace: key.split("/")[0] ?? object.namespace,
    },
    cites: [
      citeReady(object),
      ...(line === undefined ? [] : [{ says: oneLine(line.message, 160), place: line.place }]),
      ...(isDown && down !== undefined
        ? [citePod(down, `Source-controller ${down.key} is not Ready`)]
        : []),
    ],
    since: stamp(sinceMs),
    causes: [`${kind}/${key}`],
  };
}
