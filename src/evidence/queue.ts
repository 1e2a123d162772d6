import { artifactTroubles } from "./artifacts.ts";
import { type ControllerView, leaderFor } from "./controllers.ts";
import type { Knowledge } from "./knowledge.ts";
import { type CallView, callsInProgress, type ParkedFacts } from "./parked.ts";
import type { SourceView } from "./sources.ts";
import type { TerraformView } from "./terraforms.ts";
import type { WorkersView } from "./workers.ts";

/** How a controller's workers are held, and what waits for one. */
export interface PoolView {
  readonly controller: ControllerView | undefined;
  readonly maximum: number;
  readonly held: number;
  /** Whether that is by metrics, or as many as the log shows in the middle of a pass. */
  readonly by: "metrics" | "log";
  readonly depth: number | undefined;
  readonly parked: readonly CallView[];
  readonly fetching: readonly TerraformView[];
  readonly running: readonly CallView[];
  /** Objects that are due for more than a minute and nobody looks at. */
  readonly due: readonly DueView[];
  readonly workers: WorkersView | undefined;
}

export interface DueView {
  readonly object: TerraformView;
  readonly sinceMs: number;
  readonly why: string;
}

/** An object is looked at within moments of being due; after this it waits. */
const PATIENCE_MS = 60_000;

/** One for each controller that leads, as far as metrics or log tell of it. */
export function poolsOf(facts: ParkedFacts, asOfMs: number): PoolView[] {
  const { passes, workers } = facts.activity;
  const calls = callsInProgress(facts, asOfMs);
  const troubles = artifactTroubles(
    { ...facts, ...(passes === undefined ? {} : { passes }) },
    asOfMs,
  );
  const fetching = troubles.filter((each) => each.state === "fetching").map(({ object }) => object);
  const due = dueOf(facts, asOfMs);
  const of = (controller: ControllerView | undefined) => {
    const isOurs = ({ object }: { readonly object: TerraformView }) => {
      const leader = leaderFor(facts.leadership, object.namespace)?.controller;
      return controller === undefined || leader === undefined || leader === controller;
    };
    return {
      controller,
      parked: calls.filter((each) => each.verdict === "parked").filter(isOurs),
      fetching: fetching.filter((object) => isOurs({ object })),
      running: calls
        .filter(({ verdict, object }) => verdict === "running" && !fetching.includes(object))
        .filter(isOurs),
      due: due.filter(isOurs),
    };
  };
  if (workers !== undefined) {
    return workers.map((each) => ({
      ...of(each.controller),
      ...{ maximum: each.maximum, held: each.active },
      ...{ by: "metrics" as const, depth: each.depth, workers: each },
    }));
  }
  const held = [...(passes?.byObject.values() ?? [])].filter((pass) => !pass.ended).length;
  return facts.leadership.leaders.map(({ controller }) => ({
    ...of(controller),
    ...{ maximum: controller.concurrent, held },
    ...{ by: "log" as const, depth: undefined, workers: undefined },
  }));
}

/** What the gate would let through and what the log has not seen since it became due. */
export function dueOf(
  facts: Pick<ParkedFacts, "terraforms" | "sources"> & {
    readonly activity?: Knowledge["activity"];
  },
  asOfMs: number,
): DueView[] {
  return facts.terraforms.flatMap((object) => {
    if (object.suspended || object.stalled?.status === "True") return [];
    const found = dueSince(object, facts.sources);
    if (found === undefined || asOfMs - found.sinceMs < PATIENCE_MS) return [];
    const pass = facts.activity?.passes?.byObject.get(object.key);
    if (pass !== undefined && (!pass.ended || pass.last.atMs >= found.sinceMs)) return [];
    if (object.inCall !== undefined && pass === undefined) return [];
    return [{ object, ...found }];
  });
}

function dueSince(
  object: TerraformView,
  sources: readonly SourceView[] | undefined,
): Omit<DueView, "object"> | undefined {
  const requestedMs = Date.parse(object.requestedAt ?? "");
  if (object.requestedAt !== object.handledAt && !Number.isNaN(requestedMs)) {
    return { sinceMs: requestedMs, why: "A look was asked for." };
  }
  const source = sourceOf(object, sources);
  if (
    source?.revision !== undefined &&
    source.updatedMs !== undefined &&
    source.revision !== object.attemptedRevision
  ) {
    return { sinceMs: source.updatedMs, why: "Its source has a newer revision." };
  }
  if (object.pendingPlan !== undefined || object.ready?.status !== "True") return undefined;
  const { intervalMs, lastSuccessMs } = object;
  if (intervalMs === undefined || lastSuccessMs === undefined) return undefined;
  return { sinceMs: lastSuccessMs + intervalMs, why: "Its interval has passed." };
}

/** The source that an object takes its code from. */
export function sourceOf(
  object: TerraformView,
  sources: readonly SourceView[] | undefined,
): SourceView | undefined {
  return sources?.find(
    (each) => each.kind === object.source?.kind && each.key === object.source.key,
  );
}
