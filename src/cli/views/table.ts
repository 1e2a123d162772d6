import { stripVTControlCharacters, styleText } from "node:util";

const wide = (text: string) => [...stripVTControlCharacters(text)].length;

/** The column that gives way where the screen is narrow. */
export interface Elastic {
  readonly head: string;
  /** Of the screen. */
  readonly columns: number;
}
const ELASTIC_MIN = 20;

/** Columns as kubectl prints them: upper-case heads, three spaces between. */
export function table(
  heads: readonly string[],
  all: readonly (readonly string[])[],
  elastic?: Elastic,
): string {
  const widthsOf = (rows: readonly (readonly string[])[]) =>
    heads.map((head, column) =>
      rows.reduce((most, row) => Math.max(most, wide(row[column] ?? "")), wide(head)),
    );
  const at = elastic === undefined ? -1 : heads.indexOf(elastic.head);
  const natural = widthsOf(all);
  const others = natural.reduce((sum, width, column) => (column === at ? sum : sum + width + 3), 0);
  const room = Math.max(ELASTIC_MIN, (elastic?.columns ?? 0) - others);
  const rows = all.map((row) =>
    row.map((cell, column) => (column === at ? cut(cell, room) : cell)),
  );
  const widths = widthsOf(rows);
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
