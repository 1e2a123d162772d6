import type { JudgedFinding } from "./diagnose.ts";
import { clock, count } from "./words.ts";

/** Findings that have one cause, root first, with their time line. */
export interface Incident {
  /** Stable while the cause is the same, such as `node-b-2026-11-30`. */
  readonly id: string;
  readonly root: JudgedFinding;
  /** Root first, then what follows from it; folded ones are not among them. */
  readonly findings: readonly JudgedFinding[];
  readonly timeline: readonly TimelineEntry[];
  /** How many Terraform objects it strikes, those that only wait among them. */
  readonly struck: number;
}

export interface TimelineEntry {
  readonly atMs: number;
  readonly says: string;
}

/** Two findings of this distance in time may have one cause where no object joins them. */
const NEAR_MS = 10 * 60_000;

/**
 * Joins findings whose causes or objects meet. A group with a failure is an incident; two groups
 * stay two. Waits and risks that hang on no failure are in none.
 */
export function incidentsOf(findings: readonly JudgedFinding[], asOfMs: number): Incident[] {
  const shown = findings.filter((each) => each.foldedInto === undefined);
  return groups(shown)
    .filter((group) => group.some((each) => each.recognizer.severity === "failure"))
    .map((group) => incidentOf(group, asOfMs))
    .sort((one, two) => two.struck - one.struck || startOf(one) - startOf(two));
}

const startOf = (incident: Incident) => incident.timeline[0]?.atMs ?? 0;

/** Connected groups, found by uniting each finding with those that it hangs on. */
function groups(findings: readonly JudgedFinding[]): JudgedFinding[][] {
  const parent = findings.map((_, index) => index);
  const top = (index: number): number => {
    const up = parent[index] ?? index;
    return up === index ? index : top(up);
  };
  findings.forEach((finding, index) => {
    findings.forEach((other, otherIndex) => {
      if (index !== otherIndex && hangsOn(finding, other)) parent[top(index)] = top(otherIndex);
    });
  });
  const found = new Map<number, JudgedFinding[]>();
  findings.forEach((finding, index) => {
    const group = found.get(top(index));
    if (group === undefined) found.set(top(index), [finding]);
    else group.push(finding);
  });
  return [...found.values()];
}

/** One names the other's object as its cause, or both speak of the same object and one failed. */
function hangsOn(finding: JudgedFinding, other: JudgedFinding): boolean {
  if (finding.causes.some((cause) => other.objects.includes(cause))) return true;
  const bothFailed = [finding, other].every((each) => each.recognizer.severity === "failure");
  return bothFailed && finding.objects.some((object) => other.objects.includes(object));
}

function incidentOf(group: readonly JudgedFinding[], asOfMs: number): Incident {
  const root = rootOf(group);
  const rest = group.filter((each) => each !== root).sort((one, two) => depth(one) - depth(two));
  const findings = [root, ...rest];
  const objects = new Set(findings.flatMap((each) => each.objects));
  const day = new Date(timeOf(root) ?? asOfMs).toISOString().slice(0, 10);
  return {
    id: `${slug(root.objects[0] ?? root.recognizer.id)}-${day}`,
    root,
    findings,
    timeline: timelineOf(findings),
    struck: [...objects].filter((object) => object.startsWith("Terraform/")).length,
  };
}

/** From what lies deepest up: nodes, the control plane, the network, then objects. */
const areas = ["node/", "control-plane/", "network/", "flux/", "tofu/"];
/** Within the objects' area: what brings others about comes before what follows from it. */
const order = [
  "tofu/reconcile-parked",
  "tofu/leader-shutting-down",
  "tofu/worker-pool-exhausted",
  "tofu/state-lock-orphaned",
];

function depth({ recognizer }: JudgedFinding): number {
  const area = areas.findIndex((each) => recognizer.id.startsWith(each));
  const place = order.indexOf(recognizer.id);
  const grade = { failure: 0, risk: 200, wait: 400 }[recognizer.severity];
  return grade + (area < 0 ? areas.length : area) * 20 + (place < 0 ? order.length : place);
}

/** What hangs on nothing else here and brings others about; of several the deepest, the first. */
function rootOf(group: readonly JudgedFinding[]): JudgedFinding {
  const isCause = (each: JudgedFinding) =>
    each.recognizer.severity === "failure" ||
    group.some((other) => other !== each && hangsOn(other, each));
  const free = group.filter(
    (each) => isCause(each) && !group.some((other) => other !== each && causes(other, each)),
  );
  const candidates = free.length > 0 ? free : group;
  const rank = (each: JudgedFinding) =>
    areas.findIndex((area) => each.recognizer.id.startsWith(area)) * 1_000 + depth(each);
  return candidates.toSorted((one, two) => {
    const byRank = rank(one) - rank(two);
    return byRank !== 0 ? byRank : (timeOf(one) ?? 0) - (timeOf(two) ?? 0);
  })[0] as JudgedFinding;
}

const causes = (cause: JudgedFinding, finding: JudgedFinding) =>
  finding.causes.some((each) => cause.objects.includes(each));

const timeOf = (finding: JudgedFinding) =>
  finding.since === undefined ? undefined : Date.parse(finding.since);

/** Moments of all findings by time; what several share is told once. */
function timelineOf(findings: readonly JudgedFinding[]): TimelineEntry[] {
  const shared = new Map<string, { atMs: number; lastMs: number; says: string; who: string[] }>();
  for (const finding of findings) {
    for (const { atMs, says, who } of finding.moments ?? []) {
      const key = [...shared.keys()].find((each) => {
        const entry = shared.get(each);
        return entry?.says === says && who !== undefined && Math.abs(entry.lastMs - atMs) < NEAR_MS;
      });
      const entry = key === undefined ? undefined : shared.get(key);
      if (entry === undefined) {
        const names = who === undefined ? [] : [who];
        shared.set(`${atMs} ${says} ${shared.size}`, { atMs, lastMs: atMs, says, who: names });
      } else {
        entry.atMs = Math.min(entry.atMs, atMs);
        entry.lastMs = Math.max(entry.lastMs, atMs);
        if (who !== undefined && !entry.who.includes(who)) entry.who.push(who);
      }
    }
  }
  return [...shared.values()]
    .sort((one, two) => one.atMs - two.atMs || (one.says < two.says ? -1 : 1))
    .map(({ atMs, lastMs, says, who }) => {
      const until = lastMs - atMs >= 1_000 ? ` (until ${clock(lastMs)})` : "";
      if (who.length === 0) return { atMs, says };
      const names = who.length > 3 ? count(who.length, "object") : who.join(", ");
      return { atMs, says: `${says}: ${names}${until}` };
    });
}

const slug = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
