import { COLLECT_FINALIZER, OPERATION } from "../../../api/cluster-names.ts";
import type { ClusterKind, ClusterObject } from "../../../ports/cluster.ts";
import { namespaced, textAt } from "../fields.ts";
import { type MigrationFacts, replicasOf } from "./facts.ts";
import { hasEnded, holderOf, isNigaris, lockOf, needlessFinalizers, ownerOf } from "./objects.ts";

/** What a controller left behind and the next one has no use for. Never anything with a state. */
export type Removal =
  | { readonly does: "delete"; readonly kind: ClusterKind; readonly object: ClusterObject }
  | {
      readonly does: "take-finalizers";
      readonly kind: ClusterKind;
      readonly object: ClusterObject;
      readonly finalizers: readonly string[];
    };

export interface Leftovers {
  /** Why nothing may be removed now; empty: all below may. */
  readonly refusals: readonly string[];
  readonly remove: readonly Removal[];
  /** What stays although it looks like a leftover, and why. */
  readonly kept: readonly { readonly about: string; readonly why: string }[];
}

/** What tofu-controller left, for `migrate finish`. */
export function upstreamLeftovers(facts: MigrationFacts): Leftovers {
  const { certificates, pods, terraforms } = facts;
  const remove: Removal[] = certificates.map((object) => ({
    does: "delete",
    kind: "Secret",
    object,
  }));
  const kept: { about: string; why: string }[] = [];
  for (const pod of pods.filter((each) => !isNigaris(each) && isRunnerOfUpstream(each))) {
    const why = mayStillWrite(pod, facts);
    if (why === undefined) remove.push({ does: "delete", kind: "Pod", object: pod });
    else kept.push({ about: `Pod ${namespaced(pod)}`, why });
  }
  for (const object of terraforms) {
    const finalizers = needlessFinalizers(object, terraforms);
    if (finalizers.length > 0) {
      remove.push({ does: "take-finalizers", kind: "Terraform", object, finalizers });
    }
  }
  return { refusals: upstreamLives(facts), remove, kept };
}

function isRunnerOfUpstream({ metadata }: ClusterObject): boolean {
  const owner = metadata.ownerReferences?.find(({ kind }) => kind === "Terraform");
  return owner !== undefined && metadata.name === `${owner.name}-tf-runner`;
}

/**
 * An apply always holds its state's lock; where no lock can be seen, only the end of its container
 * counts.
 */
function mayStillWrite(pod: ClusterObject, facts: MigrationFacts): string | undefined {
  if (hasEnded(pod)) return undefined;
  const owner = ownerOf(pod, facts.terraforms);
  const lock = owner === undefined ? "elsewhere" : lockOf(owner, facts);
  if (lock === "elsewhere") {
    return (
      "its container runs, and whether its state is locked cannot be seen from here; delete it " +
      "once nothing is applied in it"
    );
  }
  const holder = holderOf(lock);
  return holder === undefined
    ? undefined
    : `its container runs, and its state is locked by ${holder}`;
}

function upstreamLives({ controllers, leading, gaps }: MigrationFacts): string[] {
  const running = controllers
    .filter((each) => replicasOf(each) > 0)
    .map(
      (each) =>
        `Deployment ${namespaced(each)} has ${replicasOf(each)} replicas; scale it to zero first`,
    );
  const leads =
    leading.is === "tofu-controller"
      ? [
          `${leading.identity} holds Lease ${leading.lease}; once it is stopped that runs out ` +
            "within a minute",
        ]
      : [];
  return [...running, ...leads, ...unseen(gaps)];
}

/** Nothing is removed on the word of what could not be read. */
function unseen(gaps: MigrationFacts["gaps"]): string[] {
  return gaps.map(({ what, why }) => `It is not known what there is of ${what}: ${why}`);
}

/** What Nigari left, for `migrate back`. */
export function ownLeftovers(facts: MigrationFacts): Leftovers {
  const { leading, pods, runSecrets, rescued, gaps } = facts;
  const own = pods.filter(isNigaris);
  const refusals = [
    ...(leading.is === "nigari"
      ? [`${leading.identity} leads; scale Nigari's controller to zero first`]
      : []),
    ...own
      .filter((each) => each.metadata.annotations?.[OPERATION] === "apply" && !hasEnded(each))
      .map(
        (each) => `Pod ${namespaced(each)} carries out an apply; let it end, and Nigari collect it`,
      ),
    ...rescued.map(
      (each) =>
        `Secret ${namespaced(each)} holds a state that a run could not write; accept or drop it ` +
        'first ("nigari state list")',
    ),
    ...unseen(gaps),
  ];
  const remove = own.flatMap((object): Removal[] => {
    const { finalizers = [] } = object.metadata;
    const held = finalizers.filter((each) => each === COLLECT_FINALIZER);
    const free: Removal[] =
      held.length === 0 ? [] : [{ does: "take-finalizers", kind: "Pod", object, finalizers: held }];
    return [...free, { does: "delete", kind: "Pod", object }];
  });
  const secrets = runSecrets
    .filter((each) => textAt(each, "metadata", "name").includes("-tf-runner"))
    .map((object): Removal => ({ does: "delete", kind: "Secret", object }));
  return { refusals, remove: [...remove, ...secrets], kept: [] };
}

export function removalText(removal: Removal): string {
  const about = `${removal.kind} ${namespaced(removal.object)}`;
  return removal.does === "delete"
    ? `delete ${about}`
    : `take ${removal.finalizers.join(", ")} from ${about}`;
}
