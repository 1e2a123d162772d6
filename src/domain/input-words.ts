import type { Ground } from "./ground.ts";
import type { Pass } from "./pass.ts";

/**
 * Which Secrets and ConfigMaps are no longer what the last run was made from, as a sentence without
 * its end: "Secret db changed". Those of the object's own namespace go by their name alone.
 */
export function changedInputs(
  { fields, terraform }: Pick<Pass, "fields" | "terraform">,
  { inputSources: now = {} }: Pick<Ground, "inputSources">,
): string {
  const old = fields.attempted?.inputs;
  const own = ` ${terraform.metadata.namespace ?? "default"}/`;
  const changed = [...new Set([...Object.keys(old ?? {}), ...Object.keys(now)])]
    .filter((name) => old?.[name] !== now[name])
    .sort()
    .map((name) => `${name.replace(own, " ")} ${verb(old?.[name], now[name])}`);
  // A version before this one has not stored them.
  return old === undefined || changed.length === 0 ? "its inputs have changed" : changed.join(", ");
}

/** "" stands for one that does not exist; undefined for one that is not asked for. */
function verb(old: string | undefined, now: string | undefined): string {
  if (now === "") return "is gone";
  return old === "" ? "exists now" : "changed";
}
