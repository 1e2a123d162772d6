/** Characters of a hash that an id shows. */
const HASH_LENGTH = 10;

/**
 * The id of a plan as tofu-controller makes it from the revision, so that scripts and approvals in
 * Git go on. Only a bare digest (`sha256:…`) shows more of its hash than there.
 */
export function planIdOf(revision: string): string {
  const at = revision.indexOf("@");
  if (at >= 0) {
    const digest = revision.slice(at + 1);
    return `plan-${revision.slice(0, at)}-${hashOf(digest)}`;
  }
  const parts = revision.split("/");
  if (parts.length === 2) return `plan-${parts[0]}-${(parts[1] ?? "").slice(0, HASH_LENGTH)}`;
  const bareDigest = /^([a-z0-9]+):(.+)$/i.exec(revision);
  if (bareDigest !== null) return `plan-${bareDigest[1]}:${hashOf(revision)}`;
  return `plan-${revision.slice(0, HASH_LENGTH)}`;
}

/**
 * The id under which a plan is shown: that of its revision, unless a person may already have seen
 * or approved another plan under it; then a piece of the plan file's digest tells them apart.
 */
export function uniquePlanId(
  revision: string,
  planDigest: string,
  taken: readonly (string | undefined)[],
): string {
  const id = planIdOf(revision);
  const used = taken.some((other) => other === id || other?.startsWith(`${id}-`));
  if (!used) return id;
  const own = `${id}-${planDigest.slice(0, 6)}`;
  return taken.includes(own) ? `${id}-${planDigest.slice(0, 16)}` : own;
}

function hashOf(digest: string): string {
  return digest.slice(digest.indexOf(":") + 1).slice(0, HASH_LENGTH);
}
