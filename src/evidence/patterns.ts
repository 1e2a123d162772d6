/** One pattern that fits if any of these does; parts of a row that is too long for one line. */
export function anyOf(...patterns: readonly RegExp[]): RegExp {
  return new RegExp(patterns.map(({ source }) => `(?:${source})`).join("|"), "i");
}
