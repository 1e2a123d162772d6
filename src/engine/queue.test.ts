import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { seededRandom, settle, VirtualClock } from "../testing/fakes/clock.ts";
import { type Priority, WorkQueue } from "./queue.ts";

const CAP_MS = 60_000;

function queueOf(clock = new VirtualClock(), seed = 1): WorkQueue {
  const random = seededRandom(seed);
  return new WorkQueue({ clock, random, backoffBaseMs: 1_000, backoffCapMs: CAP_MS });
}
const never = new AbortController().signal;

/** Everything that can be taken at this moment, in order; all of it stays out. */
async function takeAll(queue: WorkQueue): Promise<string[]> {
  const keys: string[] = [];
  while (queue.size().ready > 0) keys.push((await queue.take(never)) ?? "");
  return keys;
}

describe("a queue", () => {
  test("hands out a key added several times once", async () => {
    const queue = queueOf();
    for (const key of ["a", "b", "a", "a"]) queue.add(key);
    expect(await takeAll(queue)).toEqual(["a", "b"]);
  });

  test("hands a key out again if it was added while it was out, and not before", async () => {
    const queue = queueOf();
    queue.add("a");
    expect(await queue.take(never)).toBe("a");
    queue.add("a");
    expect(queue.size()).toEqual({ ready: 0, delayed: 0, running: 1 });
    queue.done("a");
    expect(await queue.take(never)).toBe("a");
    queue.done("a");
    expect(queue.size()).toEqual({ ready: 0, delayed: 0, running: 0 });
  });

  test("lets urgent keys go first, but not for ever", async () => {
    const queue = queueOf();
    for (const key of ["n1", "n2"]) queue.add(key);
    for (const key of ["u1", "u2", "u3", "u4", "u5", "u6"]) queue.add(key, "urgent");
    expect(await takeAll(queue)).toEqual(["u1", "u2", "u3", "u4", "n1", "u5", "u6", "n2"]);
  });

  test("makes a waiting key urgent when somebody asks for it", async () => {
    const queue = queueOf();
    for (const key of ["a", "b", "c"]) queue.add(key);
    queue.add("c", "urgent");
    expect(await takeAll(queue)).toEqual(["c", "a", "b"]);
  });

  test("keeps the earliest of several dates, and a plain add comes before all", async () => {
    const clock = new VirtualClock();
    const queue = queueOf(clock);
    queue.addAfter("a", 10_000);
    queue.addAfter("a", 5_000);
    queue.addAfter("a", 20_000);
    const taken = queue.take(never);
    await clock.advance(4_999);
    expect(queue.size()).toEqual({ ready: 0, delayed: 1, running: 0 });
    await clock.advance(1);
    expect(await taken).toBe("a");
    queue.done("a");
    queue.addAfter("a", 5_000);
    queue.add("a");
    expect(await queue.take(never)).toBe("a");
  });

  test("a taker that waits is woken by an add and by a sooner date", async () => {
    const clock = new VirtualClock();
    const queue = queueOf(clock);
    const first = queue.take(never);
    await settle();
    queue.add("a");
    expect(await first).toBe("a");
    const second = queue.take(never);
    queue.addAfter("b", 50_000);
    await settle();
    queue.addAfter("c", 10);
    await clock.advance(10);
    expect(await second).toBe("c");
  });

  test("take ends with its signal", async () => {
    const stop = new AbortController();
    const taken = queueOf().take(stop.signal);
    stop.abort();
    expect(await taken).toBeUndefined();
  });

  test("a nonsensical delay neither loses a key nor spins", async () => {
    const clock = new VirtualClock();
    const queue = queueOf(clock);
    queue.addAfter("endless", Number.POSITIVE_INFINITY);
    queue.addAfter("none", Number.NaN);
    await clock.advance(CAP_MS);
    expect(await queue.take(never)).toBe("none");
    await clock.advance(86_400_000);
    expect(await queue.take(never)).toBe("endless");
  });
});

test("the delay after a failure grows, stays below its cap and never overflows", () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 1, max: 3_000 }), (seed, failures) => {
      const queue = queueOf(new VirtualClock(), seed);
      const delays = Array.from({ length: failures }, () => queue.retry("a"));
      return delays.every(
        (delay, index) => delay >= 1 && delay <= Math.min(CAP_MS, 1_000 * 2 ** Math.min(index, 30)),
      );
    }),
    { numRuns: 50 },
  );
});

type Step =
  | { do: "add"; key: string; priority: Priority }
  | { do: "later"; key: string; ms: number }
  | { do: "take" }
  | { do: "done" }
  | { do: "pass"; ms: number };
const key = fc.constantFrom("a", "b", "c", "d", "e");
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant("add" as const),
    key,
    priority: fc.constantFrom<Priority>("urgent", "normal"),
  }),
  fc.record({ do: fc.constant("later" as const), key, ms: fc.integer({ min: 1, max: 5_000 }) }),
  fc.record({ do: fc.constant("take" as const) }),
  fc.record({ do: fc.constant("done" as const) }),
  fc.record({ do: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 5_000 }) }),
);

test("every add is answered by a later take, and no key is out twice at once", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const clock = new VirtualClock();
      const queue = queueOf(clock);
      const owed = new Set<string>();
      const out: string[] = [];
      async function take() {
        if (queue.size().ready === 0) return;
        const taken = await queue.take(never);
        expect(out).not.toContain(taken);
        owed.delete(taken ?? "");
        out.push(taken ?? "");
      }
      function done() {
        const first = out.shift();
        if (first !== undefined) queue.done(first);
      }
      for (const each of steps) {
        if (each.do === "add") {
          queue.add(each.key, each.priority);
          owed.add(each.key);
        } else if (each.do === "later") {
          queue.addAfter(each.key, each.ms);
          owed.add(each.key);
        } else if (each.do === "pass") await clock.advance(each.ms);
        else if (each.do === "take") await take();
        else done();
      }
      // Time passes and takers go on: nothing that was asked for may remain.
      const drained = new AbortController();
      const drain = (async () => {
        while (out.length > 0) done();
        for (;;) {
          const taken = await queue.take(drained.signal);
          if (taken === undefined) return;
          owed.delete(taken);
          queue.done(taken);
        }
      })();
      await clock.advance(60_000);
      drained.abort();
      await drain;
      expect([...owed]).toEqual([]);
      expect(queue.size()).toEqual({ ready: 0, delayed: 0, running: 0 });
    }),
    { numRuns: 150 },
  );
});

test("no key that waits is passed over by more than five others", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.boolean(), { minLength: 20, maxLength: 60 }), async (flags) => {
      const queue = queueOf();
      queue.add("patient");
      let passed = 0;
      for (const [index, urgent] of flags.entries()) {
        queue.add(`k${index}`, urgent ? "urgent" : "normal");
        queue.add(`m${index}`, "urgent");
        const taken = await queue.take(never);
        if (taken === "patient") return passed <= 5;
        passed += 1;
      }
      return false;
    }),
    { numRuns: 100 },
  );
});
