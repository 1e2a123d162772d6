import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readIdentityFile } from "../../processes/group.ts";
import { type ProcessIdentity, sameProcess, statOf } from "../../processes/identity.ts";
import { membersOf, readProcessTable } from "../../processes/members.ts";
import type { RunFolder } from "../../protocol/run-folder.ts";

/** A living process under test, by its identity. */
export class Victim {
  readonly identity: ProcessIdentity;
  readonly name: string;
  constructor(identity: ProcessIdentity, name: string) {
    this.identity = identity;
    this.name = name;
  }
  /** SIGKILL, and waits until it is dead. */
  async kill(): Promise<void> {
    this.#send("SIGKILL");
    await until(`${this.name} is dead`, () => !sameProcess(this.identity));
  }
  async freeze(): Promise<void> {
    this.#send("SIGSTOP");
    await until(`${this.name} stands still`, () => statOf(this.identity.pid)?.state === "T");
  }
  lives(): boolean {
    return sameProcess(this.identity);
  }
  thaw(): void {
    this.#send("SIGCONT");
  }
  #send(signal: NodeJS.Signals): void {
    if (!sameProcess(this.identity)) throw new Error(`${this.name} is dead already`);
    process.kill(this.identity.pid, signal);
  }
}

/** The runner of the run in this folder. */
export function runnerOf(folder: RunFolder): Victim {
  const identity = readIdentityFile(folder.runner);
  if (identity === undefined) throw new Error(`No runner has come up in ${folder.root}`);
  return new Victim(identity, "the runner");
}

/** The OpenTofu of a stage: the child of its wrapper, not the wrapper. */
export async function tofuOf(folder: RunFolder, stage: string): Promise<Victim> {
  const wrapper = readIdentityFile(join(folder.steps, `${stage}.json`));
  const table = await readProcessTable();
  const stats = [...table.byPid.values()].filter((stat) => stat.parent === wrapper?.pid);
  const [tofu] = stats;
  if (tofu === undefined) throw new Error(`No OpenTofu runs ${stage} in ${folder.root}`);
  const { pid, startTime } = tofu;
  return new Victim({ pid, startTime, bootId: table.bootId }, `OpenTofu in ${stage}`);
}

/** The OpenTofu that works for the run now, whatever its step is called. */
export async function workingTofuOf(folder: RunFolder): Promise<Victim> {
  const living = names(folder.steps)
    .filter((name) => name.endsWith(".json"))
    .filter((name) => {
      const wrapper = readIdentityFile(join(folder.steps, name));
      return wrapper !== undefined && sameProcess(wrapper);
    });
  const [step] = living;
  if (step === undefined) throw new Error(`No OpenTofu works in ${folder.root}`);
  return await tofuOf(folder, step.replace(/\.json$/, ""));
}

/** Living processes of the run: by its token, its groups, and by who descends from them. */
export async function livingOf(folder: RunFolder): Promise<number[]> {
  const steps = names(folder.steps).filter((name) => name.endsWith(".json"));
  const files = [folder.runner, folder.launch, ...steps.map((name) => join(folder.steps, name))];
  const leaders = files.flatMap((file) => readIdentityFile(file) ?? []);
  const { token } = JSON.parse(readFileSync(folder.identity, "utf8"));
  return membersOf({ leaders, token }, await readProcessTable()).map((member) => member.pid);
}

/** Waits, and says what for if it does not come about in time. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  limitMs = 20_000,
): Promise<void> {
  const end = performance.now() + limitMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`Not within ${limitMs} ms: ${what}`);
    await sleep(10);
  }
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
