import { afterAll, describe, expect, test } from "vitest";
import { createClock, DeadlineExceeded, lagOf, type Stall } from "./clock.ts";

const clock = createClock();
afterAll(() => clock.close());
const never = new AbortController().signal;

function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

describe("sleep", () => {
  test("lasts as long as asked", async () => {
    const start = clock.monotonic();
    await clock.sleep(40, never);
    expect(clock.monotonic() - start).toBeGreaterThanOrEqual(39);
  });

  test("ends at once when the signal fires, also one that has fired before", async () => {
    const controller = new AbortController();
    const start = clock.monotonic();
    const sleeping = clock.sleep(60_000, controller.signal);
    controller.abort();
    await sleeping;
    await clock.sleep(60_000, controller.signal);
    expect(clock.monotonic() - start).toBeLessThan(1_000);
  });

  test("of sixty days does not fire at once, as a bare timer would", async () => {
    const controller = new AbortController();
    let over = false;
    const sleeping = clock.sleep(60 * 86_400_000, controller.signal).then(() => {
      over = true;
    });
    await clock.sleep(20, never);
    expect(over).toBe(false);
    controller.abort();
    await sleeping;
  });
});

describe("deadline", () => {
  test("fires with an error that names what took too long", async () => {
    const signal = clock.deadline("Reading the door", 10);
    await clock.sleep(200, signal);
    expect(signal.reason).toBeInstanceOf(DeadlineExceeded);
    expect(signal.reason.message).toBe("Reading the door took longer than 10ms");
  });

  test("fires with its parent, and with the parent's reason", () => {
    const parent = new AbortController();
    const signal = clock.deadline("A call", 60_000, parent.signal);
    parent.abort(new Error("Shutting down"));
    expect(signal.reason.message).toBe("Shutting down");
    expect(clock.deadline("Another", 60_000, parent.signal).aborted).toBe(true);
  });

  test("stays silent before its time", async () => {
    const signal = clock.deadline("A call", 60_000, never);
    await clock.sleep(20, never);
    expect(signal.aborted).toBe(false);
  });
});

describe("lag", () => {
  const crowded = Array.from({ length: 100 }, (_, index) => {
    return { endedAtMs: index * 100, ms: 50 };
  });
  const cases: [why: string, stalls: readonly Stall[], lagMs: number][] = [
    ["there is none", [], 0],
    ["the largest counts for ten seconds", [{ endedAtMs: 500, ms: 3_000 }], 3_000],
    ["what is longer ago is forgotten", [{ endedAtMs: -1, ms: 3_000 }], 0],
    ["a crowded machine blinds nobody", crowded, 950],
    [
      "several large ones close together add up",
      [
        { endedAtMs: 8_500, ms: 1_400 },
        { endedAtMs: 9_990, ms: 1_400 },
      ],
      2_800,
    ],
  ];
  test.each(cases)("%s", (_why, stalls, lagMs) => expect(lagOf(stalls, 10_000)).toBe(lagMs));

  test("a process that was busy knows it, at once and afterwards", async () => {
    const own = createClock();
    await own.sleep(150, never);
    block(500);
    expect(own.lagMs(), "before the late timer has run").toBeGreaterThan(350);
    await own.sleep(250, never);
    expect(own.lagMs(), "after it").toBeGreaterThan(350);
    own.close();
  });
});
