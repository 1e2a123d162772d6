import { mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { isEpochCurrent } from "../../domain/guards.ts";
import { RunnerError } from "../../ports/runner.ts";
import { writeDurably } from "../../protocol/durable.ts";
import { list } from "./record.ts";

/**
 * Which engines have commanded the runs of a folder: an empty file for each epoch, of which the
 * newest stays. Two engines that command at once never overwrite each other's word, and since each
 * says its own before it looks, the older one can only go first.
 */
export class Epochs {
  readonly #folder: string;

  constructor(runsFolder: string) {
    // No run has a name that begins like this.
    this.#folder = join(runsFolder, ".epochs");
  }

  /** The newest epoch met; 0: none. */
  newest(): number {
    return Math.max(0, ...this.#met());
  }

  /** Fails with RunnerError("Refused") if a newer one was met, else remembers this one. */
  async obey(epoch: number): Promise<void> {
    if (!this.#met().includes(epoch) && isEpochCurrent(epoch, this.newest())) {
      // On a full disk a run must be ended and removed all the same.
      await this.#note(epoch).catch(() => {});
    }
    const newest = this.newest();
    if (isEpochCurrent(epoch, newest)) return;
    const message = `Epoch ${epoch} is over: an engine of epoch ${newest} commands the runs`;
    throw new RunnerError("Refused", message);
  }

  async #note(epoch: number): Promise<void> {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    await writeDurably(join(this.#folder, String(epoch)), "");
    for (const older of this.#met().filter((met) => met < epoch)) {
      await rm(join(this.#folder, String(older)), { force: true });
    }
  }

  #met(): number[] {
    return list(this.#folder)
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  }
}
