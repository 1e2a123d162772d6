/**
 * Picks a tag by a range of semantic versions, with the rules that Flux's users know (those of
 * Masterminds/semver): `^1.2`, `~1.2.3`, `>=1.0 <2.0`, `1.x`, `1.2 - 2.3`, `||` and `,`. A range
 * takes a pre-release only where its own bound names one.
 */
export interface Version {
  readonly numbers: readonly [number, number, number];
  /** Empty for a release. */
  readonly prerelease: readonly string[];
}

/** A half-open stretch of versions, or all but it. */
interface Stretch {
  readonly from: Version | undefined;
  /** Excluded. */
  readonly to: Version | undefined;
  readonly outside: boolean;
  readonly prereleases: boolean;
}
/** Any of the rows; every stretch of a row. */
export type VersionRange = readonly (readonly Stretch[])[];

const VERSION = /^v?(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/;
const PART = "(?:\\d+|[xX*])";
const TERM = new RegExp(
  `^(=|==|!=|>|<|>=|=>|<=|=<|~|~>|\\^)?\\s*v?(${PART})(?:\\.(${PART}))?(?:\\.(${PART}))?` +
    "(?:-([0-9A-Za-z.-]+))?(?:\\+[0-9A-Za-z.-]+)?$",
);

/** A whole version `1.2.3`, with or without `v`; undefined if it is none. */
export function parseVersion(text: string): Version | undefined {
  const match = VERSION.exec(text);
  if (match === null) return undefined;
  return {
    numbers: [Number(match[1]), Number(match[2]), Number(match[3])],
    prerelease: match[4]?.split(".") ?? [],
  };
}

/** Undefined if the text is no range. */
export function parseRange(text: string): VersionRange | undefined {
  const rows = text.split("||").map(parseRow);
  return rows.every((row) => row !== undefined) ? rows : undefined;
}

/** The highest version of the range among these tags; undefined if none is in it. */
export function highest(tags: readonly string[], range: VersionRange): string | undefined {
  let best: { tag: string; version: Version } | undefined;
  for (const tag of tags) {
    const version = parseVersion(tag);
    if (version === undefined || !inRange(version, range)) continue;
    if (best === undefined || compareVersions(version, best.version) > 0) best = { tag, version };
  }
  return best?.tag;
}

export function inRange(version: Version, range: VersionRange): boolean {
  return range.some((row) => row.every((stretch) => inStretch(version, stretch)));
}

/** Negative, zero or positive, by precedence of semantic versions. */
export function compareVersions(a: Version, b: Version): number {
  for (const index of [0, 1, 2] as const) {
    const difference = a.numbers[index] - b.numbers[index];
    if (difference !== 0) return difference;
  }
  if (a.prerelease.length === 0 || b.prerelease.length === 0) {
    return b.prerelease.length - a.prerelease.length;
  }
  for (let index = 0; ; index++) {
    const [left, right] = [a.prerelease[index], b.prerelease[index]];
    if (left === undefined || right === undefined) {
      return Number(left !== undefined) - Number(right !== undefined);
    }
    const difference = compareIdentifiers(left, right);
    if (difference !== 0) return difference;
  }
}

function compareIdentifiers(a: string, b: string): number {
  const [aNumeric, bNumeric] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (aNumeric && bNumeric) return Number(a) - Number(b);
  if (aNumeric !== bNumeric) return aNumeric ? -1 : 1;
  return a < b ? -1 : Number(a > b);
}

function inStretch(version: Version, stretch: Stretch): boolean {
  if (version.prerelease.length > 0 && !stretch.prereleases) return false;
  const inside =
    (stretch.from === undefined || compareVersions(version, stretch.from) >= 0) &&
    (stretch.to === undefined || compareVersions(version, stretch.to) < 0);
  return inside !== stretch.outside;
}

function parseRow(text: string): Stretch[] | undefined {
  const hyphen = /^\s*(\S+)\s+-\s+(\S+)\s*$/.exec(text);
  const terms =
    hyphen === null
      ? text.replaceAll(/([<>=~^!]+)\s+/g, "$1").split(/[\s,]+/)
      : [`>=${hyphen[1]}`, `<=${hyphen[2]}`];
  const stretches = terms.filter((term) => term !== "").map(parseTerm);
  if (stretches.length === 0) return undefined;
  return stretches.every((stretch) => stretch !== undefined) ? stretches : undefined;
}

function parseTerm(term: string): Stretch | undefined {
  const match = TERM.exec(term);
  if (match === null) return undefined;
  const parts = [match[2], match[3], match[4]].map((part) =>
    part === undefined || /[xX*]/.test(part) ? undefined : Number(part),
  );
  // Everything behind the first wildcard is one too: 1.x.3 means 1.x.
  const known = parts.indexOf(undefined);
  const numbers = (known === -1 ? parts : parts.slice(0, known)).map(Number);
  const prerelease = numbers.length === 3 ? (match[5]?.split(".") ?? []) : [];
  const from: Version = { numbers: padded(numbers), prerelease };
  const bounds = boundsOf(match[1] ?? "", numbers, from);
  return { outside: false, ...bounds, prereleases: prerelease.length > 0 };
}

type Bounds = Pick<Stretch, "from" | "to"> & { readonly outside?: boolean };

function boundsOf(operator: string, numbers: number[], from: Version): Bounds {
  const past = numbers.length === 3 ? justPast(from) : next(numbers, numbers.length);
  switch (operator) {
    case ">":
      return { from: past, to: past === undefined ? from : undefined };
    case ">=":
    case "=>":
      return { from, to: undefined };
    case "<":
      return { from: undefined, to: from };
    case "<=":
    case "=<":
      return { from: undefined, to: past };
    case "!=":
      return { from, to: past, outside: true };
    case "~":
    case "~>":
      return { from, to: next(numbers, Math.min(numbers.length, 2)) };
    case "^": {
      // The leftmost number that is not zero must stay; 0.0 keeps its last known one.
      const fixed = numbers.findIndex((number) => number > 0);
      return { from, to: next(numbers, fixed === -1 ? numbers.length : fixed + 1) };
    }
    default:
      return { from, to: past };
  }
}

/** The first version that differs in one of the leading `count` numbers; undefined for none. */
function next(numbers: readonly number[], count: number): Version | undefined {
  if (count === 0) return undefined;
  const leading = numbers.slice(0, count);
  leading[count - 1] = (leading[count - 1] ?? 0) + 1;
  // "-0" comes before every pre-release of that version, so none of them slips in.
  return { numbers: padded(leading), prerelease: ["0"] };
}

/** The lowest version above this one. */
function justPast(version: Version): Version {
  return version.prerelease.length > 0
    ? { ...version, prerelease: [...version.prerelease, "0"] }
    : {
        numbers: padded([...version.numbers.slice(0, 2), version.numbers[2] + 1]),
        prerelease: ["0"],
      };
}

function padded(numbers: readonly number[]): [number, number, number] {
  return [numbers[0] ?? 0, numbers[1] ?? 0, numbers[2] ?? 0];
}
