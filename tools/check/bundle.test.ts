import { expect, test } from "vitest";
import { foreignToRunner } from "./bundle.ts";

const allowed = [
  "src/main/runner.ts",
  "src/main/package.ts",
  "src/runner/serve.ts",
  "src/protocol/generated/runner_pb.ts",
  "src/processes/group.ts",
  // A contract's error class, no more.
  "src/ports/runner.ts",
  // What a guard refuses and what a state file says is the same on both sides.
  "src/domain/guards.ts",
  "src/domain/state-file.ts",
  "node_modules/@grpc/grpc-js/build/src/index.js",
  "node_modules/tar/dist/esm/index.js",
];
const cases: Record<string, string> = {
  "the engine": "src/engine/loop.ts",
  "an adapter": "src/adapters/sqlite/store.ts",
  "a decision": "src/domain/decide.ts",
  "the command line": "src/cli/program.ts",
  "a Kubernetes client from npm": "node_modules/@kubernetes/client-node/dist/index.js",
  SQLite: "node:sqlite",
  "a web server": "node_modules/hono/dist/index.js",
  "its connection to Node": "node_modules/@hono/node-server/dist/index.mjs",
  commander: "node_modules/commander/esm.mjs",
  yaml: "node_modules/yaml/dist/index.js",
};

test("what the runner is made of passes", () => {
  const inputs = Object.fromEntries(allowed.map((path) => [path, { imports: [] }]));
  expect(foreignToRunner({ inputs })).toEqual([]);
});

test.each(Object.entries(cases))("%s is seen, bundled or imported", (_, path) => {
  const bundled = foreignToRunner({ inputs: { [path]: { imports: [] } } });
  const imported = foreignToRunner({ inputs: { "src/runner/a.ts": { imports: [{ path }] } } });
  expect(bundled).toEqual([expect.stringContaining(path)]);
  expect(imported).toEqual(bundled);
});
