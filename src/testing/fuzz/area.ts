import fc from "fast-check";

/** A door through which texts and bytes of others come in, and what must hold of any of them. */
export interface FuzzArea {
  readonly name: string;
  /** Cases that a test makes for one seed; more by hand. */
  readonly runs: number;
  /** Opens what is asked, once for all cases. */
  open(): Promise<OpenArea>;
}

export interface OpenArea {
  /** Fails for an input that was answered wrongly. */
  readonly property: fc.IAsyncProperty<[unknown]>;
  close(): Promise<void>;
}

export interface FuzzResult {
  readonly area: string;
  readonly runs: number;
  readonly ms: number;
  /** Undefined: every case was answered as it should be. Else the smallest one that was not. */
  readonly failure: string | undefined;
}

/** Tries one area; the same seed makes the same cases. */
export async function fuzz(area: FuzzArea, seed: number, runs = area.runs): Promise<FuzzResult> {
  const begun = performance.now();
  const open = await area.open();
  try {
    const found = await fc.check(open.property, { seed, numRuns: runs, endOnFailure: false });
    const failure = found.failed
      ? `${fc.defaultReportMessage(found)?.slice(0, 8_000)}\n${stackOf(found.errorInstance)}`
      : undefined;
    return { area: area.name, runs: found.numRuns, ms: performance.now() - begun, failure };
  } finally {
    await open.close();
  }
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** An area whose inputs are of one kind. */
export function areaOf<T>(
  name: string,
  runs: number,
  open: () => Promise<{
    readonly input: fc.Arbitrary<T>;
    readonly check: (input: T) => Promise<void> | void;
    readonly close?: () => Promise<void>;
  }>,
): FuzzArea {
  return {
    name,
    runs,
    async open() {
      const { input, check, close = async () => {} } = await open();
      const property = fc.asyncProperty(input, async (value) => await check(value));
      return { property: property as unknown as fc.IAsyncProperty<[unknown]>, close };
    },
  };
}

/** Fails with this text. */
export function wrong(text: string): never {
  throw new Error(text);
}

/** Texts that have broken programs before. */
export const nasty: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    "",
    ".",
    "..",
    "../../etc/passwd",
    "/etc/passwd",
    "a\0b",
    "\uFEFFa",
    "a\nb",
    "\r\n\r\n",
    "__proto__",
    "constructor",
    "toString",
    "%2e%2e%2f",
    "%",
    "%ff",
    "'\"`$(){}[]<>;|&",
    "\u202Ea",
    "\uD800",
    "\u001b[31m",
    "null",
    "NaN",
    "-1",
    "1e999",
    "9".repeat(400),
    "x".repeat(70_000),
  ),
  fc.string({ maxLength: 40 }),
  fc.string({ unit: "binary", maxLength: 40 }),
);

/** JSON texts: small ones of any form, and deep, wide or broken ones. */
export const jsonText: fc.Arbitrary<string> = fc.oneof(
  fc.jsonValue({ maxDepth: 6 }).map((value) => JSON.stringify(value)),
  fc.constantFrom(
    "[".repeat(200_000),
    `${"[".repeat(50_000)}${"]".repeat(50_000)}`,
    `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`,
    `[${"1,".repeat(200_000)}1]`,
    '{"a":1,"a":2}',
    '{"__proto__":{"a":1}}',
    '{"a":1e999}',
    '"\\ud800"',
    "\uFEFF{}",
    "{}{}",
    "",
    "\0",
  ),
);
