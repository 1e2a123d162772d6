import { expect, test } from "vitest";
import { fuzz } from "./area.ts";
import { fuzzAreas, GROWTH_BYTES_MAX } from "./areas.ts";

// A fixed seed each, so that a failure is one of the code. More: npm run -s fuzz -- --seeds 100
test.each(fuzzAreas)(
  "$name: whatever comes is taken, or refused in words",
  async (area) => {
    const before = process.memoryUsage.rss();
    const { failure } = await fuzz(area, 1);
    expect(failure).toBeUndefined();
    expect(process.memoryUsage.rss() - before).toBeLessThan(GROWTH_BYTES_MAX);
  },
  60_000,
);
