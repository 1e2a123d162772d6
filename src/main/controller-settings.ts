import type { LogLevel } from "../adapters/system/log.ts";
import { parseSelector, type Selector } from "../api/selector.ts";
import type { MonitoringAddress } from "../server/monitoring.ts";
import { type GivenFlags, readFlags, switchOf } from "./controller-flags.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** How a controller works, from its flags and its environment. */
export interface ControllerSettings {
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  readonly dataDir: string | undefined;
  /** Where the controller itself lives; undefined: that of the context. */
  readonly ownNamespace: string | undefined;
  /** Where tofu-controller's leader Lease lies; undefined: in the own namespace. */
  readonly rivalNamespace: string | undefined;
  /** Only what is in the controller's own namespace. */
  readonly ownNamespaceOnly: boolean;
  /** Only objects with these labels; undefined: all. */
  readonly selector: Selector | undefined;
  readonly maxRuns: number;
  readonly crossNamespaceRefs: boolean;
  readonly lostApply: "interrupt" | "wait";
  /** Address of notification-controller; undefined: nobody is told. */
  readonly eventsAddress: string | undefined;
  readonly metricsAddress: MonitoringAddress | undefined;
  readonly healthAddress: MonitoringAddress | undefined;
  readonly log: { readonly format: "json" | "human"; readonly level: LogLevel };
  readonly runner: RunnerSettings;
  /** Lines to say once. */
  readonly warnings: readonly string[];
}

export interface RunnerSettings {
  /** Undefined: none was named. */
  readonly image: string | undefined;
  readonly imagePullSecrets: readonly string[];
}

/** A flag is wrong; the message names every one that is. */
export class WrongFlags extends Error {
  override readonly name = "WrongFlags";
}

/** Fails with WrongFlags. Flags that nobody knows are no failure: they become warnings. */
export function controllerSettings(words: readonly string[], env: Environment): ControllerSettings {
  const given = readFlags(words);
  const { values } = given;
  const wrong = [...given.wrong];
  const taken = <T>(
    name: string,
    text: string | undefined,
    read: (text: string) => T | undefined,
  ) => {
    if (text === undefined || text === "") return undefined;
    const value = read(text);
    if (value === undefined) wrong.push(`--${name} does not take "${text}"`);
    return value;
  };
  const address = (name: "metrics-addr" | "health-addr", usual: string) => {
    const text = values.get(name) ?? usual;
    return text === "0" ? undefined : taken(name, text, hostAndPort);
  };
  const settings: ControllerSettings = {
    kubeconfig: values.get("kubeconfig"),
    context: values.get("context"),
    dataDir: values.get("data-dir") ?? (env.NIGARI_DATA_DIR || undefined),
    ownNamespace: env.RUNTIME_NAMESPACE || undefined,
    rivalNamespace: values.get("tofu-controller-namespace"),
    ownNamespaceOnly: switchOf(given, "watch-all-namespaces") === false,
    selector: taken("watch-label-selector", values.get("watch-label-selector"), parseSelector),
    maxRuns: Math.max(1, Number(values.get("concurrent") ?? 4)),
    crossNamespaceRefs: allowsCrossNamespace(given),
    lostApply:
      taken("lost-apply", values.get("lost-apply"), oneOf("interrupt", "wait")) ?? "interrupt",
    eventsAddress: taken("events-addr", values.get("events-addr"), httpAddress),
    metricsAddress: address("metrics-addr", ":8080"),
    healthAddress: address("health-addr", ":9440"),
    log: {
      format: taken("log-encoding", values.get("log-encoding"), logFormat) ?? "json",
      level: taken("log-level", values.get("log-level"), logLevel) ?? "info",
    },
    runner: {
      image: values.get("runner-image") ?? (env.RUNNER_POD_IMAGE || undefined),
      imagePullSecrets: (values.get("runner-image-pull-secrets") ?? "")
        .split(",")
        .filter((each) => each !== ""),
    },
    warnings: warningsOf(given),
  };
  if (wrong.length > 0) throw new WrongFlags(`Wrong flags: ${wrong.join("; ")}`);
  return settings;
}

function warningsOf({ unknown, unused }: GivenFlags): string[] {
  return [
    ...(unknown.length === 0
      ? []
      : [`Flags that are not known and change nothing: ${unknown.join(", ")}`]),
    ...(unused.length === 0 ? [] : [`Flags that change nothing here: ${unused.join(", ")}`]),
  ];
}

/** Denied unless said otherwise. `allow` beats `no`, whatever it says. */
function allowsCrossNamespace(given: GivenFlags): boolean {
  const allow = switchOf(given, "allow-cross-namespace-refs");
  if (allow !== undefined) return allow;
  return switchOf(given, "no-cross-namespace-refs") === false;
}

function oneOf<T extends string>(...words: readonly T[]): (text: string) => T | undefined {
  return (text) => words.find((word) => word === text);
}

function logFormat(text: string): "json" | "human" | undefined {
  return text === "json" ? "json" : text === "console" ? "human" : undefined;
}

function logLevel(text: string): LogLevel | undefined {
  return text === "trace" ? "debug" : oneOf("debug", "info", "warn", "error")(text);
}

function httpAddress(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === "http:" || url?.protocol === "https:" ? url.href : undefined;
}

/** ":8080", "127.0.0.1:8080" or "[::1]:8080". */
function hostAndPort(text: string): MonitoringAddress | undefined {
  const found = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  if (found === null || Number(found[3]) > 65_535) return undefined;
  const host = found[1] ?? found[2] ?? "";
  return { host: host === "" ? undefined : host, port: Number(found[3]) };
}
