import { readFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { Check, Errors } from "typebox/schema";
import { describe, expect, test } from "vitest";
import type { Scene } from "../evidence/scene.ts";
import { calm } from "../recognizers/case.ts";
import { allCases } from "../recognizers/cases.ts";
import { diagnose } from "../recognizers/diagnose.ts";
import { recognizers } from "../recognizers/index.ts";
import { incidentScene } from "../testing/scenes.ts";
import { diagnosisData } from "./diagnosis-json.ts";
import { diagnosisMarkdown } from "./diagnosis-markdown.ts";
import { diagnosisText } from "./diagnosis-text.ts";

const of = (scene: Scene) => {
  const { asOfMs } = scene;
  const moment = { asOfMs, takenMs: asOfMs, asOfFrom: "manifest" } as const;
  return diagnose(scene.evidence(), moment, recognizers);
};
const plain = { columns: 80, colours: false, all: false };
const scenes = Object.entries(allCases).flatMap(([id, cases]) =>
  [...cases.recognized, ...cases.ruledOut, ...cases.inconclusive].map(({ why, scene }) => ({
    name: `${id}: ${why}`,
    scene,
  })),
);

describe("the JSON", () => {
  const schema = JSON.parse(
    readFileSync(join(import.meta.dirname, "../../docs/doctor.schema.json"), "utf8"),
  );

  test.each(scenes)("fits the published schema: $name", ({ scene }) => {
    const data = JSON.parse(JSON.stringify(diagnosisData(of(scene))));
    expect(Errors(schema, data)[1]).toEqual([]);
    expect(Check(schema, data)).toBe(true);
  });

  test("names every finding once, and incidents name findings that exist", () => {
    const data = diagnosisData(of(incidentScene()));
    const keys = data.findings.map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys).toEqual(expect.arrayContaining(data.incidents.flatMap((each) => each.findings)));
  });
});

describe("the text", () => {
  test.each(scenes)("keeps to 80 columns, and colour only adds: $name", ({ scene }) => {
    const diagnosis = of(scene);
    const text = diagnosisText(diagnosis, plain);
    // A word that is longer than a line, such as a name in quotes, cannot be broken.
    const long = text.split("\n").filter((line) => line.length > 80 && / \S/.test(line.trim()));
    expect(long.filter((line) => !line.trim().startsWith('"'))).toEqual([]);
    const coloured = diagnosisText(diagnosis, { ...plain, colours: true });
    expect(stripVTControlCharacters(coloured)).toBe(text);
  });

  test("tells the incident on one screen", async () => {
    await expect(diagnosisText(of(incidentScene()), plain)).toMatchFileSnapshot(
      "diagnosis.incident.txt",
    );
  });

  test("tells of a calm cluster in a few lines", async () => {
    const scene = calm("09:01:00").terraform("apps/web").workers({ active: 0, maximum: 8 });
    const started = '{"level":"info","ts":"2026-03-02T08:00:01Z","msg":"Starting manager"}';
    expect(diagnosisText(of(scene.text([started])), plain)).toMatchInlineSnapshot(`
      "As of 2026-03-02T09:01:00Z (by the dump): no failure

      Well: 1 of 1 object Ready and without a finding, 2 of 2 nodes Ready, 8 of 8
            workers free, control plane steady
      "
    `);
  });
});

test("kinds that a dump lacks are told once, with one command that gets them all", () => {
  const scene = incidentScene().without("Terraform").without("Lease").without("GitRepository");
  const text = diagnosisText(of(scene), plain);
  expect(text.match(/kubectl get terraforms/g)).toHaveLength(1);
  expect(text).toContain(
    "    kubectl get terraforms,leases,gitrepositories,ocirepositories,buckets -A \\\n" +
      "      -o json\n",
  );
  expect(text).toContain("Node beta went down");
});

test("nothing that a saved dump holds as it was is printed with its secrets", () => {
  const error = "error running Plan: dial https://ci:hunter2@git.example.com: password=hunter2";
  const scene = calm("12:00:00")
    .terraform("apps/db", {
      ready: ["False", error, "11:00:00", "TFExecPlanFailed"],
      conditions: {
        Stalled: ["True", "Resource reached maximum", "11:00:00", "RetryLimitReached"],
      },
    })
    .log([["11:00:00", "apps/db", "error running Plan", error]]);
  const all = { ...plain, all: true };
  const texts = [JSON.stringify(diagnosisData(of(scene))), diagnosisMarkdown(of(scene))];
  for (const text of [...texts, diagnosisText(of(scene), all)]) {
    expect(text).toContain("apps/db");
    expect(text).not.toContain("hunter2");
  }
});

test("the Markdown takes nothing of the evidence as markup", () => {
  const scene = calm("10:10:00").terraform("apps/web", {
    ready: ["False", "Source '<b>[x](http://y)</b>' not found", "10:09:00", "ArtifactFailed"],
  });
  const markdown = diagnosisMarkdown(of(scene));
  expect(markdown).toContain("flux/artifact-unavailable");
  expect(markdown).not.toContain("<b>");
  expect(markdown).not.toContain("[x](http");
});

describe("incidents", () => {
  test("have the node as their root and what follows from it, and leave the rest out", () => {
    const { incidents, exitCode } = of(incidentScene());
    expect(incidents).toHaveLength(1);
    expect(incidents[0]?.root.key).toBe("node/rebooted Node/beta");
    expect(incidents[0]?.struck).toBe(4);
    const ids = new Set(incidents[0]?.findings.map((each) => each.recognizer.id));
    expect([...ids].sort()).toEqual([
      "node/rebooted",
      "tofu/reconcile-parked",
      "tofu/runner-pods-failed-left-behind",
      "tofu/runners-on-one-node",
      "tofu/waits-for-dependency",
    ]);
    expect(exitCode).toBe(1);
  });

  test("that have two causes stay two", () => {
    const scene = incidentScene().terraform("other/x", {
      ready: ["False", "Source 'GitRepository/other/y' not found", "10:19:40", "ArtifactFailed"],
      spec: { sourceRef: { kind: "GitRepository", name: "y" } },
    });
    expect(of(scene).incidents.map(({ root }) => root.recognizer.id)).toEqual([
      "node/rebooted",
      "flux/artifact-unavailable",
    ]);
  });

  test("do not come of waits and risks alone", () => {
    const { incidents, exitCode } = of(
      calm("10:10:00")
        .terraform("apps/a", { spec: { suspend: true } })
        .workers({ active: 0, maximum: 8 })
        .text(['{"level":"info","ts":"2026-03-02T08:00:01Z","msg":"Starting manager"}']),
    );
    expect(incidents).toEqual([]);
    expect(exitCode).toBe(0);
  });
});

test("what could not be read gives exit code 2, with the command that would get it", () => {
  const diagnosis = of(calm("10:10:00").without("Terraform", "Lease"));
  expect(diagnosis.exitCode).toBe(2);
  expect(diagnosisText(diagnosis, plain)).toContain("kubectl get terraforms -A -o json");
});
