import type { ClusterKind, ClusterObject, ClusterQuery } from "../../../ports/cluster.ts";
import { isStoreError } from "../../../ports/object-store.ts";
import { listAt, textAt } from "../fields.ts";
import { type Leading, whoLeads } from "../leading.ts";
import type { ClusterContext } from "../parts.ts";

/** What a migration needs to know of a cluster, read once. Nothing of it is a Secret's value. */
export interface MigrationFacts {
  /** The cluster's own time, in ms since 1970. */
  readonly nowMs: number;
  readonly leading: Leading;
  /** Deployments of tofu-controller and of its branch planner. */
  readonly controllers: readonly ClusterObject[];
  readonly definition: ClusterObject | undefined;
  readonly terraforms: readonly ClusterObject[];
  /** Locks of states that OpenTofu's kubernetes backend keeps. */
  readonly locks: readonly ClusterObject[];
  /** Runners' pods, tofu-controller's and Nigari's. */
  readonly pods: readonly ClusterObject[];
  /** Metadata of Secrets: certificates of tofu-controller's runners; saved plans; Nigari's own. */
  readonly certificates: readonly ClusterObject[];
  readonly plans: readonly ClusterObject[];
  readonly runSecrets: readonly ClusterObject[];
  readonly rescued: readonly ClusterObject[];
  /** What could not be read, and why: nothing is concluded from its absence. */
  readonly gaps: readonly Gap[];
}

export interface Gap {
  readonly what: string;
  readonly why: string;
}

export const DEFINITION = "terraforms.infra.contrib.fluxcd.io";
export const GROUP = "infra.contrib.fluxcd.io";
const CERTIFICATE = /^terraform-runner\.tls-\d+$/;

export async function readMigration(context: ClusterContext): Promise<MigrationFacts> {
  const { admin, call } = context;
  const gaps: Gap[] = [];
  const list = async (what: string, kind: ClusterKind, where: ClusterQuery) => {
    try {
      return await admin.list(kind, where, call());
    } catch (error) {
      if (!isStoreError(error, "Forbidden")) throw error;
      gaps.push({ what, why: error.message });
      return [];
    }
  };
  const secrets = (what: string, labels: string) =>
    list(what, "Secret", { labels, metadataOnly: true });
  const definition = await admin
    .get("CustomResourceDefinition", { name: DEFINITION }, call())
    .catch((error: unknown) => {
      if (!isStoreError(error, "Forbidden")) throw error;
      gaps.push({ what: "the definition of the kind", why: error.message });
      return undefined;
    });
  const leading = await whoLeads(admin, call());
  if (leading.is === "unknown") gaps.push({ what: "leader Leases", why: leading.why });
  const [terraforms, locks, pods, deployments] = [
    await list("Terraform objects", "Terraform", {}),
    await list("locks of states", "Lease", { labels: "tfstate=true" }),
    await list("runners' pods", "Pod", { labels: "app.kubernetes.io/name=tf-runner" }),
    await list("Deployments", "Deployment", {}),
  ];
  const certificates = await secrets("runners' certificates", `${GROUP}/terraform=true`);
  return {
    nowMs: admin.nowMs() ?? context.shell.clock.now(),
    ...{ leading, definition, terraforms, locks, pods, gaps },
    controllers: deployments.filter(isController),
    certificates: certificates.filter(({ metadata }) => CERTIFICATE.test(metadata.name)),
    plans: await secrets("saved plans", `${GROUP}/plan-name`),
    runSecrets: await secrets("certificates of Nigari's runners", "nigari.dev/run"),
    rescued: await secrets("rescued states", "nigari.dev/rescued=true"),
  };
}

function isController(deployment: ClusterObject): boolean {
  const names = /^(tofu|tf)-controller$|^branch-planner$/;
  if (names.test(deployment.metadata.labels?.["app.kubernetes.io/name"] ?? "")) return true;
  return listAt(deployment, "spec", "template", "spec", "containers").some((each) =>
    /\/(tofu-controller|tf-controller|branch-planner)[:@]/.test(`${textAt(each, "image")}:`),
  );
}

/** Replicas that a Deployment wants or still has. */
export function replicasOf(deployment: ClusterObject): number {
  const wanted = (deployment.spec as { replicas?: number } | undefined)?.replicas ?? 1;
  const present = (deployment.status as { replicas?: number } | undefined)?.replicas ?? 0;
  return Math.max(wanted, present);
}
