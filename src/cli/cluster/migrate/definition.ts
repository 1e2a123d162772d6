import { at, listAt, textAt } from "../fields.ts";

/** Fields of a definition's schemas by version and path, such as `v1alpha2 spec.cloud.hostname`. */
function fieldsOf(definition: unknown): Set<string> {
  const found = new Set<string>();
  for (const version of listAt(definition, "spec", "versions")) {
    walk(at(version, "schema", "openAPIV3Schema"), textAt(version, "name"), found);
  }
  return found;
}

function walk(schema: unknown, path: string, found: Set<string>): void {
  const properties = at(schema, "properties");
  if (typeof properties === "object" && properties !== null) {
    for (const [name, each] of Object.entries(properties)) {
      const next = path.includes(" ") ? `${path}.${name}` : `${path} ${name}`;
      found.add(next);
      walk(each, next, found);
    }
  }
  for (const inner of ["items", "additionalProperties"]) {
    const each = at(schema, inner);
    if (typeof each === "object" && each !== null) walk(each, `${path}[]`, found);
  }
}

/** A schema that takes whatever stands there keeps it too. */
function openPaths(definition: unknown): string[] {
  const open: string[] = [];
  const look = (schema: unknown, path: string): void => {
    if (at(schema, "x-kubernetes-preserve-unknown-fields") === true) open.push(path);
    const properties = at(schema, "properties");
    if (typeof properties !== "object" || properties === null) return;
    for (const [name, each] of Object.entries(properties)) {
      look(each, path.includes(" ") ? `${path}.${name}` : `${path} ${name}`);
    }
  };
  for (const version of listAt(definition, "spec", "versions")) {
    look(at(version, "schema", "openAPIV3Schema"), textAt(version, "name"));
  }
  return open;
}

/** Fields that the one definition has and the other would drop; not what is below a lost one. */
export function lostFields(theirs: unknown, ours: unknown): string[] {
  const kept = fieldsOf(ours);
  const open = openPaths(ours);
  const isOpen = (path: string) =>
    open.some(
      (each) => path === each || path.startsWith(`${each}.`) || path.startsWith(`${each} `),
    );
  const lost = [...fieldsOf(theirs)].filter((path) => !kept.has(path) && !isOpen(path)).sort();
  return lost.filter(
    (path) => !lost.some((above) => path !== above && path.startsWith(`${above}.`)),
  );
}
