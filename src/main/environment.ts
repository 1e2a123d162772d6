type Environment = Readonly<Record<string, string | undefined>>;

/**
 * What a child of ours gets to see: a list of what is allowed, never "all but". Proxies,
 * certificates, locale, and what OpenTofu needs to find its own configuration.
 */
const ALLOWED = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "LANG",
  "LANGUAGE",
  "LC_*",
  "TZ",
  "TMPDIR",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "ALL_PROXY",
  "http_proxy",
  "https_proxy",
  "no_proxy",
  "all_proxy",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "XDG_CONFIG_HOME",
  "TF_CLI_CONFIG_FILE",
  "TF_PLUGIN_CACHE_DIR",
];

export interface ChildEnvironment {
  readonly env: Readonly<Record<string, string>>;
  /** Names that `--pass-env` added, sorted, for the start message. */
  readonly passed: readonly string[];
}

/** The environment of runners: the allowed names, and those that match a pattern of the user's. */
export function childEnvironment(env: Environment, patterns: readonly string[]): ChildEnvironment {
  const allowed = ALLOWED.map(matcher);
  const asked = patterns.map(matcher);
  const kept: Record<string, string> = {};
  const passed: string[] = [];
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || name.startsWith("NIGARI_")) continue;
    if (allowed.some((matches) => matches(name))) kept[name] = value;
    else if (asked.some((matches) => matches(name))) {
      kept[name] = value;
      passed.push(name);
    }
  }
  return { env: kept, passed: passed.sort() };
}

/** A name, or a name with `*` at its end. */
function matcher(pattern: string): (name: string) => boolean {
  const text = pattern.trim();
  if (!text.endsWith("*")) return (name) => name === text;
  const start = text.slice(0, -1);
  return (name) => name.startsWith(start);
}
