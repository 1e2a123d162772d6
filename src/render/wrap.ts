/** Wraps words to a width: the first line behind `first` blanks, the others behind `rest`. */
export function wrapped(text: string, columns: number, first: number, rest: number): string[] {
  const lines: string[] = [];
  let line = " ".repeat(first);
  let empty = true;
  for (const word of text.split(" ")) {
    if (!empty && [...line].length + 1 + [...word].length > columns) {
      lines.push(line.trimEnd());
      line = " ".repeat(rest);
      empty = true;
    }
    line += empty ? word : ` ${word}`;
    empty = false;
  }
  lines.push(line.trimEnd());
  return lines;
}
