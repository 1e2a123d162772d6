/** Text as Markdown shows it, whatever is in it: evidence is never taken as markup. */
export function escaped(text: string): string {
  return text.replace(/[\\`*_{}[\]<>#|!]/g, "\\$&").replace(/\s+/g, " ");
}

/** Text as code, fenced by more backticks than it holds. */
export function code(text: string): string {
  const plain = text.replace(/\s+/g, " ");
  const longest = Math.max(0, ...[...plain.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return longest === 0 ? `\`${plain}\`` : `${fence} ${plain} ${fence}`;
}
