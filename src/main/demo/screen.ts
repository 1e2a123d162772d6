import { relative } from "node:path";
import { styleText } from "node:util";
import type { Moment, Story } from "./story.ts";
import type { DemoFolder } from "./world.ts";

const colours = process.stdout.isTTY === true && (process.env.NO_COLOR ?? "") === "";
const paint = (style: Parameters<typeof styleText>[0], text: string) =>
  colours ? styleText(style, text) : text;

export function heading(folder: DemoFolder): string {
  return [
    paint("bold", "Nigari: four Terraform objects from Git to applied, with the plug pulled twice"),
    `Repository ${folder.repository}`,
    `Data       ${folder.dataDir}   (the engine's log: ${folder.engineLog})`,
    "",
    "",
  ].join("\n");
}

const STYLE = { plain: "reset", kill: "red", good: "green", note: "cyan" } as const;

/** One moment of the time line, as it happens. */
export function line({ atMs, object, text, mood }: Moment): string {
  const time = `${(atMs / 1_000).toFixed(1).padStart(6)}s`;
  return `${paint("dim", time)}  ${object.padEnd(10)} ${paint(STYLE[mood], text)}\n`;
}

export interface Verdict {
  readonly truthMs: number;
  readonly restartedMs: number;
  readonly appliedOnce: boolean;
  readonly stateWhole: boolean;
  readonly kills: number;
  readonly wholeMs: number;
  readonly held: boolean;
}

export interface Closing {
  readonly root: string;
  readonly folder: DemoFolder;
  readonly story: Story;
  readonly verdict: Verdict;
  readonly failure: string | undefined;
}

/** Time line of the kills, what to try next, and the verdict as one line of JSON. */
export function closing({ root, folder, story, verdict, failure }: Closing): string {
  const { held, ...figures } = verdict;
  const data = relative(root, folder.dataDir);
  const lines = ["", paint("bold", "Time line")];
  for (const kill of story.kills) lines.push(`  ${killText(kill)}`);
  const once = verdict.appliedOnce ? "every resource was created once" : "NOT created once each";
  lines.push(`  ${once}, ${verdict.stateWhole ? "every state is whole" : "a state is NOT whole"}`);
  if (failure !== undefined) lines.push(`  failed: ${failure}`);
  lines.push(
    "",
    paint("bold", "Try next"),
    `  ./nigari get --data-dir ${data}`,
    `  ./nigari describe database --data-dir ${data}`,
    `  ./nigari up ${relative(root, folder.repository)} --data-dir ${data}`,
    "",
    JSON.stringify(held && failure === undefined ? figures : { ...figures, held: false }),
    "",
  );
  return lines.join("\n");
}

function killText(kill: Story["kills"][number]): string {
  const { object, stage, atMs, toldAtMs, againAtMs } = kill;
  const after = (at: number | undefined) =>
    at === undefined ? "never" : `${Math.round(at - atMs)} ms later`;
  const again = stage === "init" ? `, a new attempt was in ${stage} ${after(againAtMs)}` : "";
  return `${object}: runner killed in ${stage}; its status told it ${after(toldAtMs)}${again}`;
}
