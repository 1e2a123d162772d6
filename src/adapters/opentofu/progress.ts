/** How far a build is; sent at every change of step and about once a second. */
export interface BuildProgress {
  /** What is built: "OpenTofu 1.12.6". */
  readonly title: string;
  readonly step: BuildStep;
  readonly elapsedMs: number;
}

export type BuildStep =
  /** Another process builds in the same folder. */
  | { readonly name: "waiting" }
  | { readonly name: "downloading"; readonly modules: number }
  /** `total` is an upper bound: what Go still has from earlier builds is not compiled again. */
  | { readonly name: "compiling"; readonly done: number; readonly total: number }
  | { readonly name: "linking" }
  | { readonly name: "done"; readonly path: string };

const LINE_EVERY_MS = 5_000;

/**
 * Shows a build to a person: one line that is rewritten on a terminal; elsewhere a line at each
 * step and every five seconds, so that a log shows that it lives.
 */
export function progressWriter(out: {
  readonly isTerminal: boolean;
  readonly write: (text: string) => void;
}): (progress: BuildProgress) => void {
  let last: BuildProgress | undefined;
  return (progress) => {
    const text = describeProgress(progress);
    if (out.isTerminal) {
      out.write(`\r\u001b[K${text}${progress.step.name === "done" ? "\n" : ""}`);
      return;
    }
    const due =
      last?.title !== progress.title ||
      last.step.name !== progress.step.name ||
      progress.elapsedMs - last.elapsedMs >= LINE_EVERY_MS;
    if (!due) return;
    last = progress;
    out.write(`${text}\n`);
  };
}

export function describeProgress({ title, step, elapsedMs }: BuildProgress): string {
  const elapsed = seconds(elapsedMs);
  switch (step.name) {
    case "waiting":
      return `${title}: another build is under way, waiting for it (${elapsed})`;
    case "downloading":
      return `${title}: downloading Go modules, ${step.modules} so far (${elapsed})`;
    case "compiling":
      return `${title}: compiling, ${step.done} of at most ${step.total} packages (${elapsed})`;
    case "linking":
      return `${title}: linking (${elapsed})`;
    case "done":
      return `${title}: built in ${elapsed}, ${step.path}`;
  }
}

function seconds(ms: number): string {
  const whole = Math.round(ms / 1000);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}
