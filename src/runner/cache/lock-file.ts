/** A provider as a dependency lock file (.terraform.lock.hcl) names it. */
export interface LockedProvider {
  /** Such as registry.opentofu.org/hashicorp/time. */
  readonly address: string;
  readonly version: string;
  /** As written, such as "~> 0.9, 0.14.2"; empty if anything will do. */
  readonly constraints: string;
  readonly hashes: readonly string[];
}

/** OpenTofu writes these files itself, each attribute on a line of its own. */
export function lockedProviders(text: string): LockedProvider[] {
  const blocks = text.matchAll(/^provider "([^"]+)" \{\n([\s\S]*?)^\}/gm);
  return [...blocks].map(([, address = "", body = ""]) => ({
    address,
    version: attribute(body, "version"),
    constraints: attribute(body, "constraints"),
    hashes: [...body.matchAll(/"((?:h1|zh):[^"]+)"/g)].map(([, hash = ""]) => hash),
  }));
}

function attribute(body: string, name: string): string {
  return new RegExp(`^\\s*${name}\\s*=\\s*"([^"]*)"`, "m").exec(body)?.[1] ?? "";
}

/** Whether its constraints leave no version but this one. */
export function isPinned({ version, constraints }: LockedProvider): boolean {
  return constraints.split(",").some((each) => each.trim().replace(/^=\s*/, "") === version);
}
