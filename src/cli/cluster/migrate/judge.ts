import type { ClusterObject } from "../../../ports/cluster.ts";
import { listAt, namespaced } from "../fields.ts";
import { lostFields } from "./definition.ts";
import { type MigrationFacts, replicasOf } from "./facts.ts";
import { judgeObject } from "./judge-object.ts";
import { isNigaris } from "./objects.ts";

/** What a person should know before Nigari takes a cluster over. */
export interface Finding {
  /** blocks: mend it first; care: read it first; note: nothing to do. */
  readonly weight: "blocks" | "care" | "note";
  readonly code: string;
  /** What it is about, such as `Terraform apps/web`. */
  readonly about: string;
  readonly says: string;
  readonly mend: string;
}

/** The heaviest first. `ours`: the definition of the kind that comes with this version. */
export function judgeMigration(facts: MigrationFacts, ours: unknown): Finding[] {
  const findings = [
    ...judgeDefinition(facts, ours),
    ...facts.controllers.flatMap(judgeController),
    ...unknownController(facts),
    ...facts.terraforms.flatMap((each) => judgeObject(each, facts)),
    ...leftovers(facts),
  ];
  const order = ["blocks", "care", "note"];
  return findings.sort((a, b) => order.indexOf(a.weight) - order.indexOf(b.weight));
}

const FIELDS_NAMED = 10;

function judgeDefinition({ definition, terraforms }: MigrationFacts, ours: unknown): Finding[] {
  if (definition === undefined) return [];
  const about = `CustomResourceDefinition ${definition.metadata.name}`;
  const found: Finding[] = [];
  const lost = lostFields(definition, ours);
  if (lost.length > 0) {
    found.push({
      ...{ weight: "blocks", code: "definition-fields", about },
      says: `has fields that this version would drop: ${lost.slice(0, FIELDS_NAMED).join(", ")}`,
      mend: "see that no object uses them, and take a version of Nigari that knows them",
    });
  }
  if (listAt(definition, "status", "storedVersions").includes("v1alpha1")) {
    found.push({
      ...{ weight: "note", code: "stored-versions", about },
      says: "says that objects may be stored as v1alpha1",
      mend: "both versions are served, with the same fields",
    });
  }
  const pruner = definition.metadata.labels?.["kustomize.toolkit.fluxcd.io/name"];
  if (pruner !== undefined && terraforms.length > 0) {
    found.push({
      ...{ weight: "care", code: "definition-pruned", about },
      says:
        `is applied by Flux's Kustomization ${pruner}, which removes it, and every Terraform ` +
        "object with it, when its manifest leaves Git",
      mend:
        "annotate it with kustomize.toolkit.fluxcd.io/prune=disabled before you take " +
        "tofu-controller out of Git",
    });
  }
  return found;
}

function judgeController(deployment: ClusterObject): Finding[] {
  const about = `Deployment ${namespaced(deployment)}`;
  const { labels = {}, namespace, name } = deployment.metadata;
  const release = labels["helm.toolkit.fluxcd.io/name"];
  const found: Finding[] = [];
  if (replicasOf(deployment) > 0) {
    const keeper =
      release === undefined
        ? ""
        : `, and in the values of HelmRelease ${release}, which would scale it up again`;
    found.push({
      ...{ weight: "care", code: "controller-runs", about },
      says: `runs (replicas: ${replicasOf(deployment)}); Nigari starts nothing while it leads`,
      mend: `kubectl -n ${namespace} scale deployment ${name} --replicas=0${keeper}`,
    });
  }
  if (release === undefined && labels["app.kubernetes.io/managed-by"] !== "Helm") {
    found.push({
      ...{ weight: "care", code: "static-manifests", about },
      says: "was not installed by Helm, so it came from static manifests",
      mend:
        'never "kubectl delete -f" those, nor "tfctl uninstall": the definition of the kind is ' +
        "among them, and every Terraform object goes with it",
    });
  }
  return found;
}

function unknownController({ controllers, leading }: MigrationFacts): Finding[] {
  if (leading.is !== "tofu-controller" || controllers.length > 0) return [];
  return [
    {
      ...{ weight: "care", code: "controller-runs", about: `Lease ${leading.lease}` },
      says: `is held by ${leading.identity}, of which no Deployment is known`,
      mend: "find out what runs tofu-controller, and stop that",
    },
  ];
}

function leftovers({ certificates, pods }: MigrationFacts): Finding[] {
  const old = pods.filter((each) => !isNigaris(each)).length;
  if (certificates.length + old === 0) return [];
  return [
    {
      ...{ weight: "note", code: "leftovers", about: "tofu-controller" },
      says: `has left TLS Secrets (${certificates.length}) and runner pods (${old})`,
      mend: '"nigari migrate finish" removes them once tofu-controller is stopped',
    },
  ];
}
