import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createGate, keepToken, readListenAddress } from "./access.ts";

const addresses: Record<string, ReturnType<typeof readListenAddress>> = {
  "127.0.0.1:9090": { host: "127.0.0.1", port: 9090 },
  "localhost:0": { host: "127.0.0.1", port: 0 },
  "[::1]:65535": { host: "::1", port: 65_535 },
  "0.0.0.0:9090": undefined,
  "[::]:9090": undefined,
  ":9090": undefined,
  "9090": undefined,
  "127.0.0.1:65536": undefined,
  "127.0.0.1.evil.example:1": undefined,
};
test.each(Object.entries(addresses))("%s as an address to listen on", (text, address) => {
  expect(readListenAddress(text)).toEqual(address);
});

describe("the token's file", () => {
  let scratch: string;
  let file: string;
  beforeEach(() => {
    scratch = mkdtempSync(join(tmpdir(), "nigari-token-"));
    file = join(scratch, "engine", "token");
  });
  afterEach(() => rmSync(scratch, { recursive: true }));

  test("is made once, for its user alone, and kept", () => {
    const token = keepToken(file);
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, "utf8").trim()).toBe(token);
    expect(keepToken(file)).toBe(token);
  });

  test("is refused if others can read it, or if it is no token", () => {
    keepToken(file);
    chmodSync(file, 0o644);
    expect(() => keepToken(file)).toThrow("is no secret of this user alone; remove it");
    rmSync(file);
    writeFileSync(file, "short\n", { mode: 0o600 });
    expect(() => keepToken(file)).toThrow("holds no token");
  });
});

describe("the gate", () => {
  const { refuse } = createGate("the-token");
  const good = { host: "127.0.0.1:9090", authorization: "Bearer the-token" };

  test.each(["127.0.0.1:9090", "localhost:1", "LOCALHOST", "[::1]:9090"])("lets %s in", (host) => {
    expect(refuse({ ...good, host })).toBeUndefined();
  });

  test.each([
    undefined,
    "",
    "evil.example:9090",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "127.0.0.1:9090@evil.example",
    "169.254.169.254",
  ])("keeps the host %s out, even with the token", (host) => {
    expect(refuse({ ...good, host })?.status).toBe(403);
  });

  test.each([
    undefined,
    "",
    "Bearer",
    "Bearer ",
    "Bearer the-toke",
    "Bearer the-token2",
    "Basic the-token",
    "the-token",
  ])("keeps %s out", (authorization) => {
    const refusal = refuse({ ...good, authorization });
    expect(refusal?.status).toBe(401);
    expect(refusal?.message).not.toContain("the-token");
  });
});
