// How a runner that was started ahead is given its run: one line of JSON on its input. The order of
// the run itself comes later, over its socket, as to any runner.

export interface HandedRun {
  /** The run folder, in which the platform has put run.json and launch.json. */
  readonly folder: string;
  /** The whole environment, in the place of the one that the runner was started with. */
  readonly env: Readonly<Record<string, string>>;
}

/** Argument, in the place of a run folder, that makes a runner stand by. */
export const STANDBY = "--standby";
/** Its log, in the folder of all runs; it becomes the runner.log of the run it is given. */
export const SPARE_LOG = ".spare.log";
/** What such a runner says in its log once it can be given a run. */
export const STANDING_BY = "standing by";
/** How long it stands by at most: as long as objects are usually looked at again, and a half. */
export const STANDBY_MS = 15 * 60_000;

/** Variables that are read when a program starts, so that it is late to change them afterwards. */
const READ_AT_START = [
  /^(NODE|UV|ICU|GRPC|OPENSSL|SSL|MALLOC|GLIBC|LD|DYLD|LC)_/,
  /^(TZ|TZDIR|LANG|LANGUAGE)$/,
  /^(http|https|no|all)_proxy$/i,
];

/** The line that hands a run over. */
export function handOverLine(run: HandedRun): string {
  return `${JSON.stringify(run)}\n`;
}

/** Reads such a line; undefined if it is none. */
export function handedRun(line: string): HandedRun | undefined {
  try {
    const { folder, env } = JSON.parse(line) as Partial<HandedRun>;
    if (typeof folder !== "string" || typeof env !== "object" || env === null) return undefined;
    if (Object.values(env).some((value) => typeof value !== "string")) return undefined;
    return { folder, env };
  } catch {
    return undefined;
  }
}

/** Whether a program that was started with the one is as if it had been started with the other. */
export function startsAlike(
  one: Readonly<Record<string, string>>,
  other: Readonly<Record<string, string>>,
): boolean {
  const names = [...Object.keys(one), ...Object.keys(other)];
  const early = names.filter((name) => READ_AT_START.some((pattern) => pattern.test(name)));
  return early.every((name) => one[name] === other[name]);
}
