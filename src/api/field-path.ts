/** Where a value stands in an object: names of fields and numbers of items, from the top. */
export type FieldPath = readonly (string | number)[];

/** What is kept of a name in a message: longer than any that a schema or Kubernetes takes. */
const NAME_MAX = 1_000;
const PLAIN = /^[A-Za-z_][A-Za-z0-9_-]*$/;

/** As people write it: `spec.vars[0].name`, `metadata.labels["a.b/c"]`. */
export function fieldText(path: FieldPath): string {
  return path
    .map((step, index) => {
      if (typeof step === "number") return `[${step}]`;
      const name = step.length > NAME_MAX ? `${step.slice(0, NAME_MAX)}…` : step;
      if (!PLAIN.test(step)) return `[${JSON.stringify(name)}]`;
      return index === 0 ? name : `.${name}`;
    })
    .join("");
}
