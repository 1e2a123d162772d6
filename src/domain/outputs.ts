import { REASON } from "../api/names.ts";
import type { RunStatus, TerraformSpec } from "../api/terraform.ts";
import type { Effect, OutputFact } from "./facts.ts";
import { normal, type Pass } from "./pass.ts";
import type { Marks } from "./standing.ts";

/** What becomes of the outputs that a run has read. */
export type OutputsVerdict =
  /** The run has read none, or they are none of our business (a destroy). */
  | { readonly is: "not-read" }
  | {
      readonly is: "read";
      readonly available: string[];
      readonly mark: Marks["output"];
      /** The Secret is written, or found to need no data. */
      readonly written: boolean;
      readonly before: readonly Effect[];
      readonly after: readonly Effect[];
    }
  | { readonly is: "refused"; readonly available: string[]; readonly message: string };

/** Names of the outputs, if the run has read them. */
export function availableOf(verdict: OutputsVerdict): string[] | undefined {
  return verdict.is === "not-read" ? undefined : verdict.available;
}

/** Decides about outputs after an apply, and after a plan without changes. */
export function outputsVerdict(
  pass: Pass,
  run: RunStatus,
  outputs: readonly OutputFact[] | undefined,
): OutputsVerdict {
  if (outputs === undefined || run.destroy === true) return { is: "not-read" };
  const available = outputs.map((each) => each.name).sort();
  const wanted = pass.terraform.spec.writeOutputsToSecret;
  const secret = pass.observed.outputsSecret;
  if (wanted === undefined) {
    const mark = available.length === 0 ? "absent" : "available";
    return { is: "read", available, mark, written: false, before: [], after: [] };
  }
  if (secret.state === "foreign") {
    const message =
      `Secret ${wanted.name} belongs to ${secret.owner} and is not touched; ` +
      "choose another name in spec.writeOutputsToSecret.name, or remove that Secret";
    return { is: "refused", available, message };
  }
  if (available.length === 0) {
    const gone: Effect[] = secret.state === "present" ? [{ do: "delete-outputs" }] : [];
    return { is: "read", available, mark: "none", written: true, before: gone, after: [] };
  }
  const written = (wanted.outputs ?? []).length === 0 ? available : selected(wanted.outputs ?? []);
  const count = `${written.length} output(s): ${[...written].sort().join(", ")}`;
  return {
    is: "read",
    available,
    mark: "written",
    written: true,
    before: [{ do: "write-outputs", runId: run.id }],
    after:
      outputsMissing(pass) || run.operation === "apply"
        ? [normal(REASON.outputsWritten, `Outputs written.\n${count}`)]
        : [],
  };
}

/** The Secret of outputs is wanted, and is not there or does not have the keys it should. */
export function outputsMissing(pass: Pass): boolean {
  const wanted = pass.terraform.spec.writeOutputsToSecret;
  const names = pass.fields.availableOutputs ?? [];
  const secret = pass.observed.outputsSecret;
  if (wanted === undefined || names.length === 0) return false;
  if (secret.state === "absent") return true;
  if (secret.state !== "present") return false;
  const keys = wantedKeys(wanted, names);
  const held = secret.keys.filter((key) => !key.endsWith("__type") || keys.includes(key));
  return keys.some((key) => !held.includes(key)) || held.some((key) => !keys.includes(key));
}

function wantedKeys(
  wanted: NonNullable<TerraformSpec["writeOutputsToSecret"]>,
  available: readonly string[],
): string[] {
  const list = wanted.outputs ?? [];
  if (list.length === 0) return [...available];
  return list.map((text) => {
    const colon = text.indexOf(":");
    return colon < 0 ? text : text.slice(colon + 1);
  });
}

function selected(list: readonly string[]): string[] {
  return list.map((text) => text.split(":")[0] ?? text);
}
