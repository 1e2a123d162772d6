/**
 * Whether a version such as "1.13.0" is newer than another. A pre-release counts as its release,
 * and what is no version is newer than nothing.
 */
export function isNewerVersion(version: string, than: string): boolean {
  const [ones, others] = [numbersOf(version), numbersOf(than)];
  for (const [index, number] of ones.entries()) {
    const other = others[index] ?? 0;
    if (number !== other) return number > other;
  }
  return false;
}

function numbersOf(version: string): number[] {
  return (/^v?(\d+(?:\.\d+)*)/.exec(version)?.[1] ?? "0").split(".").map(Number);
}
