import fc from "fast-check";
import { stringify } from "yaml";
import { readManifests } from "../../adapters/manifests/read.ts";
import { areaOf, jsonText, nasty, wrong } from "./area.ts";

const good = `apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {name: app, labels: {team: &team blue}}
spec:
  interval: 5m
  path: ./infra
  sourceRef: {kind: GitRepository, name: *team}
  vars: [{name: region, value: "eu"}]
`;
const kept = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept}\ndata: {a: b}\n";

const scalar = fc.oneof(nasty, fc.integer(), fc.double(), fc.boolean(), fc.constant(null));
const value = fc.oneof(scalar, fc.jsonValue({ maxDepth: 4 }), fc.array(scalar, { maxLength: 4 }));

/** An object of ours with some fields of a wrong type, or none that we know. */
const broken = fc
  .record({
    apiVersion: fc.oneof(fc.constant("infra.contrib.fluxcd.io/v1alpha2"), value),
    kind: fc.oneof(fc.constantFrom("Terraform", "Secret", "ConfigMap", "List"), value),
    metadata: fc.oneof(fc.constant({ name: "a" }), fc.record({ name: value }), value),
    spec: fc.oneof(
      fc.record(
        { interval: value, sourceRef: value, path: value, vars: value, dependsOn: value },
        { requiredKeys: [] },
      ),
      value,
    ),
    data: value,
  })
  .map((each) => stringify(each));

const character = fc.constantFrom(..."-:?{}[]&*!|>'\"%@`#,~ \t\n\r\\ab0.<=é\0\uFEFF");
const repeated = fc
  .record({
    text: fc.constantFrom("[", "{a: ", "- ", "? ", "&a ", "*a ", "--- \n", "!!a ", "a: |\n"),
  })
  .chain(({ text }) => fc.integer({ min: 1, max: 60_000 }).map((count) => text.repeat(count)));
const laughs = fc.integer({ min: 2, max: 20 }).map((levels) =>
  Array.from({ length: levels }, (_, at) => {
    const before = at === 0 ? "x" : `*l${at - 1}`;
    return `l${at}: &l${at} [${Array(9).fill(before).join(", ")}]`;
  }).join("\n"),
);

/** Beside whatever comes, a good object in a text of its own is read as ever. */
export const manifestArea = areaOf("manifests", 250, async () => ({
  input: fc.oneof(
    broken,
    jsonText,
    repeated,
    laughs,
    nasty,
    fc.string({ unit: character, maxLength: 400 }),
    fc.uint8Array({ maxLength: 400 }),
    fc
      .tuple(fc.nat({ max: good.length }), fc.nat({ max: 20 }), nasty)
      .map(([at, cut, put]) => good.slice(0, at) + put + good.slice(at + cut)),
  ),
  check(content) {
    const report = readManifests([
      { file: "fuzzed.yaml", content },
      { file: "kept.yaml", content: kept },
    ]);
    if (!report.objects.some(({ metadata }) => metadata.name === "kept")) wrong("kept was lost");
    for (const { summary, file, line = 1 } of report.errors) {
      if (file === undefined && line < 1) wrong(`No place: ${summary}`);
      if (summary.length > 4_000) wrong(`An error of ${summary.length} characters`);
      if (/undefined|\[object /.test(summary) && !String(content).includes("undefined")) {
        wrong(`No words: ${summary}`);
      }
    }
    if (report.errors.length > 60) wrong(`${report.errors.length} errors`);
  },
}));
