import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";

/**
 * Mutants: the engine with one bound or one guard taken out. The list is read from the code: every
 * function that the files below export is one.
 */
export interface Mutant {
  readonly name: string;
  readonly kind: "bound" | "guard";
  /** Relative to src. */
  readonly file: string;
}

/** Where bounds and guards are made, each by one function. */
const homes = [
  { kind: "bound", file: "domain/limits.ts" },
  { kind: "bound", file: "engine/limits.ts" },
  { kind: "guard", file: "domain/guards.ts" },
  { kind: "guard", file: "domain/state-guards.ts" },
] as const;

/** What stands in a function's place: for a bound ten years, for a guard that all is well. */
const bodies = { bound: "return 315_360_000_000;", guard: "return true;" } as const;

const source = new URL("../../", import.meta.url);
const FUNCTION = /^export function (\w+)\([\s\S]*?^\}$/gm;

/** Every mutant there is. */
export function allMutants(): Mutant[] {
  return homes.flatMap(({ kind, file }) => {
    const text = readFileSync(new URL(file, source), "utf8");
    return [...text.matchAll(FUNCTION)].map(([, name = ""]) => ({ name, kind, file }));
  });
}

/** From here on whoever loads the mutant's file gets the mutant. For a thread of its own. */
export function installMutant({ name, kind, file }: Mutant): void {
  const url = new URL(file, source).href;
  registerHooks({
    load(asked, context, next) {
      const loaded = next(asked, context);
      if (asked !== url) return loaded;
      const text = Buffer.from(loaded.source as Uint8Array).toString("utf8");
      return { ...loaded, source: mutated(text, name, bodies[kind]) };
    },
  });
}

/** The file's text with another body for one of its functions. */
export function mutated(text: string, name: string, body: string): string {
  const whole = new RegExp(`^export function ${name}\\([\\s\\S]*?^\\}$`, "m");
  const found = whole.exec(text)?.[0];
  if (found === undefined) throw new Error(`There is no function ${name} to take out`);
  return text.replace(found, `export function ${name}(): any {\n  ${body}\n}`);
}
