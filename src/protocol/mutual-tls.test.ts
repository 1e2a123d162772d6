import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { type Certificate, makeAuthority, makeLeaf } from "../adapters/kubernetes/certificates.ts";
import { Run } from "../runner/run.ts";
import { serveRun } from "../runner/server.ts";
import { RunnerClient } from "./client.ts";
import {
  admitting,
  CONTROLLER_IDENTITY,
  runnerIdentity,
  ServerTls,
  type TlsIdentity,
  towards,
} from "./mutual-tls.ts";
import { runFolder } from "./run-folder.ts";

// A real runner's server on a real TCP port, with real certificates.

const DAY_MS = 86_400_000;
const nowMs = Date.now();
const authority = await makeAuthority("a", nowMs, 90 * DAY_MS);
const OWN = runnerIdentity("run-1", "pod-a");
const scratch = mkdtempSync(join(tmpdir(), "nmt-"));
const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(() => rmSync(scratch, { recursive: true }));

async function leaf(
  purpose: "server" | "client",
  identity: string,
  by: Certificate = authority,
  atMs = nowMs,
): Promise<TlsIdentity> {
  const made = await makeLeaf(by, { purpose, identity, lifeMs: DAY_MS }, atMs);
  return { certificate: made.certificate, key: made.key, trusted: authority.certificate };
}

async function serve(own: TlsIdentity) {
  const port = await freePort();
  const folder = runFolder(mkdtempSync(join(scratch, "r-")));
  const identity = {
    ...{ runId: "run-1", namespace: "team", name: "demo", epoch: 1, token: "t", socket: "" },
    createdAt: "2026-01-01T00:00:00Z",
  };
  const credentials = new ServerTls(own);
  const server = await serveRun(
    new Run(identity, folder, {}),
    { version: "1.2.3", bootId: "boot", pid: 1 },
    { address: `127.0.0.1:${port}`, credentials, admission: [admitting(CONTROLLER_IDENTITY)] },
  );
  closers.push(() => server.close());
  return { port, credentials };
}

/** "ok", or why the runner could not be spoken with. */
async function greet(port: number, own: TlsIdentity, expected = OWN): Promise<string> {
  const address = `127.0.0.1:${port}`;
  const client = new RunnerClient({ runId: "run-1", address, ...towards(expected, own) });
  closers.push(() => client.close());
  try {
    await client.hello({ signal: AbortSignal.timeout(4_000) });
    return "ok";
  } catch (error) {
    return `${(error as { code?: string }).code}: ${(error as Error).message}`;
  }
}

test("the controller and the runner that it made speak with each other", async () => {
  const { port } = await serve(await leaf("server", OWN));
  expect(await greet(port, await leaf("client", CONTROLLER_IDENTITY))).toBe("ok");
});

describe("nothing is said", () => {
  const cases: Record<string, () => Promise<string>> = {
    "to the pod of another run that has the address now": async () => {
      const { port } = await serve(await leaf("server", runnerIdentity("run-2", "pod-b")));
      return greet(port, await leaf("client", CONTROLLER_IDENTITY));
    },
    "to a new pod of the same run's name": async () => {
      const { port } = await serve(await leaf("server", runnerIdentity("run-1", "pod-b")));
      return greet(port, await leaf("client", CONTROLLER_IDENTITY));
    },
    "to a runner whose certificate has ended": async () => {
      const { port } = await serve(await leaf("server", OWN, authority, nowMs - 2 * DAY_MS));
      return greet(port, await leaf("client", CONTROLLER_IDENTITY));
    },
    "to a runner of another authority": async () => {
      const foreign = await makeAuthority("x", nowMs, DAY_MS);
      const { port } = await serve(await leaf("server", OWN, foreign));
      return greet(port, await leaf("client", CONTROLLER_IDENTITY));
    },
    "by a runner to another runner, whose certificate is for serving": async () => {
      const { port } = await serve(await leaf("server", OWN));
      return greet(port, await leaf("server", runnerIdentity("run-2", "pod-b")));
    },
    "by a runner to a client of the same authority that is not the controller": async () => {
      const { port } = await serve(await leaf("server", OWN));
      return greet(port, await leaf("client", "nigari://somebody"));
    },
    "by a runner to a controller whose certificate has ended": async () => {
      const { port } = await serve(await leaf("server", OWN));
      const old = await leaf("client", CONTROLLER_IDENTITY, authority, nowMs - 2 * DAY_MS);
      return greet(port, old);
    },
  };
  test.each(Object.entries(cases))("%s", async (_why, act) => {
    expect(await act()).toMatch(/^(Unavailable|Refused): /);
  });
});

test("a renewed certificate holds for the next connection", async () => {
  const foreign = await makeAuthority("x", nowMs, DAY_MS);
  const { port, credentials } = await serve(await leaf("server", OWN, foreign));
  const own = await leaf("client", CONTROLLER_IDENTITY);
  expect(await greet(port, own)).not.toBe("ok");
  credentials.renew(await leaf("server", OWN));
  expect(await greet(port, own)).toBe("ok");
});

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" ? (address?.port ?? 0) : 0));
    });
  });
}
