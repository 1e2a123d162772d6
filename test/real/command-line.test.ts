import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CommandLine } from "./support/command-line.ts";

let scratch: string;
let line: CommandLine;
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "nigari-cli-"));
  line = new CommandLine(scratch);
});
afterEach(() => {
  line.close();
  rmSync(scratch, { recursive: true, maxRetries: 5 });
});

describe("what cannot become right by waiting is refused before anything starts", () => {
  const cases: Record<string, { words: string[]; code: number; says: string }> = {
    "a password in the URL would end up in files": {
      words: ["https://me:hunter2@127.0.0.1:1/x.git"],
      code: 3,
      says: "Git URL holds a password; give it by --token-file or NIGARI_GIT_TOKEN",
    },
    "a protocol that git is not let use": {
      words: ["git://127.0.0.1:1/x"],
      code: 3,
      says: "Protocol of the Git URL is not supported; use https, ssh, file or a local path",
    },
    "a protocol of something else": { words: ["ftp://x/y"], code: 3, says: "is not supported" },
    "a token file that is not there": {
      words: ["https://127.0.0.1:1/x.git", "--token-file", "/nowhere"],
      code: 2,
      says: "/nowhere of --token-file: There is no such file or folder; check the path",
    },
    "a key file that is empty would count as none": {
      words: ["ssh://git@127.0.0.1:1/x.git", "--identity-file", "/dev/null"],
      code: 2,
      says: "/dev/null of --identity-file: The file is empty; put it in",
    },
    "a folder that is not there": { words: ["./nowhere"], code: 3, says: "name a folder or a Git" },
  };
  test.each(Object.entries(cases))("%s", async (_, { words, code, says }) => {
    const ended = await line.run(["up", ...words]);
    expect(ended.err).toContain(says);
    expect(ended.err).not.toContain("hunter2");
    expect(ended.code).toBe(code);
    expect(existsSync(line.dataDir)).toBe(false);
  });
});

test("an engine whose data directory is replaced below it ends by itself", async () => {
  const engine = await line.up();
  rmSync(join(line.dataDir, "lock.db"));
  const [code] = await once(engine, "exit");
  expect(code).toBe(1);
}, 60_000);
