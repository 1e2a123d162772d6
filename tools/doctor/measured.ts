// Runs `nigari` and says on standard error how much memory it held at most, in KiB.
process.on("exit", () => {
  process.stderr.write(`maxRSS ${process.resourceUsage().maxRSS}\n`);
});
await import("../../src/main/cli.ts");
