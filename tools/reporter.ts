import type { Reporter, TestModule } from "vitest/node";

/** Closes every run with one plain line, "N passed, N failed, N skipped", for people and for CI. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>): void {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) count[test.result().state] += 1;
      // A file that does not even load holds no test; it must not pass for "0 failed".
      count.failed += module.errors().length;
    }
    const { passed, failed, skipped, pending } = count;
    process.stdout.write(`\n${passed} passed, ${failed} failed, ${skipped + pending} skipped\n`);
  }
}
