/**
 * The rooms of the house and the directions in which they may import: the table of ARCHITECTURE.md
 * as data. `rooms.test.ts` holds every import of the tree against it.
 */

export interface Room {
  /** What lives here, in a line. */
  readonly purpose: string;
  /** Rooms it may import from, besides itself. */
  readonly rooms: readonly string[];
  /** npm packages it may import at run time. */
  readonly packages: readonly string[];
  /** Node built-ins it may import; "*" for all. */
  readonly builtins: readonly string[];
}

const PURE: readonly string[] = [];
const ANY = ["*"] as const;
const everything = [
  "api",
  "domain",
  "ports",
  "objects",
  "protocol",
  "processes",
  "engine",
  "runner",
  "template",
  "recognizers",
  "evidence",
  "render",
  "cli",
  "server",
] as const;

export const adapters = [
  "adapters/artifacts",
  "adapters/bundle",
  "adapters/engine-client",
  "adapters/git",
  "adapters/kubernetes",
  "adapters/manifests",
  "adapters/memory",
  "adapters/notification",
  "adapters/opentofu",
  "adapters/process",
  "adapters/sqlite",
  "adapters/state-door",
  "adapters/system",
] as const;

/** Every room by its folder below src/. A folder without a row fails. */
export const rooms: Readonly<Record<string, Room>> = {
  api: {
    purpose: "The kinds: schemas, types, defaults, conditions, reasons.",
    rooms: [],
    packages: ["typebox"],
    builtins: PURE,
  },
  domain: {
    purpose: "decide(observed, now): pure and synchronous; the steps, the tables, the conditions.",
    rooms: ["api"],
    packages: [],
    builtins: PURE,
  },
  ports: {
    purpose: "What the engine asks of the world: contracts and call order, no code that acts.",
    rooms: ["api", "domain"],
    packages: [],
    builtins: PURE,
  },
  objects: {
    purpose: "What the Kubernetes API makes of an object, on any shelf: the stores' shared part.",
    rooms: ["api", "ports"],
    packages: [],
    builtins: ["node:util"],
  },
  protocol: {
    purpose: "The contract between engine and runner: messages, gRPC glue, client, run folder.",
    rooms: ["api", "domain", "ports"],
    packages: ["@bufbuild/protobuf", "@grpc/grpc-js"],
    builtins: ANY,
  },
  processes: {
    purpose: "Children and their groups: start, identify, count, end. Used by runner and adapter.",
    rooms: [],
    packages: [],
    builtins: ANY,
  },
  template: {
    purpose: "Go's text/template, as far as objects and modules use it. Pure.",
    rooms: [],
    packages: [],
    builtins: PURE,
  },
  engine: {
    purpose: "Queue and loop gather → decide → execute; supervision of runs; the only retry.",
    rooms: ["api", "domain", "ports", "template"],
    packages: [],
    builtins: ["node:crypto", "node:zlib", "node:util"],
  },
  runner: {
    purpose: "The program that runs OpenTofu beside the engine; knows neither it nor Kubernetes.",
    rooms: ["api", "protocol", "processes", "template"],
    packages: ["tar", "@grpc/grpc-js"],
    builtins: ANY,
  },
  evidence: {
    purpose: "What is known of a cluster at a time: the doctor's model, pure.",
    rooms: ["api"],
    packages: [],
    builtins: PURE,
  },
  recognizers: {
    purpose: "Known failures, one per file, pure.",
    rooms: ["api", "evidence"],
    packages: [],
    builtins: PURE,
  },
  render: {
    purpose: "Text from facts: tables, findings, runbook, lessons. Pure.",
    rooms: ["api", "evidence", "recognizers"],
    packages: [],
    builtins: ["node:util"],
  },
  "adapters/artifacts": adapter([]),
  "adapters/bundle": adapter(["tar", "yaml"], ["evidence"]),
  "adapters/engine-client": adapter([], ["server"]),
  "adapters/git": adapter([], ["processes"]),
  "adapters/kubernetes": adapter(
    ["yaml", "@peculiar/x509", "reflect-metadata"],
    ["evidence", "processes", "protocol"],
  ),
  "adapters/manifests": adapter(["yaml", "tar"], ["objects"]),
  "adapters/memory": adapter([], ["objects"]),
  "adapters/notification": adapter([]),
  "adapters/opentofu": adapter([], ["processes"]),
  "adapters/process": adapter(["@grpc/grpc-js"], ["protocol", "processes"]),
  "adapters/sqlite": adapter([], ["objects"]),
  "adapters/state-door": adapter(["hono", "@hono/node-server"]),
  "adapters/system": adapter(["pino"]),
  server: {
    purpose: "The engine's HTTP interface, which the CLI speaks: operations, routes, access.",
    rooms: ["api", "ports", "render"],
    packages: ["hono", "@hono/node-server", "typebox"],
    builtins: ANY,
  },
  cli: {
    purpose: "arguments, commands, views. Main hands it what it works on.",
    rooms: ["api", "domain", "ports", "recognizers", "evidence", "render"],
    packages: ["commander", "yaml"],
    builtins: ANY,
  },
  main: {
    purpose: "Reads environment, builds adapters, wires, starts. Nobody imports it.",
    rooms: [...everything, ...adapters],
    packages: ["pino", "yaml", "tar"],
    builtins: ANY,
  },
  testing: {
    purpose: "Builders, fakes, contract suites, harness. Imported by tests and tools alone.",
    rooms: [...everything, ...adapters],
    packages: ["vitest", "fast-check", "yaml", "tar", "@grpc/grpc-js"],
    builtins: ANY,
  },
};

function adapter(packages: readonly string[], more: readonly string[] = []): Room {
  return {
    purpose: "One port's dealings with one thing outside.",
    rooms: ["api", "domain", "ports", ...more],
    packages,
    builtins: ANY,
  };
}
