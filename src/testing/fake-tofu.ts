import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What a stand-in for OpenTofu does; a shell's text each, run in the module's folder. */
export interface FakeTofuScript {
  readonly init?: string;
  readonly workspace?: string;
  /** Exit code 2 (changes) if absent. */
  readonly plan?: string;
  readonly show?: string;
  readonly apply?: string;
  readonly output?: string;
  readonly state?: string;
}

/** A program that behaves as told and notes how it was called. */
export interface FakeTofu {
  readonly program: string;
  /** Each call's arguments, in order. */
  calls(): string[];
  /** What scripts noted with `mark WORD`, in order. */
  marks(): string[];
  /** The environment of the last call. */
  environment(): Record<string, string>;
}

const defaults: Required<FakeTofuScript> = {
  init: "exit 0",
  workspace: "exit 0",
  plan: "exit 2",
  show: 'echo \'{"resource_changes":[{"change":{"actions":["create"]}}]}\'',
  apply: "exit 0",
  output: "echo '{}'",
  state: "echo '{}'",
};

/** Makes the program in a folder. A plan leaves the file that it was told to. */
export function makeFakeTofu(folder: string, script: FakeTofuScript = {}): FakeTofu {
  const program = join(folder, "tofu");
  const calls = join(folder, "calls");
  const marks = join(folder, "marks");
  const environment = join(folder, "environment");
  const cases = Object.entries({ ...defaults, ...script }).map(
    ([verb, text]) => `${verb})\n${text}\n;;`,
  );
  const lines = [
    "#!/bin/sh",
    `mark() { echo "$1" >>${marks}; }`,
    `echo "$@" >>${calls}`,
    `env >${environment}`,
    'for each in "$@"; do case "$each" in -out=*) echo a plan >"${' + 'each#-out=}";; esac; done',
    'case "$1" in',
    ...cases,
    "esac",
  ];
  writeFileSync(program, `${lines.join("\n")}\n`);
  chmodSync(program, 0o700);
  const read = (path: string) =>
    existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n") : [];
  return {
    program,
    calls: () => read(calls),
    marks: () => read(marks),
    environment: () =>
      Object.fromEntries(
        read(environment).map((line) => {
          const at = line.indexOf("=");
          return [line.slice(0, at), line.slice(at + 1)];
        }),
      ),
  };
}
