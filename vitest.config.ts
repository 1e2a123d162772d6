import { defineConfig } from "vitest/config";

// Three projects: "unit" needs nothing but Node and runs in parallel; "real" starts real processes
// (git, tofu, runners, engines) and runs one file at a time, so that its bounds measure us and
// not a crowded machine; "e2e" (npm run e2e) has a whole Kubernetes cluster, and is not part of
// "npm test".
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
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          globalSetup: ["test/e2e/support/global-setup.ts"],
          fileParallelism: false,
          testTimeout: 300_000,
          hookTimeout: 300_000,
          retry: 1,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
