import { stripVTControlCharacters, styleText } from "node:util";

const wide = (text: string) => [...stripVTControlCharacters(text)].length;

/** Columns as kubectl prints them: upper-case heads, three spaces between. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = heads.map((head, column) =>
    Math.max(wide(head), ...rows.map((row) => wide(row[column] ?? ""))),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) =>
        column === cells.length - 1 ? cell : cell + " ".repeat((widths[column] ?? 0) - wide(cell)),
      )
      .join("   ")
      .trimEnd();
  return [heads, ...rows].map((cells) => `${line(cells)}\n`).join("");
}

/** Cuts text to a width, with an ellipsis. */
export function cut(text: string, width: number): string {
  const letters = [...text];
  return letters.length <= width ? text : `${letters.slice(0, Math.max(0, width - 1)).join("")}…`;
}

export type Colour = "green" | "red" | "yellow" | "cyan" | "dim" | "bold";

export function paint(colours: boolean, colour: Colour, text: string): string {
  return colours ? styleText(colour, text, { validateStream: false }) : text;
}

/** Wraps words to a width, each line behind `indent`. */
export function wrap(text: string, width: number, indent = ""): string {
  const lines: string[] = [];
  for (const paragraph of text.split("\n")) {
    let line = "";
    for (const word of paragraph.split(" ")) {
      if (line !== "" && wide(line) + 1 + wide(word) > width - indent.length) {
        lines.push(line);
        line = word;
      } else line = line === "" ? word : `${line} ${word}`;
    }
    lines.push(line);
  }
  return lines.map((line) => `${indent}${line}`.trimEnd()).join("\n");
}
