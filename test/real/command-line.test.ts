import { execFileSync } from "node:child_process";
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

const OBJECT = `
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: { name: app }
spec: { interval: 1h, suspend: true, sourceRef: { kind: GitRepository, name: none } }
`;

describe("no verb waits for ever", () => {
  test("for an engine that is stopped, and it says who that is", async () => {
    const engine = await line.up(OBJECT);
    await line.untilThere("app");
    const follower = line.start(["logs", "app", "-f"]);
    const following = line.end(follower);
    await line.untilFollowing(follower);
    engine.kill("SIGSTOP");
    const words = [["get"], ["describe", "app"], ["reconcile", "app", "--wait"], ["state", "list"]];
    for (const ended of await Promise.all(words.map((each) => line.run(each)))) {
      expect(ended.err).toContain(`(pid ${engine.pid}, started as "nigari up ${line.manifests}")`);
      expect(ended.err).toContain(`"kill -CONT ${engine.pid}" wakes it`);
      expect(ended.code).toBe(5);
    }
    const followed = await following;
    expect(followed.err).toContain("gives no answer: It said nothing for 15 seconds");
    expect(followed.code).toBe(5);
  }, 90_000);

  test("for an engine that is killed", async () => {
    const engine = await line.up(OBJECT.replace("suspend: true, ", ""));
    await line.untilThere("app");
    const follower = line.start(["logs", "app", "-f"]);
    const following = line.end(follower);
    await line.untilFollowing(follower);
    engine.kill("SIGKILL");
    const followed = await following;
    expect(followed.err).toMatch(/went away in the middle|has stopped/);
    expect(followed.code).toBe(5);
    const after = await line.run(["logs", "app", "-f"]);
    expect(after).toMatchObject({ code: 0, out: "" });
    expect(after.err).toContain("No engine runs, so no more lines come");
  }, 60_000);

  test("for a pipe that nobody writes to", async () => {
    (await line.up()).kill("SIGKILL");
    const pipe = join(scratch, "pipe");
    execFileSync("mkfifo", [pipe]);
    const ended = await line.run(["apply", "-f", pipe]);
    expect(ended.err).toContain(`Pipe ${pipe} was not written to its end: The request took longer`);
    expect(ended.code).toBe(1);
  }, 60_000);

  test("for standard input once it was interrupted", async () => {
    (await line.up()).kill("SIGKILL");
    const apply = line.start(["apply", "-f", "-"]);
    const ended = once(apply, "exit");
    await line.untilOpened(apply);
    apply.kill("SIGINT");
    expect(await ended).toEqual([130, null]);
  }, 60_000);
});

test("a file that is not there is told in words", async () => {
  (await line.up()).kill("SIGKILL");
  const ended = await line.run(["state", "push", "app", "/nowhere"]);
  expect(ended.err).toBe("nigari: /nowhere: There is no such file or folder; check the path\n");
  expect(ended.code).toBe(2);
});
