import { isDefault } from "../api/defaults.ts";
import type { TerraformSpec } from "../api/terraform.ts";

/**
 * Every field of the spec, and whether this version obeys it. An object that really uses a field
 * that is not obeyed is left untouched: running it all the same would do something else than asked.
 */
export type FieldRule<T> = "obeyed" | LaterRule | NoMeaningRule | { readonly parts: FieldRules<T> };

interface LaterRule {
  /** What a person does instead, as an imperative. */
  readonly mend: string;
  /** It is obeyed where runners are pods. */
  readonly obeyedInPods?: true;
}

/** It is taken, and there is nothing that it could change. */
interface NoMeaningRule {
  /** Why it changes nothing, as the end of "taken; ". */
  readonly noMeaning: string;
}

export type FieldRules<T> = { readonly [K in keyof Required<T>]: FieldRule<NonNullable<T[K]>> };

function later(mend: string = "remove it"): LaterRule {
  return { mend };
}

type Backend = NonNullable<TerraformSpec["backendConfig"]>;
type PodTemplate = NonNullable<TerraformSpec["runnerPodTemplate"]>;
type PodSpec = NonNullable<PodTemplate["spec"]>;

const custom = later("write the backend in spec.backendConfig.customConfiguration");
const noPod: LaterRule = { mend: "remove it, for runners are no pods here", obeyedInPods: true };
const noLabels: NoMeaningRule = { noMeaning: "there is no pod that could bear them" };
const noNode: NoMeaningRule = { noMeaning: "there is one machine, and nothing to choose" };

const backendConfig: FieldRules<Backend> = {
  customConfiguration: "obeyed",
  disable: "obeyed",
  secretSuffix: "obeyed",
  inClusterConfig: {
    ...{ mend: "name a kubeconfig in spec.backendConfig.configPath", obeyedInPods: true },
  },
  configPath: "obeyed",
  labels: "obeyed",
};

const podSpec: FieldRules<PodSpec> = {
  env: "obeyed",
  image: noPod,
  envFrom: "obeyed",
  nodeSelector: noNode,
  affinity: noNode,
  tolerations: noNode,
  volumeMounts: noPod,
  volumes: noPod,
  initContainers: noPod,
  hostAliases: noPod,
  priorityClassName: noNode,
  securityContext: noPod,
  resources: noPod,
};

/** A field of the kind without a row here does not compile. */
export const fieldRules: FieldRules<TerraformSpec> = {
  approvePlan: "obeyed",
  destroy: "obeyed",
  backendConfig: { parts: backendConfig },
  backendConfigsFrom: "obeyed",
  cloud: custom,
  workspace: "obeyed",
  vars: "obeyed",
  varsFrom: "obeyed",
  values: "obeyed",
  tfVarsFiles: "obeyed",
  fileMappings: "obeyed",
  interval: "obeyed",
  retryInterval: "obeyed",
  retryStrategy: "obeyed",
  maxRetryInterval: "obeyed",
  path: "obeyed",
  sourceRef: "obeyed",
  suspend: "obeyed",
  force: "obeyed",
  readInputsFromSecrets: "obeyed",
  writeOutputsToSecret: "obeyed",
  disableDriftDetection: "obeyed",
  cliConfigSecretRef: "obeyed",
  healthChecks: "obeyed",
  destroyResourcesOnDeletion: "obeyed",
  serviceAccountName: noPod,
  alwaysCleanupRunnerPod: { noMeaning: "every run has a runner of its own, which goes with it" },
  runnerTerminationGracePeriodSeconds: {
    noMeaning: "nothing but a limit, a person or a proof of loss ends a runner",
  },
  upgradeOnInit: "obeyed",
  refreshBeforeApply: {
    noMeaning: "plans are always made on a refreshed state, and the very plan is applied",
  },
  runnerPodTemplate: { parts: { metadata: noLabels, spec: { parts: podSpec } } },
  enableInventory: "obeyed",
  tfstate: { parts: { forceUnlock: "obeyed", lockIdentifier: "obeyed", lockTimeout: "obeyed" } },
  targets: "obeyed",
  parallelism: "obeyed",
  storeReadablePlan: "obeyed",
  plan: { parts: { lock: "obeyed" } },
  webhooks: later(),
  dependsOn: "obeyed",
  // A placeholder that upstream ignores too.
  enterprise: "obeyed",
  planOnly: "obeyed",
  breakTheGlass: later(),
  branchPlanner: {
    parts: { enablePathScope: { noMeaning: "only upstream's branch planner reads it" } },
  },
  remediation: "obeyed",
};

export interface FieldInTheWay {
  /** Such as `spec.tfstate.forceUnlock`. */
  readonly path: string;
  readonly mend: string;
}

/** Fields that the spec really uses and this version does not obey, in the order of the table. */
export function fieldsInTheWay(spec: TerraformSpec, inPods = false): FieldInTheWay[] {
  const found = offending({ value: spec, rules: fieldRules, prefix: "" }, inPods);
  // The custom configuration replaces everything else that spec.backendConfig can say.
  const replaced = (spec.backendConfig?.customConfiguration ?? "") !== "";
  return found
    .filter((each) => !(replaced && each.path.startsWith("backendConfig.")))
    .map((each) => ({ ...each, path: `spec.${each.path}` }));
}

interface Looked {
  readonly value: unknown;
  readonly rules: object;
  readonly prefix: string;
}

function offending({ value, rules, prefix }: Looked, inPods: boolean): FieldInTheWay[] {
  if (typeof value !== "object" || value === null) return [];
  const held = value as Record<string, unknown>;
  return Object.entries(rules as Record<string, FieldRule<object>>).flatMap(([name, rule]) => {
    const path = `${prefix}${name}`;
    if (rule === "obeyed" || "noMeaning" in rule || isDefault(path, held[name])) return [];
    if ("parts" in rule) {
      return offending({ value: held[name], rules: rule.parts, prefix: `${path}.` }, inPods);
    }
    if (inPods && rule.obeyedInPods === true) return [];
    return [{ path, mend: rule.mend }];
  });
}
