const SHOWN_MAX = 60;
/** Longer than any name a schema knows; bounds the work for what a text may bring. */
const WORD_MAX = 100;

/** A value as it stands in a message: in quotes if it is text, cut if it is long. */
export function quote(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX - 1)}…` : text;
}

/** "a", "a or b", "a, b or c". */
export function oneOf(words: readonly string[]): string {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

/** The candidate that was probably meant; undefined if none is near. Upper and lower case agree. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const wanted = word.toLowerCase();
  const reach = Math.max(1, Math.floor(word.length / 3));
  let best: { candidate: string; steps: number } | undefined;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) > reach) continue;
    const steps = editSteps(wanted, candidate.toLowerCase());
    if (steps <= reach && (best === undefined || steps < best.steps)) best = { candidate, steps };
  }
  return best?.candidate;
}

/** How many letters must be added, dropped, changed or swapped to make one word of the other. */
export function editSteps(from: string, to: string): number {
  if (Math.max(from.length, to.length) > WORD_MAX) return Number.POSITIVE_INFINITY;
  let before: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1] ? 0 : 1;
      let steps = Math.min(
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (previous[column - 1] ?? 0) + same,
      );
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (row > 1 && column > 1 && swapped) steps = Math.min(steps, (before[column - 2] ?? 0) + 1);
      current.push(steps);
    }
    before = previous;
    previous = current;
  }
  return previous[to.length] ?? 0;
}
