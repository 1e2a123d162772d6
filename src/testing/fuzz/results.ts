import fc from "fast-check";
import { memoryObjectStore } from "../../adapters/memory/object-store.ts";
import { readStateHead } from "../../domain/state-file.ts";
import { OutputsTrouble, writeOutputs } from "../../engine/outputs.ts";
import { StoreError } from "../../ports/object-store.ts";
import { diagnosticText, lockIn, parseTofuLine } from "../../protocol/tofu-json.ts";
import { notInState } from "../../protocol/tofu-state.ts";
import { outputFactsOf, summaryOf } from "../../runner/results.ts";
import { seededRandom, VirtualClock } from "../fakes/clock.ts";
import { terraformOf } from "../simulation/objects.ts";
import { areaOf, jsonText, nasty, wrong } from "./area.ts";

const value = fc.oneof(nasty, fc.integer(), fc.constant(null), fc.jsonValue({ maxDepth: 3 }));
const listOr = <T>(each: fc.Arbitrary<T>) => fc.oneof(fc.array(each, { maxLength: 5 }), value);

const action = fc.oneof(fc.constantFrom("create", "update", "delete", "no-op", "read"), value);
const change = fc.record({ actions: listOr(action), importing: value }, { requiredKeys: [] });
const plan = fc.record(
  {
    format_version: value,
    resource_changes: listOr(fc.oneof(fc.record({ address: value, change }), value)),
    prior_state: value,
    output_changes: value,
  },
  { requiredKeys: [] },
);
const outputs = fc.dictionary(
  fc.oneof(nasty, fc.constantFrom("a", "b")),
  fc.oneof(fc.record({ sensitive: value, type: value, value }, { requiredKeys: [] }), value),
  { maxKeys: 5 },
);
const state = fc.record(
  {
    version: fc.oneof(fc.constant(4), value),
    serial: fc.oneof(fc.nat(), value),
    lineage: value,
    resources: listOr(
      fc.record(
        { mode: fc.constantFrom("managed", "data"), type: value, name: value, instances: value },
        { requiredKeys: [] },
      ),
    ),
  },
  { requiredKeys: [] },
);
const line = fc.record(
  {
    "@message": value,
    type: fc.oneof(
      fc.constantFrom("apply_start", "diagnostic", "version", "apply_complete"),
      value,
    ),
    hook: fc.oneof(fc.record({ resource: value, action: value, id_key: value }), value),
    diagnostic: fc.oneof(fc.record({ severity: value, summary: value, range: value }), value),
  },
  { requiredKeys: [] },
);

/** What OpenTofu (or what stands in its place) says: any text is read, or refused in words. */
export const resultArea = areaOf("results", 300, async () => {
  const clock = new VirtualClock();
  const store = memoryObjectStore({ clock, random: seededRandom(1) });
  const signal = new AbortController().signal;
  const terraform = await store.create(terraformOf({ writeOutputsToSecret: { name: "outputs" } }), {
    signal,
  });
  return {
    input: fc.oneof(
      jsonText,
      ...[plan, outputs, state, line].map((each: fc.Arbitrary<unknown>) =>
        each.map((found) => JSON.stringify(found)),
      ),
    ),
    async check(text) {
      const parsed = parse(text);
      const { add, change: changed, destroy } = summaryOf(parsed);
      if (![add, changed, destroy].every(Number.isInteger)) wrong("No counts");
      for (const { name } of outputFactsOf(parsed)) if (typeof name !== "string") wrong("No name");
      notInState(new Map([["a.b", { key: "id", value: "1" }]]), parsed);
      const bytes = new TextEncoder().encode(text);
      const head = readStateHead(bytes);
      if (typeof head !== "object") wrong("No head");
      const said = parseTofuLine(text);
      if (said.kind === "diagnostic" && typeof diagnosticText(said.diagnostic) !== "string") {
        wrong("No text");
      }
      lockIn(text);
      try {
        await writeOutputs(terraform, bytes, store, { signal });
      } catch (error) {
        if (!(error instanceof OutputsTrouble || error instanceof StoreError)) throw error;
        if (error.message === "" || error.message.length > 10_000) wrong("No words");
      }
    },
  };
});

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
