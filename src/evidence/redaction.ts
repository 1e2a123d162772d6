import type { Fields } from "./fields.ts";
import { anyOf } from "./patterns.ts";

/*
 * What must not leave a cluster with its evidence: data of Secrets, tokens, environment, variables
 * and values, what kubectl last applied, plans in conditions and events, user info in URLs. What a
 * recognizer reads stays: names, times, states, lock ids, the words of errors.
 */

/** Stands for what was taken out. */
export const REDACTED = "[redacted]";

/** Annotations that say what controllers did, and never what anything holds. */
const KEPT_ANNOTATIONS = anyOf(
  /^reconcile\.fluxcd\.io\//,
  /^app\.terraform\.io\/lock-info$/,
  /^deployment\.kubernetes\.io\/revision$/,
  /^(node|controller|control-plane\.alpha|pv)\.kubernetes\.io\//,
  /^kubernetes\.io\/(config\.source|config\.seen|config\.mirror|created-by)$/,
  /^(volumes|scheduler)\.(beta\.)?kubernetes\.io\//,
  /^(io\.)?cilium\./,
  /^policy\.cilium\.io\//,
);

/** Fields that hold values of people, whatever object they stand in. */
const VALUES: ReadonlySet<string> = new Set([
  "values",
  "customConfiguration",
  "userData",
  "cloudInit",
]);
/** Lists of `{name, value}` of which the names may be told. */
const NAMED_VALUES: ReadonlySet<string> = new Set(["env", "vars"]);

const SECRET_WORD =
  "(?:pass(?:word|wd|phrase)?|pwd|secret|token|credentials?|api[_-]?key|access[_-]?key" +
  "|private[_-]?key|client[_-]?secret|authorization|signature)";
const SECRET_KEY = new RegExp(`${SECRET_WORD}$`, "i");

/** An object as it may be shown to others. The object itself is not changed. */
export function redactObject(object: Fields): Fields {
  const { data, stringData, binaryData, ...rest } = object;
  const shown = { ...rest, metadata: redactMetadata(object.metadata) };
  if (object.kind === "Secret" || object.kind === "ConfigMap") {
    const { apiVersion, kind, metadata } = shown as Fields;
    return { apiVersion, kind, metadata };
  }
  const kept = Object.entries(shown).map(([key, value]) => [
    key,
    key === "metadata" ? value : redactField(key, value),
  ]);
  return Object.fromEntries(kept);
}

function redactMetadata(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const { managedFields, annotations, ...rest } = value;
  if (!isRecord(annotations)) return rest;
  const kept = Object.entries(annotations)
    .filter(([key]) => key !== "kubectl.kubernetes.io/last-applied-configuration")
    .map(([key, text]) => [key, KEPT_ANNOTATIONS.test(key) ? redactDeep(text) : REDACTED]);
  return { ...rest, annotations: Object.fromEntries(kept) };
}

function redactField(key: string, value: unknown): unknown {
  if (VALUES.has(key)) return value === null ? null : REDACTED;
  if (key === "managedFields" || key === "stringData" || key === "binaryData") return REDACTED;
  if (NAMED_VALUES.has(key) && Array.isArray(value)) return value.map(redactNamed);
  if ((key === "args" || key === "command") && Array.isArray(value)) return redactArguments(value);
  if (typeof value === "string" && SECRET_KEY.test(key)) return REDACTED;
  return redactDeep(value);
}

function redactDeep(value: unknown): unknown {
  if (typeof value === "string") return redactText(value);
  if (Array.isArray(value)) return value.map(redactDeep);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, redactField(key, each)]),
  );
}

/** `{name, value}` keeps its name; where a value comes from is a name too. */
function redactNamed(entry: unknown): unknown {
  if (!isRecord(entry)) return redactDeep(entry);
  const { value, ...rest } = entry;
  return value === undefined
    ? redactDeep(rest)
    : { ...(redactDeep(rest) as Fields), value: REDACTED };
}

const SECRET_FLAG = new RegExp(`^(--?[\\w-]*${SECRET_WORD})(=|$)`, "i");

function redactArguments(words: readonly unknown[]): unknown[] {
  let valueIsSecret = false;
  return words.map((word) => {
    if (typeof word !== "string") return redactDeep(word);
    if (valueIsSecret && !word.startsWith("-")) {
      valueIsSecret = false;
      return REDACTED;
    }
    const flag = SECRET_FLAG.exec(word);
    valueIsSecret = flag?.[2] === "";
    return flag?.[2] === "=" ? `${flag[1]}=${REDACTED}` : redactText(word);
  });
}

interface Rule {
  readonly fits: RegExp;
  readonly put: string;
}

/** Each pattern is linear: no repetition stands inside another. */
const rules: readonly Rule[] = [
  { fits: /([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/@"'`<>]{1,500}@/gi, put: `$1${REDACTED}@` },
  {
    fits: new RegExp(`([?&][\\w.-]{0,60}(?:${SECRET_WORD}|sig|key)=)[^&\\s"'#]+`, "gi"),
    put: `$1${REDACTED}`,
  },
  { fits: /(\bauthorization["']?\s{0,4}[=:]\s{0,4}).+/gi, put: `$1${REDACTED}` },
  { fits: /\b(bearer|basic|negotiate)\s+[\w.~+/-]{8,}=*/gi, put: `$1 ${REDACTED}` },
  { fits: /\beyJ[\w-]{6,}(?:\.[\w-]*){1,4}/g, put: REDACTED },
  {
    fits: anyOf(
      /\bgh[opsur]_\w{20,}/,
      /\bgithub_pat_\w{20,}/,
      /\bglpat-[\w-]{16,}/,
      /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/,
      /\bxox[abposr]-[\w-]{10,}/,
      /\bhv[sb]\.[\w-]{20,}/,
      /\bAIza[\w-]{30,}/,
      /\bsk-[\w-]{20,}/,
      /\bage-secret-key-1\w{40,}/,
    ),
    put: REDACTED,
  },
  {
    fits: new RegExp(
      `(\\b[\\w.-]{0,60}${SECRET_WORD}["']?\\s{0,4}[=:]\\s{0,4})` +
        `(?!\\[redacted\\])("(?:[^"\\\\]|\\\\.)*"|'[^']*'|[^\\s"',;)\\]}]+)`,
      "gi",
    ),
    put: `$1${REDACTED}`,
  },
];
const global = rules.map(({ fits, put }) => ({
  fits: fits.global ? fits : new RegExp(fits.source, "gi"),
  put,
}));

/** Spares most text the rules: none of them changes text without one of these. */
const HINT = new RegExp(
  "@|[?&]|bearer|basic|negotiate|eyJ|gh[opsur]_|github_pat|glpat|AKIA|ASIA|xox|hv[sb]\\.|AIza" +
    `|sk-|age-secret|-----BEGIN|${SECRET_WORD}`,
  "i",
);

/** Text, of one line or many, without secrets and without plans. */
export function redactText(text: string): string {
  const redactor = new LineRedactor();
  const lines = text.split("\n").flatMap((line) => redactor.text(line) ?? []);
  return lines.join("\n");
}

function redactLine(line: string): string {
  let shown = line.replace(ASSIGNMENT, `$1${REDACTED}`);
  if (!HINT.test(shown)) return shown;
  for (const { fits, put } of global) shown = shown.replace(fits, put);
  return shown;
}

/** How OpenTofu begins to show a plan, and how it sums it up. */
const PLAN_BEGINS = anyOf(
  /will perform the following actions/,
  /objects have changed (outside|since)/,
  /^\s*#? ?changes to outputs:/,
  /generate the following execution/,
  /^[\s│]*# \S.{0,300} (will be|must be|has (been )?(changed|deleted|moved)|is tainted)/,
);
const PLAN_ENDS = anyOf(
  /^[\s│╷]*(error|warning):/,
  /^\s*plan: \d+ to/,
  /^\s*no changes\./,
  /^\s*apply complete|^\s*destroy complete/,
  /^\{"|^\d{4}[-/]\d\d[-/]\d\d/,
);
/**
 * A line of a plan, or of a source that an error quotes: `  + name = value`, `12: name = value`.
 * The name may be told.
 */
const ASSIGNMENT = /^([\s│]*(?:\d+:\s*)?(?:[+~-]|-\/\+|\+\/-|<=)?\s*"?[\w.-]+"?\s+=\s+)\S.*$/;

/**
 * Redacts text that comes line by line, as a log does. A plan or a key goes over many lines: of
 * it only one line remains, that says so.
 */
export class LineRedactor {
  #inside: "plan" | "key" | undefined;

  /** The line as it may be shown; undefined if it is inside something that may not be. */
  text(line: string): string | undefined {
    if (this.#inside === "key") {
      if (/-----END [A-Z ]{1,40}-----/.test(line)) this.#inside = undefined;
      return undefined;
    }
    if (this.#inside === "plan") {
      if (!PLAN_ENDS.test(line)) return undefined;
      this.#inside = undefined;
    }
    const key = line.indexOf("-----BEGIN ");
    if (key >= 0) {
      if (!/-----END [A-Z ]{1,40}-----/.test(line)) this.#inside = "key";
      return `${line.slice(0, key)}${REDACTED}`;
    }
    if (PLAN_BEGINS.test(line)) {
      this.#inside = "plan";
      return "[plan redacted]";
    }
    return redactLine(line);
  }

  /** A line of a log, with or without a time before it: JSON is looked into, the rest is text. */
  log(line: string): string | undefined {
    const time = TIME.exec(line)?.[0] ?? "";
    const body = line.slice(time.length);
    const shown = this.#fromJson(body) ?? this.text(body);
    return shown === undefined ? undefined : time + shown;
  }

  #fromJson(body: string): string | undefined {
    const at = body.indexOf("{");
    if (at < 0 || (at > 0 && body[at - 1] !== "\t")) return undefined;
    const record = parsed(body.slice(at));
    if (record === undefined) return undefined;
    this.#inside = undefined;
    if (!HINT.test(body) && !PLAN_HINT.test(body)) return body;
    return `${redactLine(body.slice(0, at))}${JSON.stringify(redactDeep(record))}`;
  }
}

const TIME = /^\d{4}-\d\d-\d\dT[\d:.]{8,20}(?:Z|[+-]\d\d:\d\d) (?:std(?:out|err) [FP] )?/;

const PLAN_HINT = /\\n|\s=\s|will (be|perform)|"(env|vars|values|customConfiguration)"/;

function parsed(text: string): unknown {
  try {
    const found: unknown = JSON.parse(text);
    return isRecord(found) ? found : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
