import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { formatDuration } from "../../src/api/duration.ts";
import { stages } from "../../src/api/terraform.ts";
import { type FieldRule, fieldRules } from "../../src/domain/fields.ts";
import {
  giveUpAfterMs,
  interruptGraceMs,
  lostRunPauseMaxMs,
  lostRunPauseMs,
  stageLimitMs,
  suspectAfterMs,
  unreachableAfterMs,
} from "../../src/domain/limits.ts";
import {
  lostRunTable,
  type Measure,
  phaseOf,
  phases,
  phaseText,
  situations,
  situationText,
} from "../../src/domain/lost-run.ts";
import { putBlock } from "../../src/render/block.ts";
import { table } from "../../src/render/markdown.ts";

const root = join(import.meta.dirname, "../..");

/** Pages rendered from the tables that `decide` obeys, by path. */
export function domainPages(): { path: string; text: string }[] {
  const specPath = "docs/spec/terraform.md";
  return [
    { path: "docs/lost-runs.md", text: lostRunsPage() },
    { path: specPath, text: putBlock(read(specPath), "fields", fieldsTable(), "# Terraform") },
  ];
}

export function generateDomainTables(): void {
  for (const { path, text } of domainPages()) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(join(root, path), "utf8");
  } catch {
    return undefined;
  }
}

const measureText: Readonly<Record<Measure, string>> = {
  "go-on": "Nothing is wrong.",
  wait: "Nothing is done yet; the object says what it waits for.",
  end: "Every process of the run is ended with SIGKILL, and its end is confirmed.",
  interrupt:
    "SIGINT once, so that tofu saves its state and stops. " +
    `After ${formatDuration(interruptGraceMs())} a person is called. ` +
    "With `--lost-apply=wait` a person is called at once, and no signal is sent.",
  "end-runner":
    "The runner is ended with SIGKILL, and no worker of it, should it have begun one meanwhile. " +
    "With `--lost-apply=wait` a person is called instead.",
  watch: "What is left of the run works to its end, under watch.",
  collect: "Exit code, state and journal of the dead run are read.",
  retry:
    "Credentials are revoked, its own lock is released, it is removed, and a new attempt starts: " +
    `the first within ${formatDuration(lostRunPauseMs())}, later ones after a pause at random ` +
    `below a bound that doubles up to ${formatDuration(lostRunPauseMaxMs())}.`,
};

function lostRunsPage(): string {
  return [
    "# Lost runs: what follows, and why",
    "",
    "<!-- Rendered from src/domain/lost-run.ts and src/domain/limits.ts by `npm run generate`. -->",
    "",
    "A runner gives a sign of life every 2 s. It is called _suspect_ after " +
      `${formatDuration(suspectAfterMs())} of silence, _unreachable_ after ` +
      `${formatDuration(unreachableAfterMs())}, and something is done about it after ` +
      `${formatDuration(giveUpAfterMs())}. It is _dead_ only on proof: the runner and every ` +
      "process of the run are gone, by pid, start time, boot and token, or the machine has " +
      "started anew. " +
      "Silence never is proof. The engine takes its own delay off before it judges.",
    "",
    "Two rules stand behind the table. A plan writes nothing, so it may be ended and tried again " +
      "at any time. An apply is never sent a second time while the first may write, and never on " +
      "a guess.",
    "",
    "## Situation and phase",
    "",
    matrix(),
    "",
    "A stage heard from a runner that is gone may be old news: an apply heard to prepare counts " +
      "as one that may write, unless the run's own journal proves the step to which its " +
      "processes belong.",
    "",
    "## Measures",
    "",
    table(["measure", "what is done"], Object.entries(measureText)),
    "",
    "## What status.run.note says comes next",
    "",
    table(["phase", "situation", "next"], nexts()),
    "",
    "## What is collected from a dead apply",
    "",
    table(["found", "what follows"], collections),
    "",
    "## Time limits of steps",
    "",
    table(["step", "phase of an apply", "limit"], limits()),
    "",
    "The runner ends a step that overruns; 30 s later the engine does. An overrun is a failure, " +
      "not a loss: it is counted, and tried again after the retry interval.",
    "",
    "## A person's orders",
    "",
    "- `nigari.dev/end-run: <run id>` on the object ends that run. An apply that still answers " +
      "is asked first and has ten minutes; one that does not is ended at once.",
    "- `nigari.dev/accept: <plan id>` lets a plan go on that is held, this very one alone.",
    "",
  ].join("\n");
}

/** The table itself: the measure for each situation in each phase. */
function matrix(): string {
  const heads = ["situation", ...phases.map((phase) => phaseText[phase])];
  const cells = situations.map((situation) => [
    situationText[situation],
    ...phases.map((phase) => lostRunTable[phase][situation].measure),
  ]);
  return table(heads, cells);
}

function nexts(): string[][] {
  return phases.flatMap((phase) =>
    situations
      .filter((situation) => lostRunTable[phase][situation].measure !== "go-on")
      .map((situation) => [
        phaseText[phase],
        situationText[situation],
        lostRunTable[phase][situation].next,
      ]),
  );
}

const collections: [string, string][] = [
  [
    "tofu ended with exit code 0",
    "it counts as applied; a fresh plan at once confirms it and reads the outputs",
  ],
  ["tofu ended with another exit code", "a failed apply: a fresh plan after the retry interval"],
  ["the apply had not begun", "the very same plan is carried out by a new attempt"],
  ["tofu was killed, nothing was in flight", "a fresh plan goes on by itself"],
  [
    "tofu was killed while it worked on resources",
    "a fresh plan, held for a person even in mode auto: Stalled RunResultUnknown names the " +
      "resources and the plan; `nigari approve NAME`, or the annotation `nigari.dev/accept: " +
      "<plan id>`, lets it go on",
  ],
  [
    "a state that tofu could not write",
    "it becomes the current one if it fits; else Stalled StateRescued until it is accepted or " +
      "dropped with `nigari state push`",
  ],
];

function limits(): string[][] {
  return stages.map((stage) => {
    const limit = stageLimitMs(stage);
    const planOnly = stage === "plan" || stage === "show";
    return [
      stage,
      planOnly ? "(only in a plan)" : phaseText[phaseOf("apply", stage)],
      limit === undefined ? "none, but signs of life" : formatDuration(limit),
    ];
  });
}

function fieldsTable(): string {
  return table(["field", "obeyed", "instead, or why not"], rows(fieldRules, "spec."));
}

function rows(rules: object, prefix: string): string[][] {
  return Object.entries(rules as Record<string, FieldRule<object>>).flatMap(([name, rule]) => {
    const path = `${prefix}${name}`;
    if (rule === "obeyed") return [[`\`${path}\``, "yes", ""]];
    if ("noMeaning" in rule) return [[`\`${path}\``, "taken", rule.noMeaning]];
    if ("parts" in rule) return rows(rule.parts, `${path}.`);
    const state = rule.obeyedInPods === true ? "in a cluster" : "not yet";
    return [[`\`${path}\``, state, rule.mend]];
  });
}
