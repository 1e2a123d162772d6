import { COLLECT_FINALIZER, OBJECT, OPERATION, RUN_LABEL } from "../../../api/cluster-names.ts";
import type { PodWishes, RunnerLaunch } from "../../../ports/runner.ts";
import {
  CERTIFICATE_GATE,
  CONTAINER,
  INSTALLER,
  podName,
  RUNNER_LABEL,
  RUNNER_PORT,
} from "./names.ts";

/** What every runner pod of this controller has. */
export interface PodDefaults {
  /** Nigari's own runner image. */
  readonly image: string;
  readonly imagePullSecrets: readonly string[];
  /** Such as proxies; an object's own variables win. */
  readonly env: Readonly<Record<string, string>>;
}

export type Manifest = Readonly<Record<string, unknown>> & {
  readonly metadata: Readonly<Record<string, unknown>> & { readonly name: string };
};

/** Where the certificate is mounted. */
export const TLS_FOLDER = "/etc/nigari/tls";
/** Where our programs are put beside a foreign image's own. */
export const INSTALL_FOLDER = "/nigari";
/** Grace of an apply: what the write of a state may take. */
const APPLY_GRACE_SECONDS = 600;
const PLAN_GRACE_SECONDS = 30;

const HARDENED = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
  runAsUser: 65_532,
  runAsGroup: 65_532,
  seccompProfile: { type: "RuntimeDefault" },
} as const;

/**
 * The pod of a run as it is created: gated, until its certificate is there. The object's template
 * is obeyed as a whole; what a template cannot say is as tofu-controller has it, and containers of
 * ours are fit for the Pod Security level "restricted".
 */
export function podManifest(
  launch: RunnerLaunch & { readonly pod: PodWishes },
  defaults: PodDefaults,
): Manifest {
  const { namespace, pod } = launch;
  const name = podName(launch.name, launch.runId);
  const template = pod.template?.spec ?? {};
  const isForeign = repositoryOf(template.image ?? defaults.image) !== repositoryOf(defaults.image);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      labels: labelsOf(launch, name),
      annotations: annotationsOf(launch),
      finalizers: [COLLECT_FINALIZER],
      ownerReferences: [terraformOwner(launch)],
    },
    spec: {
      restartPolicy: "Never",
      schedulingGates: [{ name: CERTIFICATE_GATE }],
      serviceAccountName: pod.serviceAccountName ?? "tf-runner",
      terminationGracePeriodSeconds: graceSeconds(pod),
      securityContext: { fsGroup: HARDENED.runAsGroup },
      ...given(
        "imagePullSecrets",
        defaults.imagePullSecrets.map((each) => ({ name: each })),
      ),
      ...(template.affinity === undefined ? spread() : { affinity: template.affinity }),
      ...given("nodeSelector", template.nodeSelector),
      ...given("tolerations", template.tolerations),
      ...given("hostAliases", template.hostAliases),
      ...given("priorityClassName", template.priorityClassName),
      volumes: [
        { name: "temp", emptyDir: {} },
        { name: "home", emptyDir: {} },
        { name: "nigari-tls", secret: { secretName: name } },
        ...(isForeign ? [{ name: "nigari", emptyDir: {} }] : []),
        ...list(template.volumes),
      ],
      initContainers: [
        ...(isForeign ? [installer(defaults.image)] : []),
        ...list(template.initContainers),
      ],
      containers: [container(launch, defaults, isForeign)],
    },
  };
}

/** Seconds between the order to stop and the kill. */
export function graceSeconds({ gracePeriodSeconds, operation }: PodWishes): number {
  if (gracePeriodSeconds !== undefined) return gracePeriodSeconds;
  return operation === "apply" ? APPLY_GRACE_SECONDS : PLAN_GRACE_SECONDS;
}

export function terraformOwner(launch: RunnerLaunch & { readonly pod: PodWishes }) {
  return {
    apiVersion: "infra.contrib.fluxcd.io/v1alpha2",
    kind: "Terraform",
    name: launch.name,
    uid: launch.pod.ownerUid,
    controller: true,
  };
}

function labelsOf(launch: RunnerLaunch & { readonly pod: PodWishes }, secret: string) {
  const hash = /:(.+)$/.exec(launch.pod.revision)?.[1] ?? launch.pod.revision;
  const version = hash.replace(/[^A-Za-z0-9]/g, "").slice(0, 8);
  return {
    "app.kubernetes.io/created-by": "tofu-controller",
    "app.kubernetes.io/name": "tf-runner",
    "app.kubernetes.io/instance": version === "" ? "tf-runner" : `tf-runner-${version}`,
    "infra.contrib.fluxcd.io/terraform": launch.namespace,
    "tf.weave.works/tls-secret-name": secret,
    ...launch.pod.template?.metadata?.labels,
    // By these the pod is found again; nobody may give them another meaning.
    [RUN_LABEL]: launch.runId,
    [RUNNER_LABEL]: "true",
  };
}

function annotationsOf(launch: RunnerLaunch & { readonly pod: PodWishes }) {
  const { operation, template } = launch.pod;
  const undisturbed = {
    "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
    "karpenter.sh/do-not-disrupt": "true",
  };
  return {
    ...(operation === "apply" ? undisturbed : {}),
    ...template?.metadata?.annotations,
    [OPERATION]: operation,
    [OBJECT]: launch.name,
  };
}

/** Runners of all namespaces keep away from each other, so that one node's end does not end all. */
function spread() {
  const labelSelector = { matchLabels: { [RUNNER_LABEL]: "true" } };
  const topologyKey = "kubernetes.io/hostname";
  const term = { labelSelector, namespaceSelector: {}, topologyKey };
  return {
    affinity: {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: term }],
      },
    },
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey, whenUnsatisfiable: "ScheduleAnyway", labelSelector },
    ],
  };
}

function container(
  launch: RunnerLaunch & { readonly pod: PodWishes },
  { image, env }: PodDefaults,
  isForeign: boolean,
) {
  const template = launch.pod.template?.spec ?? {};
  return {
    name: CONTAINER,
    image: template.image ?? image,
    imagePullPolicy: "IfNotPresent",
    ...(isForeign ? { command: foreignCommand() } : {}),
    ports: [{ name: "grpc", containerPort: RUNNER_PORT }],
    env: environment(launch, env),
    ...given("envFrom", template.envFrom),
    volumeMounts: [
      { name: "temp", mountPath: "/tmp" },
      { name: "home", mountPath: "/home/runner" },
      { name: "nigari-tls", mountPath: TLS_FOLDER, readOnly: true },
      ...(isForeign ? [{ name: "nigari", mountPath: INSTALL_FOLDER, readOnly: true }] : []),
      ...list(template.volumeMounts),
    ],
    securityContext: template.securityContext ?? HARDENED,
    ...given("resources", template.resources),
    terminationMessagePolicy: "File",
  };
}

/** Our Node.js brings the libraries that it was linked with, so it runs on any image's. */
function foreignCommand(): string[] {
  const loader = [`${INSTALL_FOLDER}/lib/loader`, "--library-path", `${INSTALL_FOLDER}/lib`];
  return [...loader, `${INSTALL_FOLDER}/node`, `${INSTALL_FOLDER}/runner-pod.js`];
}

function installer(image: string) {
  return {
    name: INSTALLER,
    image,
    imagePullPolicy: "IfNotPresent",
    args: ["install", INSTALL_FOLDER],
    volumeMounts: [{ name: "nigari", mountPath: INSTALL_FOLDER }],
    securityContext: HARDENED,
    resources: { requests: { cpu: "10m", memory: "32Mi" } },
    terminationMessagePolicy: "FallbackToLogsOnError",
  };
}

function environment(
  launch: RunnerLaunch & { readonly pod: PodWishes },
  defaults: Readonly<Record<string, string>>,
) {
  const field = (fieldPath: string) => ({ valueFrom: { fieldRef: { fieldPath } } });
  const own = [
    { name: "NIGARI_RUN_ID", value: launch.runId },
    { name: "NIGARI_OBJECT", value: launch.name },
    { name: "NIGARI_EPOCH", value: String(launch.epoch) },
    { name: "NIGARI_GRACE_SECONDS", value: String(graceSeconds(launch.pod)) },
  ];
  const byName = new Map<string, object>();
  for (const each of [
    { name: "POD_NAME", ...field("metadata.name") },
    { name: "POD_NAMESPACE", ...field("metadata.namespace") },
    ...Object.entries(defaults).map(([name, value]) => ({ name, value })),
    ...(launch.pod.template?.spec?.env ?? []),
    ...own,
  ]) {
    // Deleted first: a variable may refer to those before it, so the last word stands last.
    byName.delete(each.name);
    byName.set(each.name, each);
  }
  return [...byName.values()];
}

/** An image's name without its tag and digest. */
export function repositoryOf(image: string): string {
  return image.replace(/@.*$/, "").replace(/:[^/:]*$/, "");
}

function given<T>(name: string, value: T | undefined): Record<string, T> {
  const isEmpty = value === undefined || (Array.isArray(value) && value.length === 0);
  return isEmpty ? {} : { [name]: value };
}

/** What stands in a field that may hold anything, if it is a list. */
function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
