import { formatDuration } from "../../api/duration.ts";
import { keyText } from "../../api/kinds.ts";
import { CONDITION, REASON } from "../../api/names.ts";
import type { Terraform } from "../../api/terraform.ts";
import { retryIntervalMs } from "../backoff.ts";
import type { ArtifactFact, DependencyFact } from "../facts.ts";
import { normal, type Outcome, type Pass, parked, waiting, warning } from "../pass.ts";

/**
 * Waits until every object of spec.dependsOn is ready, has what this one builds on, and has its
 * outputs written.
 *
 * May set: Ready False (DependencyNotReady, AccessDenied), Stalled (AccessDenied).
 */
export function dependencies(pass: Pass, artifact: ArtifactFact): Outcome | undefined {
  for (const dependency of pass.observed.dependencies) {
    const name = keyText(dependency);
    if (dependency.denied) return denied(pass, name);
    const message = inTheWay(pass, dependency, artifact);
    if (message === undefined) continue;
    const reason = REASON.dependencyNotReady;
    const known = pass.ready?.reason === reason && pass.ready.message === message;
    const pause = formatDuration(retryIntervalMs(pass.terraform.spec));
    const news = `Dependencies do not meet ready condition, retrying in ${pause}`;
    return {
      ...waiting(pass, `dependencies: ${message}`, { is: "failed", reason, message }),
      after: known ? [] : [normal(reason, news)],
    };
  }
  return undefined;
}

function denied(pass: Pass, name: string): Outcome {
  const message = `cannot access ${name}, cross-namespace references have been disabled`;
  const standing = { is: "stalled", reason: REASON.accessDenied, message } as const;
  return {
    ...parked(pass, `dependencies: ${message}`, standing),
    after: pass.ready?.message === message ? [] : [warning(standing.reason, message)],
  };
}

function inTheWay(
  pass: Pass,
  dependency: DependencyFact,
  artifact: ArtifactFact,
): string | undefined {
  const name = keyText(dependency);
  const { terraform } = dependency;
  if (terraform === undefined) return `unable to get '${name}' dependency: it does not exist`;
  if (dependsOn(terraform, pass.terraform)) {
    return `dependency '${name}' is not ready: it depends on this object in turn; break the circle`;
  }
  const { status, metadata } = terraform;
  const ready = status?.conditions?.find((each) => each.type === CONDITION.ready);
  const seen = status?.observedGeneration === (metadata.generation ?? 0);
  if (!seen || ready?.status !== "True") return `dependency '${name}' is not ready`;
  if (
    sameSource(terraform, pass.terraform) &&
    status?.lastAppliedRevision !== artifact.revision &&
    status?.lastPlannedRevision !== artifact.revision
  ) {
    return `dependency '${name}' is not updated yet`;
  }
  if (dependency.outputsReady === false) {
    const secret = terraform.spec.writeOutputsToSecret?.name ?? "";
    return `dependency output secret: '${secret}' of '${name}' is not ready yet`;
  }
  return undefined;
}

function dependsOn(one: Terraform, other: Terraform): boolean {
  const home = one.metadata.namespace ?? "default";
  return (one.spec.dependsOn ?? []).some(
    (each) =>
      each.name === other.metadata.name &&
      (each.namespace ?? home) === (other.metadata.namespace ?? "default"),
  );
}

function sameSource(a: Terraform, b: Terraform): boolean {
  const [one, two] = [a.spec.sourceRef, b.spec.sourceRef];
  const where = (object: Terraform) =>
    object.spec.sourceRef.namespace ?? object.metadata.namespace ?? "default";
  return one.kind === two.kind && one.name === two.name && where(a) === where(b);
}
