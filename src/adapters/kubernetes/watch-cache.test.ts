import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Clock } from "../../ports/clock.ts";
import { noLog } from "../../ports/log.ts";
import { type FakePodApi, startFakePodApi } from "../../testing/fakes/pod-api.ts";
import { createClock } from "../system/clock.ts";
import { systemRandom } from "../system/random.ts";
import { Connection } from "./connection.ts";
import { WatchCache } from "./watch-cache.ts";

interface Kept {
  readonly uid: string;
  readonly phase: string;
}

const clock = createClock();
let api: FakePodApi;
let over: AbortController;
let told: string[];
let connection: Connection;
let cache: WatchCache<Kept>;

beforeEach(async () => {
  api = await startFakePodApi();
  over = new AbortController();
  told = [];
  const unset = { ca: undefined, certificate: undefined, key: undefined, serverName: undefined };
  connection = new Connection(
    {
      ...{ name: "x", namespace: "default", server: new URL(api.url) },
      tls: { ...unset, insecure: false },
      ...{ credential: { kind: "none" }, proxy: undefined, impersonate: undefined },
    },
    { clock, env: {}, userAgent: "nigari/test" },
  );
  cache = cacheOn(connection, clock);
});

function cacheOn(connection: Connection, by: Clock): WatchCache<Kept> {
  const text = (kept: Kept | undefined) => (kept === undefined ? "-" : `${kept.uid}:${kept.phase}`);
  return new WatchCache<Kept>(
    {
      ...{ path: "/api/v1/pods", query: {} },
      keep: (raw) => {
        const { metadata, phase } = raw as { metadata: { uid: string }; phase: string };
        return { uid: metadata.uid, phase };
      },
      changed: (now, before) => told.push(`${text(before)} > ${text(now)}`),
    },
    { connection, clock: by, random: systemRandom, log: noLog },
  );
}
afterEach(async () => {
  over.abort();
  await api.close();
});

const put = (uid: string, phase: string) =>
  api.put("pods", { metadata: { name: "a", namespace: "n", uid, resourceVersion: "" }, phase });

async function until(...expected: string[]): Promise<void> {
  await expect.poll(() => told, { timeout: 10_000, interval: 10 }).toEqual(expected);
}

async function begin(): Promise<void> {
  await cache.list({ signal: over.signal });
  void cache.run(over.signal);
}

test("what is there, what changes and what goes is told once each", async () => {
  put("1", "x");
  await begin();
  put("1", "y");
  await until("- > 1:x", "1:x > 1:y");
  expect(cache.get("n/a")).toEqual({ uid: "1", phase: "y" });
  api.drop("pods", "a");
  // The last state comes with the end; it may be the only word of it.
  await expect.poll(() => told.at(-1)).toBe("1:y > -");
  expect(cache.values()).toEqual([]);
});

test("another uid under the same name is another object", async () => {
  put("1", "x");
  await begin();
  put("2", "x");
  await until("- > 1:x", "1:x > -", "- > 2:x");
});

test("an answer of our own is not undone by what a late watch still tells", async () => {
  put("1", "old");
  const [first] = api.all("pods");
  put("1", "new");
  cache.put(api.all("pods")[0]);
  cache.put(first);
  expect(cache.get("n/a")?.phase).toBe("new");
});

describe("the watch", () => {
  test("goes on from where it broke", async () => {
    await begin();
    await expect.poll(() => api.requests.length).toBe(2);
    api.breakWatches();
    put("1", "x");
    await until("- > 1:x");
    // It is not listed again for that.
    expect(api.requests.length).toBeLessThanOrEqual(4);
  });

  test("that comes too late lists anew, and what is gone is told", async () => {
    put("1", "x");
    await begin();
    await until("- > 1:x");
    api.refuse(/^GET \/api\/v1\/pods$/, { status: 410, message: "too old" });
    api.breakWatches();
    api.drop("pods", "a");
    await expect.poll(() => told.at(-1), { timeout: 10_000 }).toBe("1:x > -");
  });

  test("that is silent for too long is given up for another", async () => {
    // A thousand times as fast, so that its patience is over in a moment.
    const hasty: Clock = {
      ...{ now: () => clock.now(), lagMs: () => 0, deadline: clock.deadline.bind(clock) },
      monotonic: () => clock.monotonic() * 1_000,
      sleep: (ms, signal) => clock.sleep(ms / 1_000, signal),
    };
    cache = cacheOn(connection, hasty);
    await cache.list({ signal: over.signal });
    api.refuse(/^GET \/api\/v1\/pods$/, undefined);
    void cache.run(over.signal);
    await expect.poll(() => api.requests.length).toBe(2);
    put("1", "x");
    await until("- > 1:x");
    expect(api.requests.length).toBeGreaterThan(2);
  });

  test("ends with its signal", async () => {
    await cache.list({ signal: over.signal });
    const running = cache.run(over.signal);
    await expect.poll(() => api.requests.length).toBe(2);
    over.abort();
    await running;
  });
});
