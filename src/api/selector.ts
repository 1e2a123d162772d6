/** Which labels an object must have: every requirement must hold. */
export type Selector = readonly Requirement[];
export interface Requirement {
  readonly key: string;
  /** `in` and `not-in` look at the value; an object without the label fits `not-in`. */
  readonly is: "there" | "absent" | "in" | "not-in";
  readonly values: readonly string[];
}

const KEY = "[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?";
const VALUE = "(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?";
const EQUALS = new RegExp(`^(?<key>${KEY})\\s*(?<sign>==|=|!=)\\s*(?<value>${VALUE})$`);
const SET = new RegExp(`^(?<key>${KEY})\\s+(?<sign>in|notin)\\s*\\((?<values>[^()]*)\\)$`);
const PLAIN = new RegExp(`^(?<not>!)?\\s*(?<key>${KEY})$`);

/** Reads a selector as kubectl takes it: `a=b,c!=d,e in (f,g),h,!i`; undefined if it is none. */
export function parseSelector(text: string): Selector | undefined {
  const parts = text.split(/,(?![^(]*\))/).map((part) => part.trim());
  const read = parts.map(requirement);
  return read.every((each) => each !== undefined) ? read : undefined;
}

/** Whether an object with these labels is selected. */
export function selects(
  selector: Selector,
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  return selector.every((each) => fits(each, labels ?? {}));
}

function fits({ key, is, values }: Requirement, labels: Readonly<Record<string, string>>): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (is) {
    case "there":
      return value !== undefined;
    case "absent":
      return value === undefined;
    case "in":
      return value !== undefined && values.includes(value);
    case "not-in":
      return value === undefined || !values.includes(value);
  }
}

function requirement(part: string): Requirement | undefined {
  const equals = EQUALS.exec(part)?.groups;
  if (equals !== undefined) {
    const { key = "", sign, value = "" } = equals;
    return { key, is: sign === "!=" ? "not-in" : "in", values: [value] };
  }
  const set = SET.exec(part)?.groups;
  if (set !== undefined) {
    const { key = "", sign, values = "" } = set;
    const each = values.split(",").map((value) => value.trim());
    return { key, is: sign === "in" ? "in" : "not-in", values: each };
  }
  const plain = PLAIN.exec(part)?.groups;
  if (plain === undefined) return undefined;
  return { key: plain.key ?? "", is: plain.not === "!" ? "absent" : "there", values: [] };
}
