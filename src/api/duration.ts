const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};
const TERM = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/gy;

/** Reads a Go duration ("1h30m", "-1.5s", "0") in milliseconds; undefined if it is none. */
export function parseDuration(text: string): number | undefined {
  const sign = text.startsWith("-") ? -1 : 1;
  const body = text.replace(/^[+-]/, "");
  if (body === "0") return 0;
  let total = 0;
  let end = 0;
  TERM.lastIndex = 0;
  for (let term = TERM.exec(body); term !== null; term = TERM.exec(body)) {
    total += Number(term[1]) * (UNIT_MS[term[2] ?? ""] ?? Number.NaN);
    end = TERM.lastIndex;
  }
  return end === body.length && end > 0 && Number.isFinite(total) ? sign * total : undefined;
}

/** Milliseconds as people read them: "850ms", "12s", "3m20s", "2h5m", "3d4h". */
export function formatDuration(ms: number): string {
  if (ms < 0) return `-${formatDuration(-ms)}`;
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  const seconds = Math.round(ms / 1_000);
  const parts: [number, string][] = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3_600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [seconds % 60, "s"],
  ];
  const first = parts.findIndex(([amount]) => amount > 0);
  return parts
    .slice(first, first + 2)
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount}${unit}`)
    .join("");
}
