import { writeFileSync } from "node:fs";
import { lastWordOf } from "../protocol/last-word.ts";
import { PodOutput } from "../protocol/pod-output.ts";
import type { Run } from "./run.ts";

export interface Printer {
  /** What the runner says of itself. */
  say(line: string): void;
  /** Everything of the run is printed from here on. */
  attend(run: Run): void;
  /** Resolves when all that was told so far is printed. */
  flush(): Promise<void>;
}

/**
 * Prints a run for whoever reads the container's output after its end, and keeps its last word in
 * the file from which Kubernetes takes it. A file that cannot be written costs that word alone.
 */
export function printer(write: (text: string) => void, lastWordFile: string): Printer {
  const output = new PodOutput(write);
  let printing: Promise<void> = Promise.resolve();
  return {
    say: (line) => output.remark(line),
    flush: () => printing,
    attend(run) {
      let printed = 0;
      let offset = 0;
      const events = () => {
        const fresh = run.journal.events.slice(printed);
        for (const event of fresh) output.event(event);
        printed += fresh.length;
        if (fresh.length > 0) writeQuietly(lastWordFile, lastWordOf(run.journal.events));
      };
      const lines = async () => {
        for await (const line of run.log.read(offset)) {
          output.log(line.line);
          offset = line.offset;
        }
      };
      run.journal.listen(events);
      run.log.listen(() => {
        printing = printing.then(lines).catch(() => undefined);
      });
    },
  };
}

function writeQuietly(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch {
    // Its journal is in the output all the same.
  }
}
