import { type Diagnostic, diagnosticText } from "../../api/diagnostic.ts";
import type { AnyObject } from "../../api/kinds.ts";
import type { Context } from "../context.ts";
import { EXIT, type ManifestText, type Output } from "../world.ts";

/** What applying manifests needs besides the store; main hands it in. */
export interface ManifestTools {
  read(texts: readonly ManifestText[]): Promise<{
    objects: readonly AnyObject[];
    diagnostics: readonly Diagnostic[];
  }>;
  /** Like kubectl apply: three-way, by the last applied form. */
  apply(context: Context, object: AnyObject): Promise<"created" | "configured" | "unchanged">;
}

/** nigari apply -f FILE|FOLDER|- : nothing is written if any manifest is bad. */
export async function apply(
  context: Context,
  tools: ManifestTools,
  paths: readonly string[],
): Promise<number> {
  const { objects, diagnostics } = await tools.read(await context.shell.readManifests(paths));
  complain(context.shell.out, diagnostics);
  if (diagnostics.some(({ severity }) => severity === "error")) return EXIT.failed;
  for (const object of objects) {
    const done = await tools.apply(context, object);
    const { kind, metadata } = object;
    context.shell.out.write(`${kind} ${metadata.namespace}/${metadata.name} ${done}\n`);
  }
  return EXIT.ok;
}

/** Tells a person what is wrong with what they wrote. */
export function complain(out: Output, diagnostics: readonly Diagnostic[]): void {
  for (const each of diagnostics) out.error(`${diagnosticText(each)}\n`);
}
