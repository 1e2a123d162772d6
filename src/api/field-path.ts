/** Where a value stands in an object: names of fields and numbers of items, from the top. */
export type FieldPath = readonly (string | number)[];

const PLAIN = /^[A-Za-z_][A-Za-z0-9_-]*$/;

/** As people write it: `spec.vars[0].name`, `metadata.labels["a.b/c"]`. */
export function fieldText(path: FieldPath): string {
  return path
    .map((step, index) => {
      if (typeof step === "number") return `[${step}]`;
      if (!PLAIN.test(step)) return `[${JSON.stringify(step)}]`;
      return index === 0 ? step : `.${step}`;
    })
    .join("");
}
