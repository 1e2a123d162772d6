import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { afterAll, describe, expect, test } from "vitest";
import { checkHealth, type HealthCheck, parseTcpAddress } from "./health.ts";

const never = new AbortController().signal;
const web = createServer((request, response) => {
  const [, status = "200", to] = request.url?.split("/") ?? [];
  if (status === "never") return;
  response.statusCode = Number(status);
  if (to !== undefined) response.setHeader("location", `/${to}`);
  response.end("hello");
});
const silent = createTcpServer(() => undefined);
await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
const webPort = (web.address() as AddressInfo).port;
const tcpPort = (silent.address() as AddressInfo).port;
afterAll(() => {
  web.closeAllConnections();
  web.close();
  silent.close();
});

const outputs = new Map([
  ["host", "127.0.0.1"],
  ["port", String(webPort)],
  ["age.key", "127.0.0.1"],
  ["token", "hunter2"],
]);

/** The template that stands for an output. */
const out = (name: string) => `$\{{.${name}}}`;

async function trouble(check: Pick<HealthCheck, "type" | "target">, timeoutMs = 300) {
  const found = await checkHealth([{ name: "check", timeoutMs, ...check }], outputs, never);
  expect(found.map(({ name }) => name)).toEqual(["check"]);
  return found[0]?.trouble;
}

const passing: Record<string, Pick<HealthCheck, "type" | "target">> = {
  "a port that takes the connection": { type: "tcp", target: `127.0.0.1:${tcpPort}` },
  "an address made of outputs": { type: "tcp", target: `${out("host")}:$\{{ .port }}` },
  "an output whose name is no word": {
    type: "tcp",
    target: `$\{{ index . "age.key" }}:${out("port")}`,
  },
  "what a function makes of an output": {
    type: "tcp",
    target: `${out("host | trim")}:${out("port")}`,
  },
  "an answer of 200": { type: "http", target: `http://127.0.0.1:${webPort}/200` },
  "an answer below 400": { type: "http", target: `http://127.0.0.1:${webPort}/304` },
  "a redirect to something good": {
    type: "http",
    target: `http://${out("host")}:${out("port")}/302/204`,
  },
};
test.each(Object.entries(passing))("%s passes", async (_name, check) => {
  expect(await trouble(check, 5_000)).toBeUndefined();
});

const failing: Record<string, Pick<HealthCheck, "type" | "target"> & { says: RegExp }> = {
  "a port that nobody has": {
    type: "tcp",
    target: "127.0.0.1:1",
    says: /^TCP health check error: check, url: 127.0.0.1:1: .* failed \(ECONNREFUSED\)$/,
  },
  "no port": { type: "tcp", target: "127.0.0.1", says: /no address of the form host:port/ },
  nothing: { type: "tcp", target: "", says: /no address/ },
  "a template with other signs": { type: "tcp", target: "{{.host}}:81", says: /no address/ },
  "an output that there is not": {
    type: "tcp",
    target: `${out("nope")}:1`,
    says: /url: \$\{\{\.nope\}\}:1: .*nope.* has no value$/,
  },
  "a function that there is not": {
    type: "tcp",
    target: `${out("host | b")}:1`,
    says: /there is no function "b"$/,
  },
  "an answer of 404": {
    type: "http",
    target: `http://127.0.0.1:${webPort}/404`,
    says: /^HTTP health check error: check, url: .*404: it answers with status 404$/,
  },
  "a redirect to something bad": {
    type: "http",
    target: `http://127.0.0.1:${webPort}/301/500`,
    says: /status 500$/,
  },
  "an address without a scheme": { type: "http", target: "127.0.0.1/get", says: /no URL/ },
  "another scheme": { type: "http", target: "file:///etc/passwd", says: /no URL/ },
  "no answer at all": {
    type: "http",
    target: `http://127.0.0.1:${webPort}/never`,
    says: /no answer within 0.3s$/,
  },
  "a value in the address: it is not told": {
    type: "tcp",
    target: `${out("token")}.invalid:1`,
    says: /^(?!.*hunter2)TCP health check error/,
  },
};
test.each(Object.entries(failing))("%s fails", async (_name, { says, ...check }) => {
  expect(await trouble(check)).toMatch(says);
});

test("what comes up in time passes", async () => {
  const late = createTcpServer(() => undefined);
  const { port } = await new Promise<AddressInfo>((resolve) => {
    const first = createTcpServer().listen(0, "127.0.0.1", () => {
      const address = first.address() as AddressInfo;
      first.close(() => resolve(address));
    });
  });
  const checked = trouble({ type: "tcp", target: `127.0.0.1:${port}` }, 10_000);
  await new Promise((resolve) => late.listen(port, "127.0.0.1", () => resolve(undefined)));
  expect(await checked).toBeUndefined();
  late.close();
});

test("checks are made side by side and end at once when the run is to stop", async () => {
  const stop = new AbortController();
  const hanging = { type: "http", target: `http://127.0.0.1:${webPort}/never` } as const;
  const checks = ["a", "b"].map((name) => ({ name, ...hanging, timeoutMs: 60_000 }));
  const made = checkHealth(checks, outputs, stop.signal);
  stop.abort();
  expect((await made).map(({ name }) => name)).toEqual(["a", "b"]);
});

describe("a TCP address", () => {
  test.each(["10.1.2.3:80", "[::1]:443", "localhost:1", "db.example.com:65535", "a-b.c:5432"])(
    "%j is one",
    (text) => {
      expect(parseTcpAddress(text)).toBeDefined();
    },
  );
  test.each([
    "",
    ":80",
    "localhost",
    "a_b:80",
    "a+b:80",
    "host:http",
    "host:0",
    "host:70000",
    "tcp://host:80",
    "-a:80",
    `${"a".repeat(64)}:80`,
    "::1:80",
  ])("%j is none", (text) => {
    expect(parseTcpAddress(text)).toBeUndefined();
  });
});
