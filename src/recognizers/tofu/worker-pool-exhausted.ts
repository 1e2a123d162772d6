import type { Knowledge } from "../../evidence/knowledge.ts";
import { type PoolView, poolsOf } from "../../evidence/queue.ts";
import { citeLine, citeReady, citeWorkers } from "../cites.ts";
import { type Cite, defineRecognizer, type Finding, type Undecided, verdictOf } from "../define.ts";
import { missing } from "../judge.ts";
import { count, HARMLESS, MINUTE_MS, stampOf } from "../words.ts";

/** Every worker is held while something is due. */
export const workerPoolExhausted = defineRecognizer({
  id: "tofu/worker-pool-exhausted",
  since: "0.1.0",
  maturity: "trial",
  severity: "failure",
  summary: "Checks for a controller whose workers are all held while an object is due.",
  plural: "controllers have no worker left",
  needs: ["terraforms", "pods", "leadership", "activity"],
  wants: ["nodes", "sources", "calls", "controlPlane", "unread"],
  lookAlikes: [
    {
      id: "tofu/leader-shutting-down",
      tellApart: "There the leader was told to stop and takes nothing new.",
    },
    {
      id: "tofu/source-moved-on-unseen",
      tellApart: "There a worker is free and the object is not looked at all the same.",
    },
  ],
  specialises: ["tofu/source-moved-on-unseen"],
  accompanies: ["tofu/reconcile-parked", "flux/artifact-fetch-transient"],

  recognize(known, { asOfMs }) {
    const pools = poolsOf(known, asOfMs);
    const full = pools.filter((pool) => pool.held >= pool.maximum);
    const starved = full.filter((pool) => waiting(pool) > 0);
    const [first] = pools;
    const why =
      full.length > 0
        ? "Every worker is held, but nothing that is due waits for one."
        : `${first?.held ?? 0} of ${count(first?.maximum ?? 0, "worker")} are held.`;
    const undecided = pools.filter((pool) => mayBeFull(pool, known.activity)).map(undecidedOf);
    return verdictOf(starved.map(findingOf), undecided, why);
  },

  remedies: [
    {
      do: "End what holds the workers: see the findings on {heldBy}.",
      look: true,
      risk: "read-only",
      precondition: "None.",
      effect: "Each worker that is freed takes the next object.",
      price: HARMLESS,
      undo: "Not needed.",
      verify: "Active workers fall below the maximum.",
    },
    {
      do: "If only long applies hold them, raise --concurrent (now {maximum}).",
      onlyIf: "onlyRuns",
      risk: "disruptive",
      precondition: "No apply that may not be cut is under way: the flag restarts the controller.",
      effect: "More objects are worked on at once.",
      price: "More runners at once; the restart cuts applies.",
      undo: "Lower it again.",
      verify: "Objects that are due are looked at within a minute.",
    },
  ],
  doesNotHelp: [
    "Raising --concurrent for calls or downloads that hang: they hold the new workers too.",
    "Annotating the objects that wait: they are due already.",
  ],
  doc: {
    meaning: "As many passes are under way as there are workers, so nothing else is looked at.",
    impact: "Objects that look healthy are at an old revision; drift is not seen.",
    symptoms: [
      "controller_runtime_active_workers equals controller_runtime_max_concurrent_reconciles.",
      "Objects are Ready=True at an old revision.",
    ],
    limits:
      "A queue depth above 0 alone proves nothing: keys that are parked queue again. Without " +
      "metrics only passes that the log shows are counted.",
  },
  firstSeen: "2026-07-03",
  lastVerified: { on: "2026-11-30", against: "tofu-controller 0.16.5, Kubernetes 1.36" },
});

/** How many due keys wait: each held key may itself be in the queue once more. */
function waiting(pool: PoolView): number {
  return Math.max((pool.depth ?? 0) - pool.held, pool.due.length, 0);
}

/** Passes that began before the log does are not counted, and a due object may wait for them. */
function mayBeFull(pool: PoolView, { passes }: Knowledge["activity"]): boolean {
  if (pool.by === "metrics" || pool.held >= pool.maximum || waiting(pool) === 0) return false;
  const startedMs = pool.controller?.startedMs ?? 0;
  return passes !== undefined && passes.covered.fromMs - startedMs > MINUTE_MS;
}

function undecidedOf(pool: PoolView): Undecided {
  return {
    objects: pool.due.map(({ object }) => object.ref),
    why: "Objects are due and not looked at; the log begins too late to tell who holds workers.",
    missing: [missing("workers")],
  };
}

function findingOf(pool: PoolView): Finding {
  const parts = {
    "parked calls": pool.parked.length,
    "artifact downloads": pool.fetching.length,
    runs: pool.running.length,
  };
  const heldBy = Object.entries(parts)
    .filter(([, amount]) => amount > 0)
    .map(([name, amount]) => `${amount} ${name}`);
  const holders = [...pool.parked, ...pool.running].map(({ object }) => object.ref);
  const due = pool.due.map(({ object }) => object.ref);
  const pod = pool.controller?.pod;
  const words = heldBy.length === 0 ? "what is not known" : heldBy.join(", ");
  return {
    objects: [pod?.ref ?? "Pod/controller", ...due],
    says:
      `All ${pool.maximum} workers are held by ${words}; ` +
      `${count(waiting(pool), "due object waits", "due objects wait")}.`,
    facts: {
      held: pool.held,
      maximum: pool.maximum,
      heldBy: heldBy.length === 0 ? ["unknown"] : heldBy,
      parked: pool.parked.length,
      downloads: pool.fetching.length,
      runs: pool.running.length,
      onlyRuns: pool.parked.length === 0 && pool.fetching.length === 0 && pool.running.length > 0,
      waiting: waiting(pool),
      due: pool.due.map(({ object }) => object.key),
      ...(pool.depth === undefined ? {} : { queueDepth: pool.depth }),
    },
    cites: citesOf(pool),
    since: stampOf(pool.due[0]?.sinceMs),
    causes: [...holders, ...pool.fetching.map((each) => each.ref)],
  };
}

function citesOf(pool: PoolView): Cite[] {
  const passes = [...pool.parked, ...pool.running].flatMap(({ pass }) => pass ?? []).slice(0, 3);
  return [
    ...(pool.workers === undefined ? [] : [citeWorkers(pool.workers)]),
    ...passes.map((pass) => citeLine(pass.last, `Last line of ${pass.object}: `)),
    ...pool.due.slice(0, 3).map(({ object, why }) => ({ ...citeReady(object), says: why })),
  ];
}
