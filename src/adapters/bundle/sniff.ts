/** What a file holds, told from its name and its first lines. */
export type FileKind =
  | "objects-json"
  | "objects-yaml"
  | "time"
  | "metrics"
  | "goroutines"
  | "drops"
  | "hubble"
  | "log"
  | "other";

/** How much of a file is looked at. */
export const HEAD_CHARACTERS = 16 * 1024;

export function fileKind(path: string, head: string): FileKind {
  const start = head.trimStart();
  if (start === "") return /\.(log|txt)$/.test(path) ? "log" : "other";
  if (/^\d{4}-\d\d-\d\dT[\d:.]+Z?\s*$/.test(start)) return "time";
  if (/^goroutine (\d+ \[|profile: )/.test(start)) return "goroutines";
  if (/^# (HELP|TYPE) \S/m.test(start) || /^[a-z_]+\{[^}]*\} [\d.e+]+$/m.test(start)) {
    return "metrics";
  }
  if (/^.{0,120}xx drop \(/m.test(start)) return "drops";
  if (/drop/i.test(path) && /^(Listening for events|Press Ctrl-C|CPU \d+:)/m.test(start)) {
    return "drops";
  }
  if (start.startsWith("{") || start.startsWith("[")) return jsonKind(path, start);
  if (/\.ya?ml$/.test(path)) return "objects-yaml";
  if (/\.(log|previous)$/.test(path) || /(^|\/)logs?\.txt$/.test(path)) return "log";
  if (/^(---\s*\n)?(apiVersion|kind|items|metadata):/.test(start)) return "objects-yaml";
  return looksLikeLog(start) ? "log" : "other";
}

function jsonKind(path: string, start: string): FileKind {
  if (/\.log$/.test(path)) return "log";
  const first = start.slice(0, start.indexOf("\n") < 0 ? undefined : start.indexOf("\n"));
  const keys = /^\{\s*"([^"]+)"/.exec(first)?.[1];
  if (keys === "flow" || (/"flow":\{/.test(first) && /"verdict":/.test(first))) return "hubble";
  if (/^\{.*"(msg|message)":/.test(first) && /"(level|ts|time)":/.test(first)) {
    return /"kind":/.test(first.slice(0, 200)) ? "objects-json" : "log";
  }
  return "objects-json";
}

const LOG_LINE =
  /^(\{"|[IWEF]\d{4} \d\d:|\d{4}[/-]\d\d[/-]\d\d[ T]\d\d:|==== START logs for container)/;

function looksLikeLog(start: string): boolean {
  const lines = start.split("\n").slice(0, 20);
  return lines.filter((line) => LOG_LINE.test(line)).length * 2 > lines.length;
}
