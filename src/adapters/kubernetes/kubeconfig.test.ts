import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { type AccessOptions, findAccess } from "./kubeconfig.ts";

let root = "";
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "kubeconfig-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const put = async (name: string, content: unknown) => {
  const file = join(root, name);
  await writeFile(file, typeof content === "string" ? content : stringify(content));
  return file;
};
const find = (options: Partial<AccessOptions> = {}) =>
  findAccess({ env: {}, kubeconfig: undefined, context: undefined, ...options });

const pem = (name: string) => `-----BEGIN ${name}-----\n`;
const config = (user: object, cluster: object = {}) => ({
  "current-context": "here",
  contexts: [
    { name: "here", context: { cluster: "c", user: "u", namespace: "ops" } },
    { name: "there", context: { cluster: "c2", user: "u" } },
  ],
  clusters: [
    { name: "c", cluster: { server: "https://one.example:6443", ...cluster } },
    { name: "c2", cluster: { server: "https://two.example/k8s/cluster" } },
  ],
  users: [{ name: "u", user }],
});

describe("a kubeconfig", () => {
  test("gives the current context, certificates from data and from files beside it", async () => {
    await put("ca.pem", pem("CA"));
    const file = await put(
      "config",
      config(
        {
          "client-certificate-data": Buffer.from(pem("CERT")).toString("base64"),
          "client-key-data": Buffer.from(pem("KEY")).toString("base64"),
        },
        { "certificate-authority": "ca.pem", "tls-server-name": "api" },
      ),
    );
    expect(await find({ kubeconfig: file })).toEqual({
      ...{ name: "here", server: new URL("https://one.example:6443"), namespace: "ops" },
      tls: {
        ...{ ca: pem("CA"), certificate: pem("CERT"), key: pem("KEY") },
        ...{ serverName: "api", insecure: false },
      },
      ...{ credential: { kind: "none" }, proxy: undefined, impersonate: undefined },
    });
  });

  test("gives the context that was asked for", async () => {
    const file = await put("config", config({ token: "t", as: "eve", "as-groups": ["g"] }));
    expect(await find({ kubeconfig: file, context: "there" })).toMatchObject({
      server: new URL("https://two.example/k8s/cluster"),
      namespace: "default",
      credential: { kind: "token", token: "t" },
      impersonate: { user: "eve", groups: ["g"] },
    });
  });

  test("of several files takes the first of a name and passes over what is missing", async () => {
    const one = await put("one", { ...config({ token: "first" }), clusters: [] });
    const two = await put("two", config({ token: "second" }));
    const KUBECONFIG = [join(root, "missing"), one, two].join(delimiter);
    expect(await find({ env: { KUBECONFIG } })).toMatchObject({
      server: new URL("https://one.example:6443"),
      credential: { token: "first" },
    });
  });

  test("names a plugin, its command from the file's own folder", async () => {
    const exec = {
      apiVersion: "client.authentication.k8s.io/v1",
      ...{ command: "bin/login", args: ["a"], env: [{ name: "X", value: "1" }] },
      ...{ installHint: "get it", provideClusterInfo: true },
    };
    const file = await put("config", config({ exec }));
    expect((await find({ kubeconfig: file })).credential).toEqual({
      kind: "plugin",
      plugin: {
        apiVersion: "client.authentication.k8s.io/v1",
        ...{ command: join(root, "bin/login"), args: ["a"], env: { X: "1" } },
        ...{ installHint: "get it", wantsCluster: true },
      },
    });
  });

  test("is looked for at home, and in a pod the pod's own account is taken", async () => {
    await writeFile(join(root, "token"), "t\n");
    await writeFile(join(root, "namespace"), "ops");
    const env = {
      HOME: root,
      KUBERNETES_SERVICE_HOST: "fd00::1",
      KUBERNETES_SERVICE_PORT: "443",
      NIGARI_SERVICE_ACCOUNT_DIR: root,
    };
    expect(await find({ env })).toMatchObject({
      ...{ name: "in-cluster", server: new URL("https://[fd00::1]:443"), namespace: "ops" },
      credential: { kind: "token-file", file: join(root, "token") },
    });
    await expect(find({ env: { HOME: root } })).rejects.toThrow("No kubeconfig in ");
  });

  const wrong: Record<string, { content: unknown; context?: string; says: RegExp }> = {
    "is no YAML": { content: "a: [hunter2", says: /is no YAML/ },
    "has no such context": {
      content: config({}),
      context: "x",
      says: /Context "x" does not exist/,
    },
    "has no current one": {
      content: { ...config({}), "current-context": "" },
      says: /No current context .* one of: here, there/,
    },
    "names a cluster that is not there": {
      content: { ...config({}), clusters: [] },
      says: /names cluster "c", which is not there/,
    },
    "names a user that is not there": {
      content: { ...config({}), users: [] },
      says: /names user "u", which is not there/,
    },
    "has a server that is no URL": {
      content: config({}, { server: "one:6443" }),
      says: /server "one:6443", which is no http\(s\) URL/,
    },
    "has an old way to log in": {
      content: config({ "auth-provider": { name: "gcp" } }),
      says: /auth-provider "gcp", which Kubernetes has dropped/,
    },
    "has a plugin of an unknown kind": {
      content: config({ exec: { apiVersion: "v9", command: "x" } }),
      says: /exec of apiVersion "v9"/,
    },
    "names a certificate that is not there": {
      content: config({ "client-certificate": "none.pem" }),
      says: /client-certificate .*none\.pem/,
    },
  };
  test.each(Object.entries(wrong))("that %s is told so", async (_, { content, context, says }) => {
    const file = await put("config", content);
    const error: unknown = await find({ kubeconfig: file, context }).catch((each) => each);
    expect(error).toMatchObject({ name: "AccessError", message: expect.stringMatching(says) });
    expect(String(error)).not.toContain("hunter2");
  });
});
