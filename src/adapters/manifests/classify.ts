import { type KindName, kindNames, kinds } from "../../api/kinds.ts";
import { isKindName } from "../../objects/validate.ts";
import { mapOf } from "../../objects/validity.ts";
import { editSteps, oneOf, quote } from "../../objects/words.ts";

/** What a document is, as its apiVersion and kind say. */
export type Class =
  | { readonly is: "object"; readonly kind: KindName; readonly warning?: string }
  | { readonly is: "list"; readonly items: readonly unknown[] }
  /** Another program's; `what` names kind and apiVersion. */
  | { readonly is: "foreign"; readonly what: string; readonly why: string }
  /** `field` is what the text is about. */
  | { readonly is: "wrong"; readonly text: string; readonly field?: "kind" | "apiVersion" };

/** Kinds that a person writes. The others are made by Nigari as it runs. */
const written: readonly KindName[] = [
  "Terraform",
  "GitRepository",
  "OCIRepository",
  "Bucket",
  "Secret",
  "ConfigMap",
];
const OLD_TERRAFORM = "infra.contrib.fluxcd.io/v1alpha1";

export function classify(value: unknown): Class {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    const what = Array.isArray(value) ? "a list" : "plain text";
    return { is: "wrong", text: `is ${what}, not an object with apiVersion, kind and metadata` };
  }
  const { kind, apiVersion, items } = mapOf(value);
  if (typeof kind !== "string" || kind === "") {
    return { is: "wrong", text: "has no kind; every object needs apiVersion and kind" };
  }
  if (typeof apiVersion !== "string" || apiVersion === "") {
    const mend = isKindName(kind) ? `add apiVersion: ${kinds[kind].apiVersion}` : "add it";
    return { is: "wrong", text: `${quote(kind)} has no apiVersion; ${mend}` };
  }
  if (isListKind(kind)) {
    if (Array.isArray(items)) return { is: "list", items };
    return { is: "wrong", text: `${kind} has no items; add a list of objects`, field: "kind" };
  }
  return isKindName(kind) ? classifyKnown(kind, apiVersion) : classifyOther(kind, apiVersion);
}

function classifyKnown(kind: KindName, apiVersion: string): Class {
  const expected = kinds[kind].apiVersion;
  if (!written.includes(kind)) {
    return foreign(kind, apiVersion, "is made by Nigari, not by a manifest");
  }
  if (apiVersion === expected) return { is: "object", kind };
  if (kind === "Terraform" && apiVersion === OLD_TERRAFORM) {
    const warning = `v1alpha1 Terraform is deprecated, upgrade to v1alpha2; read as ${expected}`;
    return { is: "object", kind, warning };
  }
  // The same kind of another group (a Bucket of a cloud) is another thing.
  const slip = editSteps(apiVersion, expected) <= 3;
  if (groupOf(apiVersion) !== groupOf(expected) && !slip) return foreign(kind, apiVersion, OTHERS);
  const text = `${kind} of apiVersion ${quote(apiVersion)} is not read; write ${expected}`;
  return { is: "wrong", text, field: "apiVersion" };
}

function classifyOther(kind: string, apiVersion: string): Class {
  const group = groupOf(apiVersion);
  const ours = kindNames.filter((each) => groupOf(kinds[each].apiVersion) === group);
  const meant = ours.find((each) => isSlip(kind, each));
  if (meant !== undefined) {
    return {
      is: "wrong",
      text: `unknown kind ${quote(kind)}; did you mean ${meant}?`,
      field: "kind",
    };
  }
  if (group === groupOf(kinds.Terraform.apiVersion)) {
    const text = `unknown kind ${quote(kind)}; ${group} has only ${oneOf(ours)}`;
    return { is: "wrong", text, field: "kind" };
  }
  return foreign(kind, apiVersion, OTHERS);
}

const OTHERS = "Nigari keeps no objects of this kind";

function foreign(kind: string, apiVersion: string, why: string): Class {
  // Rubbish is shown as what it is; a name is shown as a name.
  const shown = (text: string) => (/^\w[\w./-]*$/.test(text) ? text : quote(text));
  return { is: "foreign", what: `${shown(kind)} (${shown(apiVersion)})`, why };
}

/** Kubernetes has many kinds, and some look alike: only what can hardly be another one. */
function isSlip(kind: string, known: string): boolean {
  const [given, wanted] = [kind.toLowerCase(), known.toLowerCase()];
  return given === `${wanted}s` || (kind.length > 5 && editSteps(given, wanted) <= 2);
}

function isListKind(kind: string): boolean {
  return kind === "List" || (kind.endsWith("List") && isKindName(kind.slice(0, -4)));
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
}
