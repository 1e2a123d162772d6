/**
 * Whether version `have` ("1.21.3", "1.26rc1", "1.5.7-dev") is at least `least`. A pre-release
 * counts as its release: these are floors, not pins.
 */
export function isAtLeast(have: string, least: string): boolean {
  const [ours, theirs] = [numbers(have), numbers(least)];
  for (const [index, wanted] of theirs.entries()) {
    const found = ours[index] ?? 0;
    if (found !== wanted) return found > wanted;
  }
  return true;
}

function numbers(version: string): number[] {
  return (/^\d+(\.\d+)*/.exec(version)?.[0] ?? "0").split(".").map(Number);
}
