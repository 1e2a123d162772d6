import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { identityOf } from "../../processes/identity.ts";
import { until } from "./commands.ts";
import { Daemons } from "./daemons.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "nigari-daemons-"));
});
afterEach(async () => {
  await new Daemons(folder).stop("one");
  rmSync(folder, { recursive: true, force: true });
});

const sleeps = { file: "sh", args: ["-c", "echo begun; sleep 60"] };

describe("daemons", () => {
  test("are known to whoever comes later, and end for good", async () => {
    new Daemons(folder).start("one", sleeps);
    const later = new Daemons(folder);
    const pid = later.pid("one");
    expect(later.names()).toEqual(["one"]);
    expect(() => later.start("one", sleeps)).toThrow("runs already");
    await until("its output", 5_000, () => later.lastWords("one") === "begun" || undefined);
    await later.stop("one");
    expect(later.pid("one")).toBeUndefined();
    expect(pid === undefined ? undefined : identityOf(pid)).toBeUndefined();
  });

  test("start again as they were started last", async () => {
    const daemons = new Daemons(folder);
    daemons.start("one", sleeps);
    const first = daemons.pid("one");
    await until("its output", 5_000, () => daemons.lastWords("one") === "begun" || undefined);
    await daemons.stop("one");
    daemons.startAgain("one");
    expect(daemons.pid("one")).not.toBe(first);
    await until(
      "its output",
      5_000,
      () => daemons.lastWords("one") === "begun\nbegun" || undefined,
    );
  });

  test("that ended are not mixed up with a process that has their pid now", async () => {
    const daemons = new Daemons(folder);
    daemons.start("one", sleeps);
    await daemons.stop("one");
    const mine = { ...identityOf(process.pid), startTime: "1" };
    writeFileSync(join(folder, "run/one.pid"), JSON.stringify(mine));
    expect(daemons.pid("one")).toBeUndefined();
    // This would be the end of the test.
    await daemons.stop("one");
  });
});
