import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { dataDirOf, makePrivate } from "./data-dir.ts";

describe("the data directory", () => {
  const cases: Record<string, { flag?: string; env: Record<string, string>; is: string }> = {
    "is what the flag says": { flag: "/f", env: { NIGARI_DATA_DIR: "/e", HOME: "/h" }, is: "/f" },
    "or the variable": { env: { NIGARI_DATA_DIR: "/e", HOME: "/h" }, is: "/e" },
    "or the user's own place": { env: { HOME: "/h" }, is: "/h/.local/state/nigari" },
    "or where the user has put it": {
      env: { HOME: "/h", XDG_STATE_HOME: "/x" },
      is: "/x/nigari",
    },
    "an empty variable is none": {
      env: { HOME: "/h", XDG_STATE_HOME: "", NIGARI_DATA_DIR: "" },
      is: "/h/.local/state/nigari",
    },
    "a relative one would move with the folder one stands in": {
      env: { HOME: "/h", XDG_STATE_HOME: "x" },
      is: "/h/.local/state/nigari",
    },
    "no HOME, so what the system says": {
      env: {},
      is: join(homedir(), ".local/state/nigari"),
    },
  };
  test.each(Object.entries(cases))("%s", (_, { flag, env, is }) => {
    expect(dataDirOf(flag, env)).toBe(is);
  });

  test("that cannot be made says why and how to go on", () => {
    const folder = mkdtempSync(join(tmpdir(), "nigari-data-dir-"));
    writeFileSync(join(folder, "file"), "");
    const below = join(folder, "file/data");
    expect(() => makePrivate(below)).toThrow(
      `Data directory ${below} lies below a file; choose another with --data-dir`,
    );
    expect(() => makePrivate(join(folder, "file"))).toThrow(/is a file; choose another/);
    // Node's recursive mkdir would never come back from here.
    expect(() => makePrivate("/proc/nigari/data")).toThrow(
      /^Data directory \/proc\/nigari\/data .*; choose another with --data-dir$/,
    );
    makePrivate(join(folder, "a/b"));
    expect(statSync(join(folder, "a")).mode & 0o777).toBe(0o700);
    rmSync(folder, { recursive: true });
  });
});
