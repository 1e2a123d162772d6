import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { loadBundle } from "../../adapters/bundle/load.ts";
import { Scene } from "../../evidence/scene.ts";
import { diagnose } from "../../recognizers/diagnose.ts";
import { recognizers } from "../../recognizers/index.ts";
import { diagnosisJson } from "../../render/diagnosis-json.ts";
import { lessonParts } from "../../render/lesson.ts";
import { dumpOf, filesOf } from "../../testing/doctor-worlds/dump.ts";
import { quietShell } from "../../testing/fakes/shell.ts";
import { type DraftFlags, lessonCheck, lessonDraftFrom } from "./lesson.ts";

let root = "";
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "lesson-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const put = async (path: string, text: string) => {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
};

function reboot(): Scene {
  return new Scene("2026-05-01T06:10:00Z")
    .nodes("a", "b")
    .controller({ node: "a", started: "04:00:00", version: "0.16.1" })
    .terraform("ops/vault", { ready: ["Unknown", "Initializing", "05:33:10"] })
    .failedRunner("ops/vault", "b", "05:33:00", "05:34:50")
    .log([["05:33:12", "ops/vault", "generated template"]]);
}

/** What `nigari doctor -o json` prints of a scene. */
function judged(scene: Scene): string {
  const moment = { asOfMs: scene.asOfMs, takenMs: scene.asOfMs, asOfFrom: "manifest" } as const;
  return diagnosisJson(diagnose(scene.evidence(), moment, recognizers));
}

async function draft(text: string, more: Partial<DraftFlags> = {}) {
  const shell = { ...quietShell(), readFile: async () => Buffer.from(text) };
  const flags = { from: "d.json", incident: undefined, evidence: undefined, output: root };
  const code = await lessonDraftFrom(shell, { ...flags, ...more });
  const [name = ""] = (await readdir(root)).filter((each) => each.endsWith(".md"));
  return { code, name, text: await readFile(join(root, name), "utf8") };
}

async function check(...paths: string[]) {
  const shell = quietShell();
  const none = () => Promise.reject(new Error("not here"));
  const tools = { loadBundle, readCluster: none, saveCluster: none };
  const all = paths.map((each) => join(root, each));
  const code = await lessonCheck({ shell, evidence: async () => tools }, all);
  return { code, ...shell.printed };
}

describe("a draft", () => {
  test("has every part, from the incident's own evidence", async () => {
    const { name, text } = await draft(judged(reboot()));
    expect(name).toBe("2026_05_01_reconcile_parked_after_node_rebooted.md");
    const found = [...text.matchAll(/^## (.*)$/gm)].map((each) => each[1]);
    expect(found).toEqual([...lessonParts]);
    expect(text).toMatch(/^---\ndate: 2026-05-01\nincident: node-b-2026-05-01\nrecognizers:\n/);
    expect(text).toContain("  - tofu/reconcile-parked\n  - node/rebooted\n");
    expect(text).toContain("| 2026-05-01T05:34:50.000Z | node b goes down |");
    expect(text).toContain("`controllers/tf_controller_runner.go`");
    expect(text).toContain("Price: ");
    expect(text).toContain("Which evidence proves it?");
    expect(text).not.toMatch(/undefined|\[object/);
  });

  test("is not written over one that people may have worked on", async () => {
    await draft(judged(reboot()));
    await expect(draft(judged(reboot()))).rejects.toThrow("people may have written in it");
  });

  test("is of one incident", async () => {
    const healthy = judged(new Scene("2026-05-01T06:10:00Z").terraform("ops/x"));
    await expect(draft(healthy)).rejects.toThrow("has no incident");
    await expect(draft("{}")).rejects.toThrow('none of what "nigari doctor -o json" prints');
    await expect(draft(judged(reboot()), { incident: "x" })).rejects.toThrow(
      'There is no incident "x"; there are: node-b-2026-05-01',
    );
  });
});

describe("the check", () => {
  const lesson = (head: string) =>
    `---\n${head}\n---\n\n${lessonParts.map((part) => `## ${part}\n\nx\n`).join("\n")}`;
  const withOrigin = recognizers.find((each) => each.id === "tofu/reconcile-parked");
  const evidence = async (scene = reboot()) => {
    for (const { path, text } of filesOf(dumpOf(scene))) await put(`evidence/${path}`, text);
  };

  test("passes the lesson that its recognizer points to, with evidence that shows it", async () => {
    if (withOrigin?.origin === undefined) throw new Error("It has no origin");
    await evidence();
    const date = withOrigin.origin.slice(0, 10).replaceAll("_", "-");
    const head = `date: ${date}\nrecognizers:\n  - ${withOrigin.id}\nevidence: evidence`;
    await put(withOrigin.origin, lesson(head));
    expect(await check(".")).toMatchObject({ code: 0, err: "" });
    // A second incident of the same kind names the first as its origin.
    const again = lesson(`${head.replace(date, "2026-08-01")}\nrepeats: ${withOrigin.origin}`);
    await put("2026_08_01_again.md", again);
    expect(await check(".")).toMatchObject({ code: 0, err: "" });
  });

  const head = "date: 2026-05-01\nrecognizers:\n  - tofu/reconcile-parked\nevidence: evidence";
  const wrong: Record<string, { text: string; says: RegExp }> = {
    "has no head": { text: "# Lesson\n", says: /does not begin with a head/ },
    "names no evidence": {
      text: lesson(head.replace(": evidence", ":")),
      says: /names no evidence/,
    },
    "names evidence that is not there": {
      text: lesson(head.replace(": evidence", ": nowhere")),
      says: /evidence nowhere cannot be read/,
    },
    "names a recognizer that does not exist": {
      text: lesson(head.replace("tofu/reconcile-parked", "tofu/nothing")),
      says: /there is no recognizer tofu\/nothing/,
    },
    "names one that its evidence does not show": {
      text: lesson(head.replace("- tofu/reconcile-parked", "- tofu/suspended")),
      says: /its evidence is not recognized as tofu\/suspended/,
    },
    "is not what its recognizer points to": {
      text: lesson(head),
      says: /recognizer tofu\/reconcile-parked names .*; it should be 2026_05_01_x\.md/,
    },
    "lacks a part": {
      text: lesson(head).replace("## Root cause", "## Else"),
      says: /has no part "Root cause"/,
    },
    "has another date than its name": {
      text: lesson(head.replace("2026-05-01", "2026-05-02")),
      says: /name does not begin with its date, 2026-05-02/,
    },
  };
  test.each(Object.entries(wrong))("fails a lesson that %s", async (_, { text, says }) => {
    await evidence();
    await put("2026_05_01_x.md", text);
    const { code, err } = await check("2026_05_01_x.md");
    expect(code).toBe(1);
    expect(err).toMatch(says);
  });

  test("of nothing is a usage error", async () => {
    await expect(check("nowhere")).rejects.toThrow("does not exist");
    await expect(check(".")).rejects.toThrow("No lesson in");
  });
});
