import { describe, expect, test } from "vitest";
import { recognizers } from "../recognizers/index.ts";
import { anchorOf, pointer, recognizerPage, runbookFiles, troubleshooting } from "./runbook.ts";

const headings = (text: string, depth: number) =>
  [...text.matchAll(new RegExp(`^#{${depth}} (.*)$`, "gm"))].map((each) => each[1]);

const ORDER = [
  "Symptoms",
  "What it is not",
  "Cause",
  "Fix",
  "Verify",
  "What does not help",
  "Worked example",
];

describe("the page of a recognizer", () => {
  test.each(recognizers.map((each) => [each.id, each] as const))("%s", (_, recognizer) => {
    const page = recognizerPage(recognizer);
    const found = headings(page, 2);
    const own = found.filter((each) => each !== undefined && ORDER.includes(each));
    expect(own).toEqual(ORDER.filter((each) => own.includes(each)));
    expect(found).toContain("Cause");
    expect(found).toContain("Fix");
    expect(found).toContain("Worked example");
    expect(page).not.toMatch(/\{\w+\}|undefined|\[object/);
    for (const { command } of recognizer.remedies) {
      if (command !== undefined) expect(page).toContain(command.split("{")[0]);
    }
    for (const { risk } of recognizer.remedies) expect(page).toContain(`*${risk}*`);
  });
});

describe("all failures on one page", () => {
  const text = troubleshooting(recognizers, "##");

  test("hold each recognizer once, in areas, and every link meets a heading", () => {
    expect(headings(text, 3).toSorted()).toEqual(recognizers.map(({ id }) => id).toSorted());
    const anchors = new Set(headings(text, 3).map((each) => anchorOf(each ?? "")));
    const links = [...text.matchAll(/\]\(#([^)]+)\)/g)].map((each) => each[1] ?? "");
    expect(links.length).toBe(recognizers.length);
    for (const link of links) expect(anchors).toContain(link);
  });

  test("tell failures before risks and waits", () => {
    const kinds = [...text.matchAll(/\| (failure|risk|wait) \|$/gm)].map((each) => each[1]);
    expect(kinds).toEqual(kinds.toSorted());
  });
});

test("no page links to a file that is not rendered", () => {
  const files = runbookFiles(recognizers);
  const known = new Set(files.map((each) => each.path));
  for (const { path, text } of files) {
    for (const [, link = ""] of text.matchAll(/\]\(([^)#]+\.md)\)/g)) {
      if (link.includes("lessons_learned/")) continue;
      const target = new URL(link, `http://x/${path}`).pathname.slice(1);
      expect(known, `${path} links to ${link}`).toContain(target);
    }
  }
});

test("the pointer names every failure and where to read", () => {
  const text = pointer(recognizers, "docs/troubleshooting.md");
  for (const { id, severity } of recognizers) {
    expect(text.includes(`\`${id}\``)).toBe(severity === "failure");
  }
  expect(text).toContain("](docs/troubleshooting.md)");
});
