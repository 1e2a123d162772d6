import fc from "fast-check";
import { memoryObjectStore } from "../../adapters/memory/object-store.ts";
import { kindNames } from "../../api/kinds.ts";
import { noLog } from "../../ports/log.ts";
import { faultIn } from "../../server/check.ts";
import { type Operation, operations } from "../../server/operations.ts";
import { createRoutes } from "../../server/routes.ts";
import { ErrorSchema } from "../../server/schemas.ts";
import { seededRandom, VirtualClock } from "../fakes/clock.ts";
import { MemoryStates } from "../fakes/memory-states.ts";
import { MemoryRunLogs } from "../fakes/run-logs.ts";
import { areaOf, jsonText, nasty, wrong } from "./area.ts";

const all = Object.values(operations) as Operation[];
const word = fc.oneof(
  fc.constantFrom("a", "b", "default", "1"),
  nasty.map((t) => t.slice(0, 300)),
);
const field = fc.oneof(word, fc.integer(), fc.constant(null), fc.jsonValue({ maxDepth: 3 }));

const object = fc
  .record({
    apiVersion: fc.oneof(fc.constantFrom("v1", "infra.contrib.fluxcd.io/v1alpha2"), field),
    kind: fc.oneof(fc.constantFrom(...kindNames), field),
    metadata: fc.oneof(
      fc.record(
        {
          name: field,
          namespace: field,
          labels: field,
          finalizers: field,
          ownerReferences: field,
          resourceVersion: field,
          uid: field,
        },
        { requiredKeys: ["name"] },
      ),
      field,
    ),
    spec: fc.oneof(fc.record({ interval: field, sourceRef: field }), field),
    data: field,
    status: field,
  })
  .map((each) => JSON.stringify(each));

const request = fc.record({
  operation: fc.constantFrom(...all),
  method: fc.oneof(
    { weight: 9, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS") },
  ),
  kind: fc.oneof(fc.constantFrom<string>(...kindNames), word),
  words: fc.array(word, { minLength: 4, maxLength: 4 }),
  query: fc.array(
    fc.tuple(
      fc.oneof(
        fc.constantFrom("namespace", "label", "part", "tail", "runId", "force", "resourceVersion"),
        word,
      ),
      word,
    ),
    { maxLength: 3 },
  ),
  body: fc.oneof(object, jsonText, fc.uint8Array({ maxLength: 200 })),
});
type Request_ = typeof request extends fc.Arbitrary<infer T> ? T : never;

function pathOf({ operation, kind, words, query }: Request_): string {
  let at = 0;
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    at += 1;
    return encoded(name === "kind" ? kind : (words[at - 1] ?? ""));
  });
  const asked = query.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join("&");
  return asked === "" ? path : `${path}?${asked}`;
}

function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

/** Any request has an answer that fits its schema or says in words what is wrong; none hurts. */
export const httpArea = areaOf("http", 300, async () => {
  const clock = new VirtualClock();
  const store = memoryObjectStore({ clock, random: seededRandom(1) });
  const ending = new AbortController();
  const failures: string[] = [];
  const log = { ...noLog, error: (_: string, more = {}) => failures.push(JSON.stringify(more)) };
  const info = () => ({
    pid: 1,
    version: "1",
    since: "",
    command: "",
    dataDir: "",
    epoch: 1,
    lagMs: 0,
    runs: [],
    slots: { taken: 0, all: 1 },
  });
  const routes = createRoutes(
    {
      store,
      logs: new MemoryRunLogs(),
      states: new MemoryStates(clock),
      live: { describe: () => undefined },
      info,
      clock,
      log,
    },
    ending.signal,
  );
  const call = { signal: ending.signal };
  const kept = await store.create(
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "kept", namespace: "kept" } },
    call,
  );
  return {
    input: request,
    async check(made) {
      const method = made.method ?? made.operation.method;
      const hasBody = method !== "GET";
      const answer = await routes.request(pathOf(made), {
        method,
        ...(hasBody ? { body: new Uint8Array(Buffer.from(made.body)) } : {}),
      });
      if (answer.headers.get("content-type")?.startsWith("text/event-stream")) {
        await answer.body?.cancel();
      } else if (answer.status >= 300) mustBeRefusal(answer.status, await answer.text());
      else await answer.arrayBuffer();
      if (failures.length > 0) wrong(failures.splice(0).join());
      const ref = { kind: "ConfigMap", namespace: "kept", name: "kept" } as const;
      const now = await store.get(ref, call);
      if (now?.metadata.resourceVersion !== kept.metadata.resourceVersion) wrong("kept was hurt");
    },
    async close() {
      ending.abort();
    },
  };
});

function mustBeRefusal(status: number, text: string): void {
  if (status >= 500) wrong(`Status ${status}: ${text.slice(0, 500)}`);
  const fault = faultIn(ErrorSchema, JSON.parse(text));
  if (fault !== undefined) wrong(`No refusal of ours${fault}`);
  if (text.length > 10_000) wrong(`A refusal of ${text.length} characters`);
}
