import { parseDuration } from "../api/duration.ts";

/** What a flag takes. A switch may stand alone, as Go's do; its value follows "=". */
type Takes = "text" | "count" | "number" | "duration" | "switch";

interface Flag {
  readonly takes: Takes;
  readonly about: string;
  /** Why it changes nothing here, for the one line that says so when it is given. */
  readonly unused?: string;
}

const OWN_CERTIFICATES = "each runner pod has a certificate of its own, renewed by itself";
const OWN_BOUNDS = "every call to a runner has a bound of its own";
const OWN_QUOTA = "pods that a quota refuses are always tried again";
const OWN_ELECTION = "the leader is always elected, with times of its own";

/** tofu-controller's flags under their names, then those that only Nigari has. */
export const controllerFlags = {
  "metrics-addr": { takes: "text", about: "where /metrics is served, :8080 by default" },
  "health-addr": { takes: "text", about: "where /healthz and /readyz are served, :9440" },
  "events-addr": { takes: "text", about: "notification-controller's address" },
  concurrent: { takes: "count", about: "runs at once, 4 by default" },
  "watch-all-namespaces": { takes: "switch", about: "false: RUNTIME_NAMESPACE alone" },
  "allow-cross-namespace-refs": { takes: "switch", about: "sources and dependencies elsewhere" },
  "no-cross-namespace-refs": { takes: "switch", about: "the same, turned round" },
  "log-encoding": { takes: "text", about: "json (default) or console" },
  "log-level": { takes: "text", about: "trace, debug, info (default) or error" },
  "runner-grpc-port": { takes: "count", about: "", unused: "runners listen on 30000" },
  "runner-creation-timeout": {
    takes: "duration",
    about: "",
    unused: "a pod that does not come up is told at once and given up in the end",
  },
  "requeue-dependency": { takes: "duration", about: "", unused: "dependants are woken at once" },
  "http-retry": { takes: "count", about: "", unused: "artifacts are fetched apart from passes" },
  "ca-cert-validity-duration": { takes: "duration", about: "", unused: OWN_CERTIFICATES },
  "cert-rotation-check-frequency": { takes: "duration", about: "", unused: OWN_CERTIFICATES },
  "runner-rpc-timeout": { takes: "duration", about: "", unused: OWN_BOUNDS },
  "runner-grpc-max-message-size": { takes: "count", about: "", unused: "files go in pieces" },
  "allow-break-the-glass": { takes: "switch", about: "", unused: "there is no such shell" },
  "cluster-domain": { takes: "text", about: "", unused: "runners are reached by their address" },
  "use-pod-subdomain-resolution": {
    takes: "switch",
    about: "",
    unused: "runners are reached by their address",
  },
  "use-priority-queue": { takes: "switch", about: "", unused: "people always go first" },
  "graceful-shutdown-timeout": {
    takes: "duration",
    about: "",
    unused: "a stop leaves runs running and takes seconds",
  },
  "quota-retry-enabled": { takes: "switch", about: "", unused: OWN_QUOTA },
  "quota-retry-delay": { takes: "duration", about: "", unused: OWN_QUOTA },
  "quota-retry-jitter-factor": { takes: "number", about: "", unused: OWN_QUOTA },
  "kube-api-qps": { takes: "number", about: "", unused: "the API server's own limits are kept" },
  "kube-api-burst": { takes: "number", about: "", unused: "the API server's own limits are kept" },
  "enable-leader-election": { takes: "switch", about: "", unused: OWN_ELECTION },
  "leader-election-release-on-cancel": { takes: "switch", about: "", unused: OWN_ELECTION },
  "leader-election-lease-duration": { takes: "duration", about: "", unused: OWN_ELECTION },
  "leader-election-renew-deadline": { takes: "duration", about: "", unused: OWN_ELECTION },
  "leader-election-retry-period": { takes: "duration", about: "", unused: OWN_ELECTION },
  kubeconfig: { takes: "text", about: "file of the cluster; the pod's own account without it" },
  context: { takes: "text", about: "entry of the kubeconfig" },
  "data-dir": { takes: "text", about: "folder for logs and artifacts (NIGARI_DATA_DIR)" },
  "runner-image": { takes: "text", about: "image of runner pods (RUNNER_POD_IMAGE)" },
  "runner-image-pull-secrets": {
    takes: "text",
    about: "names with commas between, of Secrets in the objects' namespaces",
  },
  "tofu-controller-namespace": {
    takes: "text",
    about: "where tofu-controller's leader Lease lies; the controller's own without it",
  },
  "watch-label-selector": { takes: "text", about: "only objects with these labels: a shard" },
  "lost-apply": { takes: "text", about: "interrupt (default) or wait" },
} as const satisfies Readonly<Record<string, Flag>>;

export type FlagName = keyof typeof controllerFlags;

export interface GivenFlags {
  readonly values: ReadonlyMap<FlagName, string>;
  /** Flags that nobody knows here, with their dashes. */
  readonly unknown: readonly string[];
  /** Flags that are known and change nothing, with the reason. */
  readonly unused: readonly string[];
  /** What is wrong; empty: nothing. */
  readonly wrong: readonly string[];
}

/** Reads flags as Go takes them: one dash or two, a value behind "=" or in the next word. */
export function readFlags(words: readonly string[]): GivenFlags {
  const values = new Map<FlagName, string>();
  const unknown: string[] = [];
  const unused: string[] = [];
  const wrong: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const [, name = "", value] = /^--?([^=-][^=]*)(?:=(.*))?$/s.exec(words[at] ?? "") ?? [];
    const next = words[at + 1];
    if (!isFlag(name)) {
      unknown.push(words[at]?.split("=")[0] ?? "");
      if (name !== "" && value === undefined && next !== undefined && !next.startsWith("-")) at++;
      continue;
    }
    const flag: Flag = controllerFlags[name];
    const follows = value === undefined && flag.takes !== "switch";
    const text = value ?? (follows ? next : "true");
    if (follows) at++;
    const problem = problemOf(flag.takes, text);
    if (text === undefined || problem !== undefined) wrong.push(`--${name} ${problem}`);
    else values.set(name, text);
    if (flag.unused !== undefined) unused.push(`--${name} (${flag.unused})`);
  }
  return { values, unknown, unused, wrong };
}

function isFlag(name: string): name is FlagName {
  return Object.hasOwn(controllerFlags, name);
}

function problemOf(takes: Takes, text: string | undefined): string | undefined {
  if (text === undefined) return "needs a value";
  switch (takes) {
    case "text":
      return undefined;
    case "count":
      return /^\d+$/.test(text) ? undefined : `takes a number such as 4, not "${text}"`;
    case "number":
      return Number.isFinite(Number(text)) ? undefined : `takes a number, not "${text}"`;
    case "duration":
      return parseDuration(text) === undefined
        ? `takes a time such as 30s, not "${text}"`
        : undefined;
    case "switch":
      return isSwitch(text) ? undefined : `takes true or false, not "${text}"`;
  }
}

/** The words that Go takes for a truth value. */
const TRUE = ["1", "t", "T", "true", "TRUE", "True"];
const FALSE = ["0", "f", "F", "false", "FALSE", "False"];

function isSwitch(text: string): boolean {
  return TRUE.includes(text) || FALSE.includes(text);
}

/** What a switch says; undefined: it was not given. */
export function switchOf(given: GivenFlags, name: FlagName): boolean | undefined {
  const text = given.values.get(name);
  return text === undefined ? undefined : TRUE.includes(text);
}
