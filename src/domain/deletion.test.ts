import { describe, expect, test } from "vitest";
import { FINALIZER } from "../api/names.ts";
import type { Terraform } from "../api/terraform.ts";
import { OneObject } from "../testing/one-object.ts";

/**
 * Every deletion ends. The matrix: what was before × what is asked for × what stands in the way.
 * Of each cell it is told beforehand what must come of it, by rules that know nothing of the steps.
 */

const CODE = { state: "missing", message: "GitRepository default/code does not exist" } as const;
const VARS = { state: "failed", reason: "VarsGenerationFailed", message: "Secret vars" } as const;
const aside = { id: "v9", runId: "run-1", serial: 9, at: "2026-01-01T00:00:00Z" };
const head = { state: "present", serial: 7, lineage: "L", runId: "run-1" } as const;
const spec = { approvePlan: "auto", destroyResourcesOnDeletion: true };

/** What was before the deletion, and whether it made resources. */
const pasts: Record<string, { make: () => OneObject; made: boolean }> = {
  "taken over from another controller, never looked at": {
    make() {
      const object = new OneObject(spec);
      const { terraform } = object.observed;
      const metadata = { ...terraform.metadata, finalizers: [FINALIZER] };
      object.observed.terraform = { ...terraform, metadata };
      return object;
    },
    made: false,
  },
  "its plan failed": {
    make() {
      const object = new OneObject(spec);
      object.settle();
      object.fails();
      return object;
    },
    made: false,
  },
  "its first plan waits for approval": {
    make() {
      const object = new OneObject({ ...spec, approvePlan: "" });
      object.settle();
      object.planned(1);
      return object;
    },
    made: false,
  },
  "its first plan is under way": {
    make() {
      const object = new OneObject(spec);
      object.settle();
      object.run({ stage: "plan", workersAlive: 1 });
      return object;
    },
    made: false,
  },
  applied: { make: applied, made: true },
  "applied, and another plan waits": {
    make() {
      const object = applied();
      object.edit({ approvePlan: "" });
      object.planned(1);
      return object;
    },
    made: true,
  },
  "applied, and another plan is under way": {
    make() {
      const object = applied();
      object.whenDue();
      object.run({ stage: "plan", workersAlive: 1 });
      return object;
    },
    made: true,
  },
  "its first apply is under way": {
    make() {
      const object = new OneObject(spec);
      object.settle();
      object.planned(1);
      object.run({ stage: "apply", workersAlive: 1 });
      return object;
    },
    made: true,
  },
  "its first apply failed on the way": {
    make() {
      const object = new OneObject(spec);
      object.settle();
      object.planned(1);
      object.run({ stage: "apply" });
      object.fails({ stage: "apply", message: "half of it" });
      return object;
    },
    made: true,
  },
  "everything was destroyed before": {
    make() {
      const object = applied();
      object.edit({ destroy: true });
      object.planned(1);
      object.applied();
      return object;
    },
    made: false,
  },
};
function applied(): OneObject {
  const object = new OneObject(spec);
  object.settle();
  object.planned(1);
  object.applied();
  object.observed.state = { ...object.observed.state, head: { ...head, resources: 2 } };
  return object;
}

/** What is asked for: the field of the spec, and the policy beside it. */
const wishes: Record<string, { destroy: boolean; policy?: string }> = {
  "to leave the resources": { destroy: false },
  "to destroy them": { destroy: true },
  "to destroy them, but the policy leaves them": { destroy: true, policy: "orphan" },
};

type Blocks = "always" | "unless orphaned" | "a destroy";
interface Obstacle {
  readonly blocks: Blocks | undefined;
  readonly put: (object: OneObject) => void;
  /** It is itself a sign of resources: also a deletion that knows of none is held up by it. */
  readonly sign?: "of state" | "of something";
  /** What Ready says of it, and the mend it names. */
  readonly says?: RegExp;
  /** Follows the mend. */
  readonly mend?: (object: OneObject) => void;
}
const obstacles: Record<string, Obstacle> = {
  nothing: { blocks: undefined, put: () => {} },
  "the source is gone, its last artifact is kept": {
    blocks: undefined,
    put({ observed }) {
      if (observed.source.state === "ready") observed.lastArtifact = observed.source.artifact;
      observed.source = CODE;
    },
  },
  "the inputs are gone, those of the last run are kept": {
    blocks: undefined,
    put({ observed }) {
      observed.inputs = VARS;
      observed.keptInputs = { digest: "inputs-1" };
    },
  },
  "retries are used up": {
    blocks: undefined,
    put: (object) => edit(object, { remediation: { retries: 1 } }),
  },
  "the source is gone for good": {
    blocks: "a destroy",
    put({ observed }) {
      observed.source = CODE;
      observed.lastArtifact = undefined;
    },
    says: /^False ArtifactFailed: Deletion waits: .*default\/code.*Bring it back/,
    mend: (object) => object.source("main@sha1:ffff"),
  },
  "the inputs are gone for good": {
    blocks: "a destroy",
    put({ observed }) {
      observed.inputs = VARS;
      observed.keptInputs = undefined;
    },
    says: /^False VarsGenerationFailed: Deletion waits: .*Secret vars.*Bring it back/,
    mend(object) {
      object.observed.inputs = { state: "resolved", digest: "inputs-2" };
      object.whenDue();
    },
  },
  "a dependant is there": {
    blocks: "always",
    put({ observed }) {
      observed.dependants = ["default/web"];
    },
    says: /^False DeletionBlockedByDependantsReason: .*Please delete default\/web/,
    mend(object) {
      object.observed.dependants = [];
      object.whenDue();
    },
  },
  "it is suspended": {
    blocks: "unless orphaned",
    put: (object) => edit(object, { suspend: true }),
    says: /^Unknown Suspended: .*nigari resume default\/app/,
    mend: (object) => object.edit({ suspend: false }),
  },
  "a state is kept aside": {
    blocks: "a destroy",
    sign: "of something",
    put({ observed }) {
      observed.state = { ...observed.state, rescued: [aside] };
    },
    says: /^False StateRescued: .*nigari state push default\/app --accept v9/,
    mend(object) {
      object.observed.state = { ...object.observed.state, rescued: [] };
      object.whenDue();
    },
  },
  "the state has vanished": {
    blocks: "a destroy",
    sign: "of state",
    put({ observed }) {
      const former = { serial: 7, lineage: "L", resources: 2 };
      observed.state = { ...observed.state, head: { state: "absent", former } };
    },
    says: /^False StateChanged: .*nigari state rollback default\/app ID/,
    mend(object) {
      const back = { ...head, serial: 8, resources: 2 };
      object.observed.state = { ...object.observed.state, head: back };
      object.whenDue();
    },
  },
  "a stranger holds the lock": {
    blocks: "a destroy",
    put({ observed }) {
      const lock = { id: "l", operation: "OperationTypePlan", who: "ann", created: "2026" };
      observed.state = { ...observed.state, lock: { ...lock, runId: undefined } };
    },
    says: /^False LockHeld: State is locked by ann/,
    mend(object) {
      object.observed.state = { ...object.observed.state, lock: undefined };
      object.whenDue();
    },
  },
  "the spec uses what is not obeyed": {
    blocks: "a destroy",
    put: (object) => edit(object, { breakTheGlass: true }),
    says: /^False FieldNotObeyed: .*spec\.breakTheGlass/,
    mend: (object) => object.edit({ breakTheGlass: false }),
  },
  "the policy is a slip": {
    blocks: "a destroy",
    put: (object) => annotate(object, "Orphan"),
    says: /^False InvalidSpec: .*deletion-policy says "Orphan"/,
    mend(object) {
      const { annotations: _, ...metadata } = object.observed.terraform.metadata;
      object.observed.terraform = { ...object.observed.terraform, metadata };
      object.settle();
    },
  },
};

/** A change that nobody has looked at yet. */
function edit({ observed }: OneObject, change: Partial<Terraform["spec"]>): void {
  const { metadata } = observed.terraform;
  observed.terraform = {
    ...observed.terraform,
    metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 },
    spec: { ...observed.terraform.spec, ...change },
  };
}
function annotate({ observed }: OneObject, policy: string): void {
  const { metadata } = observed.terraform;
  const annotations = { ...metadata.annotations, "nigari.dev/deletion-policy": policy };
  observed.terraform = { ...observed.terraform, metadata: { ...metadata, annotations } };
}

/** Lets whatever goes on come to its end, well. What it started is noted. */
function finish(object: OneObject, started: string[]): void {
  for (let count = 0; count < 12 && !object.gone; count += 1) {
    const run = object.status.run;
    if (run === undefined) return;
    if (run.operation === "apply") {
      started.push(run.destroy === true ? "destroy" : "apply");
      object.applied();
      if (run.destroy === true) {
        const empty = { ...head, serial: 20, resources: 0 };
        object.observed.state = { ...object.observed.state, head: empty };
      }
    } else object.planned(1);
  }
}

const cells = Object.entries(pasts).flatMap(([past, { make, made }]) =>
  Object.entries(wishes).flatMap(([wish, asked]) =>
    Object.entries(obstacles).map(([obstacle, row]) => {
      const orphaned = asked.policy === "orphan" && obstacle !== "the policy is a slip";
      const wanted = asked.destroy && !orphaned;
      const over = past === "everything was destroyed before";
      const destroys = wanted && (made || (row.sign === "of state" && !over));
      const held = destroys || (wanted && row.sign === "of something");
      const blocked =
        row.blocks === "always" ||
        (row.blocks === "unless orphaned" && !orphaned) ||
        (row.blocks === "a destroy" && held);
      return { past, wish, obstacle, make, asked, row, destroys, blocked };
    }),
  ),
);

describe("deletion", () => {
  test.each(cells)("$past; $wish; $obstacle", ({ make, asked, row, ...cell }) => {
    const object = make();
    const { destroyResourcesOnDeletion: _, ...rest } = object.observed.terraform.spec;
    object.observed.terraform = {
      ...object.observed.terraform,
      spec: asked.destroy ? { ...rest, destroyResourcesOnDeletion: true } : rest,
    };
    if (asked.policy !== undefined) annotate(object, asked.policy);
    const hadRun = object.status.run?.operation === "apply";
    row.put(object);
    object.effects.length = 0;
    object.delete();
    const started: string[] = [];
    finish(object, started);
    if (cell.blocked) {
      expect(object.gone).toBe(false);
      expect(object.ready).toMatch(row.says ?? /never/);
      // It says when it looks again, or that a change makes it.
      const last = object.decisions.at(-1);
      const event = /until spec.suspend|Not obeyed/.test(object.ready);
      expect(last?.requeueAfterMs !== undefined || event).toBe(true);
      if (row.blocks !== "always") expect(object.ready).toContain("--orphan");
      row.mend?.(object);
      finish(object, started);
    }
    expect(object.gone, object.ready).toBe(true);
    const expected = [...(hadRun ? ["apply"] : []), ...(cell.destroys ? ["destroy"] : [])];
    expect(started).toEqual(expected);
    const left = object.events.filter((each) => each.startsWith("ResourcesLeft"));
    if (cell.destroys) expect(left).toEqual([]);
    expect(object.observed.keptInputs, "nothing is kept after it").toBeUndefined();
  });

  test("has as many cells as there are ways", () => {
    expect(cells.length).toBe(10 * 3 * 13);
  });

  test("whatever holds it up, the policy lets it go at once", () => {
    for (const [name, { put, blocks }] of Object.entries(obstacles)) {
      if (blocks !== "a destroy" && blocks !== "unless orphaned") continue;
      const object = applied();
      put(object);
      object.delete();
      expect(object.gone, name).toBe(false);
      object.annotate({ "nigari.dev/deletion-policy": "orphan" });
      expect(object.gone, name).toBe(true);
      expect(object.events.at(-1), name).toMatch(/^ResourcesLeft: .*"orphan"/);
      expect(object.status.run, name).toBeUndefined();
    }
  });
});

describe("a destroy that fails", () => {
  test("is tried again for ever, at its times, whatever spec.remediation says", () => {
    const object = applied();
    edit(object, { remediation: { retries: 1 } });
    object.delete();
    for (let count = 0; count < 5; count += 1) {
      object.planned(1);
      object.fails({ stage: "apply", message: "in use" });
      expect(object.ready).toMatch(
        /^False TFExecApplyFailed: error running Destroy: in use\. The del/,
      );
      expect(object.decisions.at(-1)?.requeueAfterMs).toBe(15_000);
      object.after(14_000);
      expect(object.status.run).toBeUndefined();
      object.whenDue();
      expect(object.status.run).toMatchObject({ operation: "plan", destroy: true });
    }
    object.planned(1);
    object.applied();
    expect(object.gone).toBe(true);
  });

  test("with the code of now is tried with the last good one in turn", () => {
    const object = applied();
    if (object.observed.source.state !== "ready") throw new Error("no source");
    const good = object.observed.source.artifact;
    object.observed.lastArtifact = good;
    // The commit that removed the object removed its module too.
    object.observed.source = {
      state: "ready",
      artifact: { ...good, revision: "master/without", digest: "sha256:without" },
    };
    object.delete();
    const tried: (string | undefined)[] = [];
    for (let count = 0; count < 3; count += 1) {
      tried.push(object.status.run?.revision);
      object.fails({ message: "no such folder" });
      object.after(1_000);
      expect(object.status.run, "the pause holds").toBeUndefined();
      object.whenDue();
    }
    expect(tried).toEqual(["master/without", good.revision, "master/without"]);
    expect(object.status.run?.revision).toBe(good.revision);
    object.planned(1);
    expect(object.status.run).toMatchObject({ operation: "apply", revision: good.revision });
    object.applied();
    expect(object.gone).toBe(true);
  });
});

describe("what a destroy will need", () => {
  test("is kept before an apply writes, and as good once it has succeeded", () => {
    const object = new OneObject(spec);
    object.settle();
    object.planned(1);
    expect(object.effects.findLast(({ do: what }) => what === "keep-inputs")).toEqual({
      do: "keep-inputs",
      digest: "inputs-1",
      as: "tried",
    });
    expect(object.status.lastGood).toBeUndefined();
    object.applied();
    expect(object.effects.findLast(({ do: what }) => what === "keep-inputs")).toMatchObject({
      as: "good",
    });
    const { lastGood } = object.status;
    expect(lastGood).toEqual(object.status.settled);
    object.source("master/broken");
    object.planned(1);
    object.fails({ stage: "apply" });
    expect(object.status.settled).toBeUndefined();
    expect(object.status.lastGood).toEqual(lastGood);
  });

  test("holds nothing up if it cannot be kept, and that is told", () => {
    const object = new OneObject(spec);
    object.settle();
    object.observed.failedEffect = {
      effect: "keep-inputs",
      reason: "x",
      message: "They take too much",
      transient: true,
    };
    object.planned(1);
    expect(object.status.run).toMatchObject({ operation: "apply" });
    expect(object.events.at(-1)).toMatch(/^InputsNotKept: .*They take too much/);
  });
});
