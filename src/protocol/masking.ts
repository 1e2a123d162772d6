import { stripVTControlCharacters } from "node:util";

/** What stands in the place of a secret; OpenTofu's own words for the same. */
export const MASKED = "(sensitive value)";

/** Shorter values are not masked: they occur everywhere, and hiding them hides the whole log. */
const LENGTH_MIN = 4;
/** Values that a variable may have, marked sensitive or not, and that every log is full of. */
const EVERYDAY = new Set(["true", "false", "null", "none", "default"]);

export interface Mask {
  /**
   * The text with every sensitive value, in any of the forms it may have taken, replaced; and
   * without what a terminal would obey, for programs print it and people look at it there.
   */
  readonly apply: (text: string) => string;
  /** Characters of the longest form: a cut within so many characters may split one. */
  readonly lengthMax: number;
}

/**
 * Masks the values as they are, each line of those with several lines, and the forms in which
 * programs print them: base64, escaped for JSON, escaped for a URL.
 */
export function maskOf(values: readonly string[]): Mask {
  const shown = values.flatMap((value) => [value, printable(value)]);
  const needles = [...new Set(shown.flatMap(formsOf))].filter(
    (form) => form.length >= LENGTH_MIN && !EVERYDAY.has(form.toLowerCase()),
  );
  if (needles.length === 0) return { apply: printable, lengthMax: 0 };
  // The longest first, so that a value that contains another is replaced whole.
  needles.sort((a, b) => b.length - a.length);
  const any = new RegExp(needles.map((needle) => escaped(needle)).join("|"), "g");
  return {
    apply: (text) => printable(text).replaceAll(any, MASKED),
    lengthMax: needles[0]?.length ?? 0,
  };
}

// Everything that is neither a letter nor a line's end nor a tab.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;

/** Without colours, titles, cursor movements and other characters that do not print. */
export function printable(text: string): string {
  if (!CONTROL.test(text)) return text;
  return stripVTControlCharacters(text).replaceAll(new RegExp(CONTROL, "g"), "");
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
      ...base64Forms(bytes).flatMap((form) => [form, urlSafe(form)]),
      encoded(part),
    ];
  });
}

/**
 * A value alone, and as a part of something longer, such as `user:password`: three bytes become
 * four characters, so there it looks different by where it begins, and the characters at its ends
 * depend on its neighbours. What lies between them does not.
 */
function base64Forms(bytes: Buffer): string[] {
  if (bytes.length < LENGTH_MIN) return [];
  const alone = bytes.toString("base64");
  const inside = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    const whole = Math.floor(((before + bytes.length) * 8) / 6);
    return text.slice(Math.ceil((before * 8) / 6), whole);
  });
  return [alone, alone.replace(/=+$/, ""), ...inside.filter((part) => part.length >= 6)];
}

function urlSafe(base64: string): string {
  return base64.replaceAll("+", "-").replaceAll("/", "_");
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
