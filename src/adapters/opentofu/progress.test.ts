import { describe, expect, test } from "vitest";
import { type BuildProgress, type BuildStep, progressWriter } from "./progress.ts";

const compiling = (done: number): BuildStep => ({ name: "compiling", done, total: 1782 });
const story: [seconds: number, step: BuildStep][] = [
  [0, { name: "downloading", modules: 0 }],
  [1, { name: "downloading", modules: 40 }],
  [2, compiling(0)],
  [4, compiling(7)],
  [7.4, compiling(90)],
  [8, compiling(95)],
  [65, { name: "linking" }],
  [71, { name: "done", path: "/c/bin/tofu" }],
];

function told(isTerminal: boolean): string {
  let text = "";
  const show = progressWriter({
    isTerminal,
    write: (more) => {
      text += more;
    },
  });
  for (const [seconds, step] of story) {
    const progress: BuildProgress = { title: "OpenTofu 1", step, elapsedMs: seconds * 1000 };
    show(progress);
  }
  return text;
}

describe("a build is shown", () => {
  test("in a log: a line at each step, and one every five seconds", () => {
    expect(told(false)).toBe(
      [
        "OpenTofu 1: downloading Go modules, 0 so far (0 s)",
        "OpenTofu 1: compiling, 0 of at most 1782 packages (2 s)",
        "OpenTofu 1: compiling, 90 of at most 1782 packages (7 s)",
        "OpenTofu 1: linking (1 min 5 s)",
        "OpenTofu 1: built in 1 min 11 s, /c/bin/tofu",
        "",
      ].join("\n"),
    );
  });

  test("on a terminal: one line, rewritten at every report, closed at the end", () => {
    const text = told(true);
    expect(text.split("\r\u001b[K")).toHaveLength(story.length + 1);
    expect(text.indexOf("\n")).toBe(text.length - 1);
  });

  test("while another builds", () => {
    let text = "";
    const show = progressWriter({
      isTerminal: false,
      write: (more) => {
        text += more;
      },
    });
    show({ title: "OpenTofu 1", step: { name: "waiting" }, elapsedMs: 3_000 });
    expect(text).toBe("OpenTofu 1: another build is under way, waiting for it (3 s)\n");
  });
});
