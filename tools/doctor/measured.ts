// Runs `nigari` and says on standard error how much memory it held at most, in KiB, and how long
// it kept a processor busy, in microseconds.
process.on("exit", () => {
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  process.stderr.write(`maxRSS ${maxRSS} cpu ${userCPUTime + systemCPUTime}\n`);
});
await import("../../src/main/cli.ts");
