import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Terraform } from "../../api/terraform.ts";
import type { Announcer } from "../../ports/announcer.ts";
import type { LogFields } from "../../ports/log.ts";
import { createClock } from "../system/clock.ts";
import { createAnnouncer } from "./announcer.ts";

const clock = createClock();
let server: Server;
let answers: number[];
let bodies: Record<string, unknown>[];
let warnings: (LogFields | undefined)[];
let ended: AbortController;
let announcer: Announcer;

beforeEach(async () => {
  [answers, bodies, warnings, ended] = [[], [], [], new AbortController()];
  server = createServer((request, answer) => {
    let text = "";
    request.on("data", (chunk) => {
      text += chunk;
    });
    request.on("end", () => {
      bodies.push(JSON.parse(text));
      const status = answers.shift() ?? 200;
      // 0: nobody ever answers.
      if (status > 0) answer.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const none = () => {};
  announcer = createAnnouncer({
    ...{ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, instance: "pod-1" },
    ...{ userAgent: "nigari/test", clock, signal: ended.signal },
    log: { info: none, debug: none, error: none, warn: (_, fields) => warnings.push(fields) },
  });
});
afterEach(() => {
  ended.abort();
  server.closeAllConnections();
  server.close();
});

const object: Terraform = {
  ...{ apiVersion: "infra.contrib.fluxcd.io/v1alpha2", kind: "Terraform" },
  metadata: {
    ...{ name: "hello", namespace: "team", uid: "u-1", resourceVersion: "7" },
    annotations: { "event.toolkit.fluxcd.io/env": "prod", "reconcile.fluxcd.io/requestedAt": "x" },
  },
  spec: { interval: "1m", sourceRef: { kind: "GitRepository", name: "hello" } },
};
const news = { object, type: "Warning", reason: "DriftDetected", message: "Drift" } as const;

async function until(condition: () => boolean): Promise<void> {
  await expect.poll(condition, { timeout: 9_000, interval: 10 }).toBe(true);
}

test("posts the form that notification-controller takes", async () => {
  announcer.announce(news);
  await until(() => bodies.length === 1);
  expect(bodies[0]).toEqual({
    involvedObject: {
      ...{ kind: "Terraform", apiVersion: "infra.contrib.fluxcd.io/v1alpha2" },
      ...{ namespace: "team", name: "hello", uid: "u-1", resourceVersion: "7" },
    },
    ...{ severity: "error", message: "Drift", reason: "DriftDetected" },
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+Z$/),
    metadata: { "event.toolkit.fluxcd.io/env": "prod" },
    ...{ reportingController: "tf-controller", reportingInstance: "pod-1" },
  });
});

test("takes 429 for an event that is known already, and does not send it again", async () => {
  answers = [429];
  announcer.announce(news);
  announcer.announce({ ...news, type: "Normal" });
  await until(() => bodies.length === 2);
  expect(bodies.map(({ severity }) => severity)).toEqual(["error", "info"]);
  expect(warnings).toEqual([]);
});

test("sends again what a server in trouble did not take", async () => {
  answers = [503];
  announcer.announce(news);
  await until(() => bodies.length === 2);
  expect(warnings).toEqual([]);
});

test("says once that events are refused, and goes on with the next", async () => {
  answers = [400, 400];
  announcer.announce(news);
  announcer.announce(news);
  announcer.announce(news);
  await until(() => bodies.length === 3);
  expect(warnings).toEqual([{ error: "the server answered 400" }]);
});

test("returns at once while nobody answers, and gives up after 5 s", async () => {
  answers = [0, 200];
  announcer.announce(news);
  await until(() => bodies.length === 2);
});
