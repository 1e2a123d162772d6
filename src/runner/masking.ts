/** What stands in the place of a secret; OpenTofu's own words for the same. */
export const MASKED = "(sensitive value)";

/** Shorter values are not masked: they occur everywhere, and hiding them hides the whole log. */
const LENGTH_MIN = 4;
/** Values that a variable may have, marked sensitive or not, and that every log is full of. */
const EVERYDAY = new Set(["true", "false", "null", "none", "default"]);

export interface Mask {
  /** The text with every sensitive value, in any of the forms it may have taken, replaced. */
  readonly apply: (text: string) => string;
  /** Characters of the longest form: a cut within so many characters may split one. */
  readonly lengthMax: number;
}

/**
 * Masks the values as they are, each line of those with several lines, and the forms in which
 * programs print them: base64, escaped for JSON, escaped for a URL.
 */
export function maskOf(values: readonly string[]): Mask {
  const needles = [...new Set(values.flatMap(formsOf))].filter(
    (form) => form.length >= LENGTH_MIN && !EVERYDAY.has(form.toLowerCase()),
  );
  if (needles.length === 0) return { apply: (text) => text, lengthMax: 0 };
  // The longest first, so that a value that contains another is replaced whole.
  needles.sort((a, b) => b.length - a.length);
  const any = new RegExp(needles.map((needle) => escaped(needle)).join("|"), "g");
  return {
    apply: (text) => text.replaceAll(any, MASKED),
    lengthMax: needles[0]?.length ?? 0,
  };
}

function formsOf(value: string): string[] {
  const lines = value.split(/\r?\n/).map((line) => line.trim());
  return [value, ...lines].flatMap((part) => {
    const bytes = Buffer.from(part, "utf8");
    const json = JSON.stringify(part).slice(1, -1);
    return [
      part,
      json,
      // Go's encoder also escapes these three.
      json.replaceAll("<", "\\u003c").replaceAll(">", "\\u003e").replaceAll("&", "\\u0026"),
      ...(part.length < LENGTH_MIN ? [] : [unpadded(bytes.toString("base64"))]),
      ...(part.length < LENGTH_MIN ? [] : [bytes.toString("base64url")]),
      encoded(part),
    ];
  });
}

/** The padding depends on what follows, and may be left out. */
function unpadded(base64: string): string {
  return base64.replace(/=+$/, "");
}

function encoded(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    // Half a character: it has no such form.
    return text;
  }
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
