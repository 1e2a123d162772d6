import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadBundle } from "../../src/adapters/bundle/load.ts";
import { lessonCheck } from "../../src/cli/commands/lesson.ts";
import { recognizers } from "../../src/recognizers/index.ts";
import { quietShell } from "../../src/testing/fakes/shell.ts";

const folder = join(import.meta.dirname, "../../docs/lessons_learned");

test("every lesson's own evidence is recognized, and its recognizer points back", async () => {
  const shell = quietShell();
  const none = () => Promise.reject(new Error("No lesson needs a cluster"));
  const tools = { loadBundle, readCluster: none, saveCluster: none };
  const code = await lessonCheck({ shell, evidence: async () => tools }, [folder]);
  expect({ code, err: shell.printed.err }).toEqual({ code: 0, err: "" });
});

test("every origin is a lesson that is there", () => {
  expect(readdirSync(folder).filter((name) => name.endsWith(".md")).length).toBeGreaterThan(0);
  for (const { id, origin } of recognizers) {
    if (origin === undefined) continue;
    expect(existsSync(join(folder, origin)), `${id} names ${origin}`).toBe(true);
  }
});
