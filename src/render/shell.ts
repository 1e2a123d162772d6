/**
 * A shell command on lines of a width, still to be copied and run as it stands: broken at blanks,
 * with a backslash outside quotes and without one inside, where a newline is as good as a blank.
 */
export function wrappedCommand(command: string, columns: number, indent: number): string[] {
  const blank = " ".repeat(indent);
  const lines: string[] = [];
  let line = blank;
  let quoted = false;
  for (const word of command.split(" ")) {
    const room = columns - (quoted ? 0 : 2);
    if (line !== blank && line.trim() !== "" && line.length + 1 + word.length > room) {
      lines.push(quoted ? line : `${line} \\`);
      line = `${blank}  ${word}`;
    } else line = line.trim() === "" ? `${line}${word}` : `${line} ${word}`;
    if ((word.match(/'/g)?.length ?? 0) % 2 === 1) quoted = !quoted;
  }
  lines.push(line);
  return lines;
}
