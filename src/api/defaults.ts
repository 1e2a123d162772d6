import { parseDuration } from "./duration.ts";

/**
 * What an absent field of a Terraform object's spec means: tofu-controller's defaults, by path. A
 * field that holds its default counts as not used. Lists and maps are absent by default, so they
 * have no row.
 */
export const specDefaults = {
  approvePlan: "",
  destroy: false,
  "backendConfig.disable": false,
  "backendConfig.secretSuffix": "",
  "backendConfig.inClusterConfig": false,
  "backendConfig.customConfiguration": "",
  "backendConfig.configPath": "",
  workspace: "default",
  retryInterval: "15s",
  retryStrategy: "StaticInterval",
  maxRetryInterval: "24h",
  path: "",
  suspend: false,
  force: false,
  disableDriftDetection: false,
  "healthChecks[].timeout": "20s",
  destroyResourcesOnDeletion: false,
  serviceAccountName: "tf-runner",
  alwaysCleanupRunnerPod: true,
  runnerTerminationGracePeriodSeconds: 30,
  upgradeOnInit: true,
  refreshBeforeApply: false,
  enableInventory: false,
  "tfstate.forceUnlock": "no",
  "tfstate.lockIdentifier": "",
  "tfstate.lockTimeout": "0s",
  parallelism: 10,
  storeReadablePlan: "none",
  "plan.lock": true,
  "webhooks[].stage": "post-planning",
  "webhooks[].enabled": true,
  "webhooks[].payloadType": "SpecAndPlan",
  planOnly: false,
  breakTheGlass: false,
  "branchPlanner.enablePathScope": false,
} as const;
export type SpecPath = keyof typeof specDefaults;

/** Other ways to write the default, where tofu-controller takes them as the same. */
const alike: Readonly<Record<string, readonly unknown[]>> = {
  workspace: [""],
  serviceAccountName: [""],
  parallelism: [0],
  path: [".", "./"],
  storeReadablePlan: [""],
  "tfstate.forceUnlock": [""],
};

/**
 * Whether a value in `spec` at this path ("workspace", "tfstate.lockTimeout", "webhooks[].enabled")
 * means the same as if it were absent.
 */
export function isDefault(path: string, value: unknown): boolean {
  if (value === undefined || value === null) return true;
  // A placeholder that tofu-controller never reads.
  if (path === "enterprise") return true;
  // Retries of 0 never run at all, so even {} is used; a negative number means no limit.
  if (path === "remediation") return retriesOf(value) < 0;
  if (Array.isArray(value)) return value.length === 0;
  if (typeof value === "object") {
    return Object.entries(value).every(([key, each]) => isDefault(`${path}.${key}`, each));
  }
  if (!Object.hasOwn(specDefaults, path)) return false;
  const usual = specDefaults[path as SpecPath];
  return value === usual || sameDuration(value, usual) || (alike[path] ?? []).includes(value);
}

function retriesOf(remediation: unknown): number {
  const { retries = 0 } = remediation as { retries?: unknown };
  return typeof retries === "number" ? retries : 0;
}

function sameDuration(a: unknown, b: unknown): boolean {
  if (typeof a !== "string" || typeof b !== "string") return false;
  const ms = parseDuration(a);
  return ms !== undefined && ms === parseDuration(b);
}
