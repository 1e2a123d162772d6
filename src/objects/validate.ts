import type { Diagnostic } from "../api/diagnostic.ts";
import { parseDuration } from "../api/duration.ts";
import type { FieldPath } from "../api/field-path.ts";
import { type KindName, kindNames, kinds } from "../api/kinds.ts";
import { errorAt, type Problem, warningAt } from "./problem.ts";
import { PROBLEMS_MAX, type Schema, schemaProblems } from "./schema.ts";
import type { Stored } from "./shelf.ts";
import { mapOf, problemsOf } from "./validity.ts";
import { nearest, quote } from "./words.ts";

/**
 * Everything wrong with an object of a kind we know: its schema, what Kubernetes refuses, and what
 * makes no sense. Without an error among them it is an object of that kind, once fields without a
 * value (`null`) are taken out.
 */
export function problemsIn(kind: KindName, object: unknown): Problem[] {
  const problems = allProblems(kind, object).map((each) => inKnownTerms(kind, each));
  if (problems.length < PROBLEMS_MAX) return problems;
  const more = errorAt([], `has more faults than these ${PROBLEMS_MAX}; mend them first`);
  return [...problems.slice(0, PROBLEMS_MAX), more];
}

/** Fields that Flux knows and this version does not obey: no typo, so no guess what was meant. */
const notObeyed: { readonly [K in KindName]?: readonly string[] } = {
  GitRepository: [
    "accessFrom",
    "gitImplementation",
    "include",
    "provider",
    "proxySecretRef",
    "serviceAccountName",
    "sparseCheckout",
    "verify",
  ],
};

function inKnownTerms(kind: KindName, problem: Problem): Problem {
  const [top, field] = problem.path;
  if (problem.onKey !== true || top !== "spec" || problem.path.length !== 2) return problem;
  if (!(notObeyed[kind] ?? []).includes(String(field))) return problem;
  return { ...errorAt(problem.path, "is not obeyed by this version; remove it"), onKey: true };
}

function allProblems(kind: KindName, object: unknown): Problem[] {
  const problems = schemaProblems(kinds[kind].schema as Schema, object);
  const errors = problems.filter(({ severity }) => severity === "error");
  // The later checks lean on what they look at having the right types.
  if (errors.some(({ path }) => path[0] !== "spec" && path[0] !== "status")) return problems;
  const bare = withoutNulls(object, problems) as Stored;
  problems.push(...problemsOf(bare));
  if (errors.length === 0) problems.push(...(senseOf[kind]?.(mapOf(bare.spec)) ?? []));
  return problems;
}

/** The same for whatever arrives over a wire, without positions. */
export function validateObject(object: unknown): Diagnostic[] {
  const { kind, metadata } = mapOf(object);
  if (!isKindName(kind)) {
    const known = kindNames.join(", ");
    return [{ severity: "error", summary: `Kind ${quote(kind)} is not kept; use ${known}` }];
  }
  const name = objectName(kind, metadata);
  return problemsIn(kind, object).map(({ severity, text }) => ({
    severity,
    summary: `${name}: ${text}`,
  }));
}

/** `Terraform/default/app`, as far as it is known. */
export function objectName(kind: string, metadata: unknown): string {
  const { name, namespace = "default" } = mapOf(metadata);
  if (typeof name !== "string" || name === "") return `${kind} without a name`;
  return `${kind}/${typeof namespace === "string" ? namespace : "?"}/${name}`;
}

export function isKindName(kind: unknown): kind is KindName {
  return (kindNames as unknown[]).includes(kind);
}

/** A copy without the fields that were warned of for having no value. */
export function withoutNulls(object: unknown, problems: readonly Problem[]): unknown {
  const copy: unknown = structuredClone(object);
  for (const { severity, path } of problems) {
    if (severity === "warning") removeNull(copy, path);
  }
  return copy;
}

function removeNull(object: unknown, path: FieldPath): void {
  let holder: unknown = object;
  for (const step of path.slice(0, -1)) {
    holder = (holder as Readonly<Record<string | number, unknown>>)[step];
  }
  const map = holder as Record<string | number, unknown>;
  const last = path.at(-1);
  if (last !== undefined && map[last] === null) delete map[last];
}

type Spec = Readonly<Record<string, unknown>>;

/** What no schema can say. The spec has the types of its schema. */
const senseOf: { readonly [K in KindName]?: (spec: Spec) => Problem[] } = {
  Terraform: (spec) => [
    ...intervalProblems(spec),
    ...["retryInterval", "maxRetryInterval"].flatMap((field) => negative(spec, field)),
    ...approvalProblems(spec),
    ...keyProblems(spec),
  ],
  GitRepository: (spec) => [...intervalProblems(spec), ...urlProblems(spec)],
};

function intervalProblems({ interval }: Spec): Problem[] {
  if (typeof interval !== "string" || (parseDuration(interval) ?? 1) > 0) return [];
  return [errorAt(["spec", "interval"], `${quote(interval)} is not longer than 0; write 5m or so`)];
}

function negative(spec: Spec, field: string): Problem[] {
  const value = spec[field];
  if (typeof value !== "string" || (parseDuration(value) ?? 0) >= 0) return [];
  return [errorAt(["spec", field], `${quote(value)} is negative; remove the "-"`)];
}

/** Any other text is the id of a plan, so that a slip here would mean: never apply. */
function approvalProblems({ approvePlan }: Spec): Problem[] {
  if (typeof approvePlan !== "string" || /^(|auto|disable|plan-.*|replan.*)$/s.test(approvePlan)) {
    return [];
  }
  const meant = nearest(approvePlan, ["auto", "disable"]);
  if (meant === undefined) return [];
  const text = `${quote(approvePlan)} is taken as the id of a plan; did you mean ${meant}?`;
  return [warningAt(["spec", "approvePlan"], text)];
}

function keyProblems({ varsFrom }: Spec): Problem[] {
  const sources = Array.isArray(varsFrom) ? varsFrom : [];
  return sources.flatMap((source, index) => {
    const keys = mapOf(source).varsKeys;
    return (Array.isArray(keys) ? keys : []).flatMap((key, at) => {
      if (typeof key !== "string" || /^[^:]+(:[^:]+)?$/.test(key)) return [];
      const path = ["spec", "varsFrom", index, "varsKeys", at];
      return [errorAt(path, `${quote(key)} is no key; write key or key:newName`)];
    });
  });
}

const URL_MEND =
  "write https://, ssh:// or file://, an absolute path, or in a manifest a path that begins with ./";

function urlProblems({ url }: Spec): Problem[] {
  if (typeof url !== "string" || /^(https?|ssh|file):\/\/[^\s]+$|^\/[^\n]*$/.test(url)) return [];
  const path = ["spec", "url"];
  if (url.startsWith(".")) {
    return [errorAt(path, `${quote(url)} is relative to no folder here; write an absolute path`)];
  }
  if (/^[^\s/]+:/.test(url) && !url.includes("://")) {
    return [errorAt(path, "has scp's form host:path; write ssh://git@host/path")];
  }
  return [errorAt(path, `is no address of a repository; ${URL_MEND}`)];
}
