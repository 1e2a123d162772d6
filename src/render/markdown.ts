/** Text as Markdown shows it, whatever is in it: evidence is never taken as markup. */
export function escaped(text: string): string {
  return text.replace(/[\\`*_{}[\]<>#|!]/g, "\\$&").replace(/\s+/g, " ");
}

/** A table with columns of one width, as the formatter pads them. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = heads.map((_, column) =>
    Math.max(3, ...[heads, ...rows].map((row) => [...(row[column] ?? "")].length)),
  );
  const line = (row: readonly string[]) =>
    `| ${widths.map((size, column) => (row[column] ?? "").padEnd(size)).join(" | ")} |`;
  const rule = `| ${widths.map((size) => "-".repeat(size)).join(" | ")} |`;
  return [line(heads), rule, ...rows.map(line)].join("\n");
}

/** Text as code, fenced by more backticks than it holds. */
export function code(text: string): string {
  const plain = text.replace(/\s+/g, " ");
  const longest = Math.max(0, ...[...plain.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return longest === 0 ? `\`${plain}\`` : `${fence} ${plain} ${fence}`;
}
