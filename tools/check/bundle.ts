/** The part of esbuild's metafile that is read here. */
export interface BundleInputs {
  readonly inputs: Readonly<Record<string, { readonly imports: readonly { path: string }[] }>>;
}

/**
 * What the runner must not contain: it runs beside every apply, so it is small, and it knows
 * neither the engine nor Kubernetes. Each with its reason.
 */
const foreign: Readonly<Record<string, RegExp>> = {
  "the engine and what belongs to it": /^src\/(engine|adapters|objects|server)\//,
  // Two files are what both sides hold to: the guard that refuses an older epoch, and how a state
  // file is read.
  "decisions are the engine's (types of them vanish and may stay)":
    /^src\/domain\/(?!guards\.ts$|state-file\.ts$)/,
  "what speaks to people": /^src\/(cli|render|recognizers|evidence)\//,
  "test doubles": /^src\/testing\//,
  "a Kubernetes client": /kubernetes/i,
  "a database": /^node:sqlite$/,
  "a web server": /node_modules\/(hono|@hono)\//,
  "a command line, manifests, the engine's log": /node_modules\/(commander|yaml|pino)\//,
};

/** Inputs and imports of the runner's bundle that do not belong there, each with the reason. */
export function foreignToRunner({ inputs }: BundleInputs): string[] {
  const all = new Set(
    Object.entries(inputs).flatMap(([path, { imports }]) => [
      path,
      ...imports.map((each) => each.path),
    ]),
  );
  return [...all].sort().flatMap((path) =>
    Object.entries(foreign)
      .filter(([, pattern]) => pattern.test(path))
      .map(([why]) => `${path}: ${why}`),
  );
}
