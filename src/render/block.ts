/*
 * A block of text between two marker lines of a file that is otherwise somebody else's. Outside
 * the markers no byte changes.
 */

/** What is wrong with the markers of a file, to be mended by a person. */
export class BlockError extends Error {}

/**
 * The file's text with the block put between the markers of this name; appended if there are none,
 * behind `title` if there is no text at all. Putting the same block twice changes nothing. Markers
 * that are not one pair in order are a BlockError.
 */
export function putBlock(
  text: string | undefined,
  name: string,
  block: string,
  title: string,
): string {
  if (text === undefined || text === "") {
    return `${title === "" ? "" : `${title}\n\n`}${blockText(name, block, "\n")}\n`;
  }
  const newline = text.includes("\r\n") ? "\r\n" : "\n";
  const put = blockText(name, block, newline);
  const place = findBlock(text, name);
  if (place !== undefined) return text.slice(0, place.from) + put + text.slice(place.to);
  const gap = text.endsWith("\n") ? newline : newline + newline;
  return `${text}${gap}${put}${newline}`;
}

function blockText(name: string, block: string, newline: string): string {
  const begin = `${opening(name, "begin")} (rendered; what is changed in here is lost) -->`;
  return [begin, "", ...block.split("\n"), "", `${opening(name, "end")} -->`].join(newline);
}

const opening = (name: string, edge: "begin" | "end") => `<!-- nigari:${name}:${edge}`;

/** From the first character of the begin marker to behind the last one of the end marker. */
function findBlock(text: string, name: string): { from: number; to: number } | undefined {
  const [begin, secondBegin] = markers(text, opening(name, "begin"));
  const [end, secondEnd] = markers(text, opening(name, "end"));
  if (begin === undefined && end === undefined) return undefined;
  const twice = secondBegin ?? secondEnd;
  if (twice !== undefined) throw wrong(text, twice.from, "stands here a second time");
  if (begin === undefined) throw wrong(text, end?.from ?? 0, "has no beginning before it");
  if (end === undefined) throw wrong(text, begin.from, "has no end after it");
  if (end.from < begin.from) throw wrong(text, end.from, "ends before it begins");
  return { from: begin.from, to: end.to };
}

function wrong(text: string, at: number, what: string): BlockError {
  const line = text.slice(0, at).split("\n").length;
  return new BlockError(`The marker in line ${line} ${what}; leave one begin and one end of it`);
}

/** Marker lines, whatever remark an older version wrote into them. */
function markers(text: string, opening: string): { from: number; to: number }[] {
  const found: { from: number; to: number }[] = [];
  for (let at = text.indexOf(opening); at >= 0; at = text.indexOf(opening, at + 1)) {
    const close = text.indexOf("-->", at);
    const lineEnd = text.indexOf("\n", at);
    const isWhole = close >= 0 && (lineEnd < 0 || close < lineEnd);
    if ((at === 0 || text[at - 1] === "\n") && isWhole) found.push({ from: at, to: close + 3 });
  }
  return found;
}
