import type { TerraformSpec } from "../../../api/terraform.ts";
import { fieldsInTheWay } from "../../../domain/fields.ts";
import type { ClusterObject } from "../../../ports/cluster.ts";
import { at, condition, namespaced, textAt } from "../fields.ts";
import type { MigrationFacts } from "./facts.ts";
import type { Finding } from "./judge.ts";
import { hasEnded, holderOf, isNigaris, lockOf, needlessFinalizers } from "./objects.ts";

/** Deletions take their time; one that has taken so long is stuck, in ms. */
const STUCK_MS = 600_000;

type Found = Omit<Finding, "about">;

/** What there is to know of one Terraform object before it changes hands. */
export function judgeObject(object: ClusterObject, facts: MigrationFacts): Finding[] {
  const about = `Terraform ${namespaced(object)}`;
  return [
    ...refusedFields(object),
    ...lock(object, facts),
    ...underWay(object, facts),
    ...pendingPlan(object, facts),
    ...deletion(object, facts),
    ...needless(object, facts),
    ...strangeTo(object),
  ].map((each) => ({ ...each, about }));
}

function refusedFields({ spec }: ClusterObject): Found[] {
  return fieldsInTheWay((spec ?? {}) as TerraformSpec, true).map(({ path, mend }) => ({
    ...{ weight: "blocks", code: "field-refused" },
    says: `uses ${path}, which is not obeyed, so it would be left untouched`,
    mend,
  }));
}

function lock(object: ClusterObject, facts: MigrationFacts): Found[] {
  const found = lockOf(object, facts);
  const holder = found === "elsewhere" ? undefined : holderOf(found);
  if (holder === undefined) return [];
  return [
    {
      ...{ weight: "care", code: "lock-held" },
      says: `has a state that is locked by ${holder}`,
      mend:
        "let that run end before tofu-controller is scaled down; Nigari tells of a lock that is " +
        "left over, with the way to release it",
    },
  ];
}

function underWay(object: ClusterObject, { pods }: MigrationFacts): Found[] {
  const { namespace, name } = object.metadata;
  const runs = pods.some(
    (pod) =>
      !isNigaris(pod) &&
      pod.metadata.namespace === namespace &&
      pod.metadata.name === `${name}-tf-runner` &&
      !hasEnded(pod),
  );
  const ready = condition(object, "Ready");
  const isMoving =
    textAt(ready, "status") === "Unknown" && textAt(ready, "reason") === "Progressing";
  if (!runs || !isMoving) return [];
  return [
    {
      ...{ weight: "care", code: "under-way" },
      says: `is worked on by tofu-controller ("${textAt(ready, "message")}")`,
      mend: "let it end first; an apply that is cut off leaves its lock behind",
    },
  ];
}

function pendingPlan(object: ClusterObject, { plans }: MigrationFacts): Found[] {
  const pending = textAt(object, "status", "plan", "pending");
  // Of one that Nigari has looked at already, Nigari tells.
  if (pending === "" || at(object, "status", "lastRun") !== undefined) return [];
  const isStored = plans.some(
    ({ metadata }) =>
      metadata.namespace === object.metadata.namespace &&
      metadata.annotations?.savedPlan === pending,
  );
  return [
    {
      ...{ weight: "note", code: "pending-plan" },
      says: `has plan ${pending} waiting for approval`,
      mend: isStored
        ? "it can be approved as before; if it does not fit any more, a new one is made and shown"
        : "its Secret is gone, so a new one is made and shown",
    },
  ];
}

function deletion(object: ClusterObject, { nowMs }: MigrationFacts): Found[] {
  const { deletionTimestamp, finalizers = [] } = object.metadata;
  if (deletionTimestamp === undefined) return [];
  const isStuck = nowMs - Date.parse(deletionTimestamp) > STUCK_MS;
  const destroys = at(object, "spec", "destroyResourcesOnDeletion") === true;
  return [
    {
      ...(isStuck
        ? { weight: "care" as const, code: "deletion-stuck" }
        : { weight: "note" as const, code: "deletion" }),
      says: `is being deleted since ${deletionTimestamp} (finalizers: ${finalizers.join(", ")})`,
      mend: destroys
        ? "Nigari destroys its resources, as the spec says, and lets it go; to keep them, " +
          "annotate it with nigari.dev/deletion-policy=orphan first"
        : "Nigari lets it go, and its resources stay",
    },
  ];
}

function needless(object: ClusterObject, { terraforms }: MigrationFacts): Found[] {
  const finalizers = needlessFinalizers(object, terraforms);
  if (finalizers.length === 0) return [];
  return [
    {
      ...{ weight: "note", code: "needless-finalizer" },
      says: `is held for dependants that there are not (${finalizers.join(", ")})`,
      mend: '"nigari migrate finish" takes that away',
    },
  ];
}

/** What tofu-controller has and Nigari has not, or does otherwise. */
function strangeTo(object: ClusterObject): Found[] {
  const { labels = {}, annotations = {} } = object.metadata;
  const image = textAt(object, "spec", "runnerPodTemplate", "spec", "image");
  const found: Found[] = [];
  if (image !== "") {
    found.push({
      ...{ weight: "note", code: "own-image" },
      says: `has a runner image of its own, ${image}`,
      mend:
        "nothing, if it is a glibc image with tofu or terraform: Nigari brings its runner along; " +
        "else the object says what to change",
    });
  }
  if (Object.keys(labels).some((each) => /branch-planner|\/pr-/.test(each))) {
    found.push({
      ...{ weight: "care", code: "branch-planner" },
      says: "belongs to the branch planner, which Nigari does not have",
      mend: "nobody removes it when its pull request is closed, so delete it or leave the planner",
    });
  }
  if (annotations["break-the-glass.tf-controller/requestedAt"] !== undefined) {
    found.push({
      ...{ weight: "care", code: "break-the-glass" },
      says: "asks for a break-the-glass session, which Nigari does not have",
      mend: "remove the annotation",
    });
  }
  return found;
}
