import { type KindName, kindNames, kinds } from "../api/kinds.ts";
import { CliError, EXIT } from "./world.ts";

/** The kind a person means by "tf", "terraforms", "Terraform", "secret" and so on. */
export function kindNamed(text: string): KindName {
  const wanted = text.toLowerCase();
  const found = kindNames.find(
    (kind) =>
      kind.toLowerCase() === wanted ||
      kinds[kind].plural === wanted ||
      kinds[kind].shortNames.includes(wanted),
  );
  if (found === undefined) {
    const known = kindNames.map((kind) => kinds[kind].plural).join(", ");
    throw new CliError(EXIT.usage, `Unknown kind "${text}"; known kinds: ${known}`);
  }
  return found;
}

/** Splits "kind/name", "name" (a Terraform), or leaves the kind to a list. */
export function target(
  words: readonly string[],
  fallback: KindName = "Terraform",
): { kind: KindName; name: string | undefined } {
  const [first, second] = words;
  if (first === undefined) return { kind: fallback, name: undefined };
  if (second !== undefined) return { kind: kindNamed(first), name: second };
  const slash = first.indexOf("/");
  if (slash > 0) return { kind: kindNamed(first.slice(0, slash)), name: first.slice(slash + 1) };
  try {
    return { kind: kindNamed(first), name: undefined };
  } catch {
    return { kind: fallback, name: first };
  }
}
