import { defineConfig } from "vitest/config";

// Two projects: "unit" needs nothing but Node and runs in parallel; "real" starts real processes
// (git, tofu, runners, engines) and runs one file at a time, so that its bounds measure us and
// not a crowded machine.
export default defineConfig({
  test: {
    reporters: ["default", "./tools/reporter.ts"],
    projects: [
      {
        test: {
          name: "unit",
          include: ["src/**/*.test.ts", "tools/**/*.test.ts", "test/conformance/**/*.test.ts"],
          testTimeout: 20_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "real",
          include: ["test/real/**/*.test.ts"],
          fileParallelism: false,
          testTimeout: 180_000,
          hookTimeout: 180_000,
          // Real processes on a machine that others use too: one that fails is tried once more, and
          // both tries are shown.
          retry: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
