/** Something to tell a person about what they wrote. Travels as data, beside what could be read. */
export interface Diagnostic {
  readonly severity: "error" | "warning";
  /** One line that names object, field and mend; capital first, no final stop. No secret. */
  readonly summary: string;
  /** More, where a line is not enough. */
  readonly detail?: string;
  readonly file?: string;
  /** From 1. */
  readonly line?: number;
  /** From 1, in characters. */
  readonly column?: number;
}

/** As compilers write it, so that editors jump there: `app.yaml:3:5: error: …`. */
export function diagnosticText({ severity, summary, detail, ...place }: Diagnostic): string {
  const where = [place.file, place.line, place.column].filter((part) => part !== undefined);
  const head = where.length === 0 ? "" : `${where.join(":")}: `;
  return `${head}${severity}: ${summary}${detail === undefined ? "" : `\n${detail}`}`;
}
