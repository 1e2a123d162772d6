import { type FieldPath, fieldText } from "../api/field-path.ts";

/** Something wrong with an object. */
export interface Problem {
  readonly severity: "error" | "warning";
  /** Where it is; for what is missing, where it should be. */
  readonly path: FieldPath;
  /** Names the field and the mend; follows the object's name and a colon. Shows no secret. */
  readonly text: string;
  /** Whether it is the field's name that is wrong, not its value. */
  readonly onKey?: true;
}

/** An error about the value at `path`, or about the whole object if that is empty. */
export function errorAt(path: FieldPath, text: string): Problem {
  return { severity: "error", path, text: textAt(path, text) };
}

export function warningAt(path: FieldPath, text: string): Problem {
  return { severity: "warning", path, text: textAt(path, text) };
}

function textAt(path: FieldPath, text: string): string {
  return path.length === 0 ? text : `${fieldText(path)}: ${text}`;
}
