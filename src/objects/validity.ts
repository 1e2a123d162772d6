import type { FieldPath } from "../api/field-path.ts";
import { kinds } from "../api/kinds.ts";
import { errorAt, type Problem } from "./problem.ts";
import type { Stored } from "./shelf.ts";
import { quote } from "./words.ts";

/** etcd's limit of one request, which bounds every object of a cluster. */
export const OBJECT_BYTES_MAX = 1.5 * 1024 * 1024;
/** Kubernetes' limit on the values of one Secret or ConfigMap. */
export const DATA_BYTES_MAX = 1024 * 1024;
/** Kubernetes' limit on all annotations together. */
const ANNOTATION_BYTES_MAX = 256 * 1024;

const DNS_LABEL = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
const DATA_KEY = /^[-._a-zA-Z0-9]{1,253}$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Everything Kubernetes would refuse about the object's metadata, data and size. */
export function problemsOf(object: Stored): Problem[] {
  const bytes = Buffer.byteLength(JSON.stringify(object));
  if (bytes > OBJECT_BYTES_MAX) {
    return [errorAt([], `has ${bytes} bytes; at most ${OBJECT_BYTES_MAX} are possible`)];
  }
  return [...typeProblems(object), ...metadataProblems(object), ...dataProblems(object)];
}

function typeProblems({ kind, apiVersion }: Stored): Problem[] {
  const expected = kinds[kind].apiVersion;
  if (apiVersion === expected) return [];
  return [errorAt(["apiVersion"], `must be ${expected} for a ${kind}`)];
}

function metadataProblems({ metadata }: Stored): Problem[] {
  const { name, namespace, labels = {}, annotations = {}, finalizers = [] } = metadata;
  const problems: Problem[] = [];
  const check = (ok: boolean, path: FieldPath, text: string) => {
    if (!ok) problems.push(errorAt(["metadata", ...path], text));
  };
  check(isSubdomain(name), ["name"], `${quote(name)} is no valid name; ${SUBDOMAIN_MEND}`);
  check(
    namespace === undefined || (typeof namespace === "string" && DNS_LABEL.test(namespace)),
    ["namespace"],
    `${quote(namespace)} is no valid namespace; use at most 63 lower-case letters, digits and "-"`,
  );
  for (const [key, value] of Object.entries(labels)) {
    check(isQualifiedName(key), ["labels", key], `is no valid key; ${QUALIFIED_MEND}`);
    check(
      typeof value === "string" && LABEL_VALUE.test(value),
      ["labels", key],
      `${quote(value)} is no valid value; use at most 63 letters, digits, "-", "_", "."`,
    );
  }
  for (const [key, value] of Object.entries(annotations)) {
    check(
      isQualifiedName(key.toLowerCase()),
      ["annotations", key],
      `is no valid key; ${QUALIFIED_MEND}`,
    );
    check(typeof value === "string", ["annotations", key], "must be a string; put it in quotes");
  }
  check(
    Buffer.byteLength(JSON.stringify(annotations)) <= ANNOTATION_BYTES_MAX,
    ["annotations"],
    `are longer than ${ANNOTATION_BYTES_MAX} bytes together; keep the bulk elsewhere`,
  );
  finalizers.forEach((each, index) => {
    check(
      isQualifiedName(each),
      ["finalizers", index],
      `${quote(each)} is no valid finalizer; ${QUALIFIED_MEND}`,
    );
  });
  return [...problems, ...ownerProblems(metadata.ownerReferences ?? [])];
}

function ownerProblems(owners: NonNullable<Stored["metadata"]["ownerReferences"]>): Problem[] {
  const path = ["metadata", "ownerReferences"];
  const problems = owners.flatMap((owner, index) =>
    (["apiVersion", "kind", "name", "uid"] as const)
      .filter((field) => typeof owner[field] !== "string" || owner[field] === "")
      .map((field) => errorAt([...path, index, field], "must not be empty")),
  );
  if (owners.filter(({ controller }) => controller === true).length > 1) {
    problems.push(errorAt(path, "only one owner may be the controller"));
  }
  return problems;
}

function dataProblems(object: Stored): Problem[] {
  if (object.kind === "Secret") {
    const data = mapOf(object.data);
    const texts = mapOf(object.stringData);
    const mend = "; put plain text under stringData";
    const problems = [...base64Problems("data", data, mend), ...textProblems("stringData", texts)];
    return [...problems, ...sizeProblem("data", decodedBytes(data) + textBytes(texts))];
  }
  if (object.kind === "ConfigMap") {
    const data = mapOf(object.data);
    const binary = mapOf(object.binaryData);
    const problems = [...textProblems("data", data), ...base64Problems("binaryData", binary, "")];
    for (const key of Object.keys(data).filter((each) => Object.hasOwn(binary, each))) {
      problems.push(errorAt(["binaryData", key], "stands in data too; remove one"));
    }
    return [...problems, ...sizeProblem("data", decodedBytes(binary) + textBytes(data))];
  }
  return [];
}

type Values = Readonly<Record<string, unknown>>;

function textProblems(field: string, values: Values): Problem[] {
  return Object.entries(values).flatMap(([key, value]) => [
    ...keyProblem(field, key),
    ...(typeof value === "string"
      ? []
      : [errorAt([field, key], "must be a string; put it in quotes")]),
  ]);
}

function base64Problems(field: string, values: Values, mend: string): Problem[] {
  const wrong = Object.entries(values).filter(
    ([, value]) => typeof value === "string" && !isBase64(value),
  );
  return [
    ...textProblems(field, values),
    ...wrong.map(([key]) => errorAt([field, key], `is not base64${mend}`)),
  ];
}

function keyProblem(field: string, key: string): Problem[] {
  if (DATA_KEY.test(key) && key !== "." && !key.startsWith("..")) return [];
  return [errorAt([field, key], 'is no valid key; use letters, digits, "-", "_", "."')];
}

function sizeProblem(field: string, bytes: number): Problem[] {
  if (bytes <= DATA_BYTES_MAX) return [];
  return [errorAt([field], `has ${bytes} bytes of values; at most ${DATA_BYTES_MAX} are possible`)];
}

/** Standard base64 without the line breaks that people put into it. */
export function withoutBreaks(base64: string): string {
  return base64.replaceAll(/[\r\n]/g, "");
}
function isBase64(text: string): boolean {
  const bare = withoutBreaks(text);
  return bare.length % 4 === 0 && BASE64.test(bare);
}
function decodedBytes(values: Values): number {
  return strings(values).reduce(
    (sum, each) => sum + Buffer.byteLength(withoutBreaks(each), "base64"),
    0,
  );
}
function textBytes(values: Values): number {
  return strings(values).reduce((sum, each) => sum + Buffer.byteLength(each), 0);
}
function strings(values: Values): string[] {
  return Object.values(values).filter((each) => typeof each === "string");
}

const SUBDOMAIN_MEND =
  'use lower-case letters, digits, "-" and ".", beginning and ending with a letter or digit';
const QUALIFIED_MEND = 'use "name" or "domain/name" of letters, digits, "-", "_", "."';

function isSubdomain(text: unknown): text is string {
  return typeof text === "string" && text.length <= 253 && DNS_SUBDOMAIN.test(text);
}

/** `name` or `domain/name`, as keys of labels and annotations are. */
function isQualifiedName(text: unknown): boolean {
  if (typeof text !== "string") return false;
  const parts = text.split("/");
  const name = parts.pop() ?? "";
  if (name === "" || !LABEL_VALUE.test(name) || parts.length > 1) return false;
  return parts.length === 0 || isSubdomain(parts[0]);
}

export function mapOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}
