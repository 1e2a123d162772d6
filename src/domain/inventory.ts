import type { RunStatus, TerraformStatus } from "../api/terraform.ts";
import type { Inventory } from "./facts.ts";
import type { Fields } from "./pass.ts";

/**
 * status.inventory after a run: what the run has found, nothing after everything was destroyed,
 * else what it was. Without spec.enableInventory `decide` takes it away.
 */
export function inventoryAfter(
  fields: Fields,
  run: RunStatus,
  outcome: { readonly kind: string; readonly inventory?: Inventory | undefined },
): TerraformStatus["inventory"] {
  const { inventory } = outcome;
  if (run.destroy === true && outcome.kind === "applied") return undefined;
  if (inventory === undefined) return fields.inventory;
  const { entries, more } = inventory;
  return { entries: entries.map((each) => ({ ...each })), ...(more > 0 ? { more } : {}) };
}
