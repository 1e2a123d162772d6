import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Credentials } from "./credentials.ts";
import type { ClusterAccess, Credential, ExecPlugin } from "./kubeconfig.ts";

let root = "";
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "plugin-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const call = { signal: new AbortController().signal };
const env = { PATH: process.env.PATH, HOME: "/nowhere" };

function credentials(credential: Credential, now = () => 0) {
  const access: ClusterAccess = {
    ...{ name: "x", server: new URL("https://api:6443"), namespace: "default", proxy: undefined },
    tls: {
      ...{ ca: "CA", certificate: undefined, key: undefined },
      ...{ serverName: undefined, insecure: false },
    },
    ...{ credential, impersonate: undefined },
  };
  return new Credentials(access, { env, now });
}

/** A plugin that counts how often it is asked, and answers with what the script prints. */
async function plugin(script: string, more: Partial<ExecPlugin> = {}) {
  const command = join(root, "login");
  await writeFile(command, `#!/bin/sh\necho x >> ${root}/asked\n${script}\n`);
  await chmod(command, 0o755);
  const apiVersion = "client.authentication.k8s.io/v1";
  return credentialOf({
    ...{ apiVersion, command, args: ["a b"], env: { OWN: "1" }, wantsCluster: true },
    ...{ installHint: undefined, ...more },
  });
}
const credentialOf = (found: ExecPlugin): Credential => ({ kind: "plugin", plugin: found });
const asked = async () => (await readFile(join(root, "asked"), "utf8")).split("\n").length - 1;
const answer = (status: object) => `echo '${JSON.stringify({ status })}'`;

describe("credentials", () => {
  test("of a token, of a name and password, and of none", async () => {
    const headers = async (credential: Credential) =>
      (await credentials(credential).identity(call)).headers;
    expect(await headers({ kind: "none" })).toEqual({});
    expect(await headers({ kind: "token", token: "t" })).toEqual({ authorization: "Bearer t" });
    expect(await headers({ kind: "basic", user: "u", password: "p" })).toEqual({
      authorization: `Basic ${btoa("u:p")}`,
    });
  });

  test("in a file are read again each time", async () => {
    const file = join(root, "token");
    await writeFile(file, "one\n");
    const own = credentials({ kind: "token-file", file });
    expect((await own.identity(call)).headers.authorization).toBe("Bearer one");
    await writeFile(file, "two\n");
    expect((await own.identity(call)).headers.authorization).toBe("Bearer two");
    await rm(file);
    await expect(own.identity(call)).rejects.toThrow("cannot be read");
  });

  test("of a plugin are asked for once, and again when they expire or are refused", async () => {
    let now = Date.parse("2026-01-01T00:00:00Z");
    const status = { token: "t", expirationTimestamp: "2026-01-01T01:00:00Z" };
    const own = credentials(await plugin(answer(status)), () => now);
    const all = await Promise.all([1, 2, 3].map(() => own.identity(call)));
    expect(all.map((each) => each.headers.authorization)).toEqual(Array(3).fill("Bearer t"));
    expect(await asked()).toBe(1);
    now += 3_595_000;
    await own.identity(call);
    expect(await asked()).toBe(2);
    expect(own.refused()).toBe(true);
    expect(own.refused()).toBe(false);
    await own.identity(call);
    expect(await asked()).toBe(3);
  });

  test("of a plugin may be a certificate", async () => {
    const status = { clientCertificateData: "CERT", clientKeyData: "KEY" };
    const own = credentials(await plugin(answer(status)));
    expect(await own.identity(call)).toEqual({ headers: {}, certificate: "CERT", key: "KEY" });
  });

  test("a plugin gets its arguments, its environment and word of the cluster", async () => {
    const script =
      `printf '%s\\n' "$1" "$OWN" "$HOME" "$KUBERNETES_EXEC_INFO" > ${root}/seen\n` +
      answer({ token: "t" });
    await credentials(await plugin(script)).identity(call);
    const [first, own, home, info = ""] = (await readFile(join(root, "seen"), "utf8")).split("\n");
    expect([first, own, home]).toEqual(["a b", "1", "/nowhere"]);
    expect(JSON.parse(info)).toEqual({
      ...{ apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential" },
      spec: {
        interactive: false,
        cluster: { server: "https://api:6443", "certificate-authority-data": btoa("CA") },
      },
    });
  });

  const wrong: Record<string, { script: string; says: RegExp }> = {
    fails: { script: "echo 'log in first' >&2; exit 3", says: /ended with 3: log in first/ },
    "prints no JSON": { script: "echo token", says: /did not answer with JSON/ },
    "gives nothing": { script: answer({}), says: /gave neither a token nor a certificate/ },
  };
  test.each(Object.entries(wrong))("a plugin that %s is told so", async (_, { script, says }) => {
    await expect(credentials(await plugin(script)).identity(call)).rejects.toThrow(says);
  });

  test("a plugin that is not there comes with the hint of who configured it", async () => {
    const missing = await plugin("", { command: "no-such-plugin", installHint: "brew install it" });
    await expect(credentials(missing).identity(call)).rejects.toThrow(
      /did not run.*brew install it/,
    );
  });
});
