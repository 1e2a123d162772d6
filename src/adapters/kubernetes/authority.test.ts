import { X509Certificate } from "node:crypto";
import type { AddressInfo } from "node:net";
import { connect, createServer, type PeerCertificate, type TLSSocket } from "node:tls";
import { beforeEach, describe, expect, test } from "vitest";
import type { ObjectStore } from "../../ports/object-store.ts";
import { seededRandom, VirtualClock } from "../../testing/fakes/clock.ts";
import { memoryObjectStore } from "../memory/object-store.ts";
import { AUTHORITY_LIFE_MS, Authority, LEAF_LIFE_MS, SHOWN_FIRST_MS } from "./authority.ts";
import { type Certificate, makeAuthority, makeLeaf } from "./certificates.ts";

const DAY_MS = 86_400_000;
const call = { signal: new AbortController().signal };
const place = { namespace: "flux-system", name: "nigari-runner-ca" };
let clock: VirtualClock;
let store: ObjectStore;
beforeEach(() => {
  // Handshakes go by the machine's own clock.
  clock = new VirtualClock(new Date().toISOString());
  store = memoryObjectStore({ clock, random: seededRandom(1) });
});
const replica = () => new Authority(place, { store, clock });
const server = (authority: Authority, identity = "nigari://run/1/pod/a") =>
  authority.leaf({ purpose: "server", identity }, call);
const client = (authority: Authority) =>
  authority.leaf({ purpose: "client", identity: "nigari://controller" }, call);
const identityOf = ({ certificate }: Certificate) => new X509Certificate(certificate);

interface Side {
  readonly leaf: Certificate;
  readonly trusts: string;
}

/** Both sides of one handshake; the words of the first that refuses, or undefined. */
async function handshake(at: Side, by: Side, expected: string): Promise<string | undefined> {
  const options = { key: at.leaf.key, cert: at.leaf.certificate, ca: at.trusts };
  const listening = createServer({ ...options, requestCert: true, rejectUnauthorized: true });
  const refusal = new Promise<string>((resolve) => {
    listening.on("tlsClientError", (error) => resolve(`server: ${error.message}`));
  });
  listening.on("secureConnection", (socket: TLSSocket) => void socket.end("welcome"));
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", () => resolve()));
  const { port } = listening.address() as AddressInfo;
  const socket = connect({
    ...{ port, host: "127.0.0.1", key: by.leaf.key, cert: by.leaf.certificate, ca: by.trusts },
    checkServerIdentity: (_, { subjectaltname }: PeerCertificate) =>
      subjectaltname === `URI:${expected}` ? undefined : new Error(`it is ${subjectaltname}`),
  });
  const outcome = new Promise<string | undefined>((resolve) => {
    socket.on("data", () => resolve(undefined));
    socket.on("error", (error) => resolve(`client: ${error.message}`));
  });
  try {
    return await Promise.race([outcome, refusal]);
  } finally {
    socket.destroy();
    listening.close();
  }
}

test("controller and runner know each other", async () => {
  const authority = replica();
  const trusts = await authority.trusted(call);
  const at = { leaf: await server(authority), trusts };
  const by = { leaf: await client(authority), trusts };
  expect(await handshake(at, by, "nigari://run/1/pod/a")).toBe(undefined);
});

describe("a handshake is refused", () => {
  test("by the controller, if the runner is that of another pod", async () => {
    const authority = replica();
    const trusts = await authority.trusted(call);
    const at = { leaf: await server(authority, "nigari://run/1/pod/b"), trusts };
    const by = { leaf: await client(authority), trusts };
    expect(await handshake(at, by, "nigari://run/1/pod/a")).toMatch(/client: it is URI.*pod\/b/);
  });

  test("by the controller, if the certificate is that of a client", async () => {
    const authority = replica();
    const trusts = await authority.trusted(call);
    const leaf = await client(authority);
    expect(await handshake({ leaf, trusts }, { leaf, trusts }, "nigari://controller")).toMatch(
      /purpose/,
    );
  });

  test("by the runner, if another runner calls: the key of one pod opens no other", async () => {
    const authority = replica();
    const trusts = await authority.trusted(call);
    const leaf = await server(authority);
    const refused = await handshake({ leaf, trusts }, { leaf, trusts }, "nigari://run/1/pod/a");
    expect(refused).not.toBe(undefined);
  });

  test("by the runner, if the controller has another authority", async () => {
    const authority = replica();
    const nowMs = clock.now();
    const foreign = await makeAuthority("x", nowMs, DAY_MS);
    const request = { purpose: "client", identity: "nigari://controller", lifeMs: DAY_MS } as const;
    const trusts = await authority.trusted(call);
    const by = { leaf: await makeLeaf(foreign, request, nowMs), trusts };
    const refused = await handshake(
      { leaf: await server(authority), trusts },
      by,
      "nigari://run/1/pod/a",
    );
    expect(refused).not.toBe(undefined);
  });

  test("by either, if a certificate has ended", async () => {
    const longAgoMs = clock.now() - 90 * DAY_MS;
    const old = await makeAuthority("x", longAgoMs, 365 * DAY_MS);
    const leaf = (purpose: "server" | "client") =>
      makeLeaf(old, { purpose, identity: "nigari://x", lifeMs: DAY_MS }, longAgoMs);
    const trusts = old.certificate;
    const at = { leaf: await leaf("server"), trusts };
    const by = { leaf: await leaf("client"), trusts };
    expect(await handshake(at, by, "nigari://x")).toMatch(/expired/);
  });
});

test("replicas share one authority, whoever is first", async () => {
  const replicas = [replica(), replica(), replica()];
  const trusted = await Promise.all(replicas.map((each) => each.trusted(call)));
  expect(new Set(trusted).size).toBe(1);
  expect(trusted[0]?.match(/BEGIN CERTIFICATE/g)).toHaveLength(1);
});

test("a leaf allows for clocks that differ, and never outlives its authority", async () => {
  const authority = replica();
  const leaf = await server(authority);
  expect(leaf.notBeforeMs).toBeLessThanOrEqual(clock.now() - 299_000);
  expect(leaf.notAfterMs - clock.now()).toBe(LEAF_LIFE_MS);
  const short = await makeAuthority("x", clock.now(), DAY_MS);
  const request = { purpose: "server", identity: "nigari://x", lifeMs: LEAF_LIFE_MS } as const;
  expect((await makeLeaf(short, request, clock.now())).notAfterMs).toBe(short.notAfterMs);
});

test("a younger authority follows in time; the old is trusted while it has leaves", async () => {
  const one = replica();
  const old = await one.trusted(call);
  clock.jump(AUTHORITY_LIFE_MS - 2 * LEAF_LIFE_MS - DAY_MS);
  expect(await one.trusted(call)).toBe(old);
  const last = await server(one);
  expect(last.notAfterMs - clock.now()).toBe(LEAF_LIFE_MS);

  clock.jump(2 * DAY_MS);
  const both = await one.trusted(call);
  expect(both.endsWith(old)).toBe(true);
  expect(both.length).toBeGreaterThan(old.length);
  const [newest] = both.split(/(?=-----BEGIN)/);
  const signs = async (authority = "") =>
    identityOf(await server(one)).verify(new X509Certificate(authority).publicKey);
  // Runners that know the old one alone must not be cut off.
  expect([await signs(old), await signs(newest)]).toEqual([true, false]);
  clock.jump(SHOWN_FIRST_MS);
  expect([await signs(old), await signs(newest)]).toEqual([false, true]);

  clock.jump(LEAF_LIFE_MS - DAY_MS);
  expect(await one.trusted(call)).toBe(both);
  expect(last.notAfterMs).toBeLessThan(clock.now() + DAY_MS);
  clock.jump(2 * DAY_MS);
  expect(await one.trusted(call)).toBe(newest);
});

test("a replica that has slept for a year goes on with what the others made", async () => {
  const [one, two] = [replica(), replica()];
  await one.trusted(call);
  await two.trusted(call);
  clock.jump(AUTHORITY_LIFE_MS + DAY_MS);
  expect(await two.trusted(call)).toBe(await one.trusted(call));
});

const damages: Record<string, Record<string, string>> = {
  "it lost its key": {},
  "it is no JSON": { "authorities.json": Buffer.from("{]").toString("base64") },
  "it is something else": { "authorities.json": Buffer.from('[{"key":"x"}]').toString("base64") },
};
test.each(Object.entries(damages))(
  "a Secret that was spoiled is not replaced: %s",
  async (_, data) => {
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { ...place }, data } as const;
    await store.create(secret, call);
    await expect(replica().trusted(call)).rejects.toThrow(
      /Secret flux-system\/nigari-runner-ca holds no authority.*restore it/,
    );
    expect((await store.get({ kind: "Secret", ...place }, call))?.data ?? {}).toEqual(data);
  },
);
