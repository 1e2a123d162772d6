import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import { type Command, CommandError, runCommand } from "./command.ts";

const scratch = mkdtempSync(join(tmpdir(), "nigari-command-"));
afterAll(() => rmSync(scratch, { recursive: true }));

const env = { PATH: "/usr/bin:/bin" };
const forever = { signal: new AbortController().signal };

function sh(script: string, more: Partial<Command> = {}): Command {
  return { file: "/bin/sh", args: ["-c", script], env, ...more };
}

describe("how a command ends is a result", () => {
  test("exit code, both streams, and no environment but the given one", async () => {
    const result = await runCommand(
      sh('echo out; echo err >&2; echo "[$HOME]"; exit 3', { env: { ...env, HOME: "/nowhere" } }),
      forever,
    );
    expect({ ...result, stdout: result.stdout.toString() }).toEqual({
      code: 3,
      signal: undefined,
      stdout: "out\n[/nowhere]\n",
      stderr: "err\n",
      truncated: false,
    });
  });

  test("a signal", async () => {
    const result = await runCommand(sh("kill -KILL $$"), forever);
    expect(result).toMatchObject({ code: undefined, signal: "SIGKILL" });
  });

  test("stdin is closed: whoever asks for input gets none and goes on", async () => {
    const result = await runCommand(sh("read answer || echo none"), forever);
    expect(result.stdout.toString()).toBe("none\n");
  });

  test("it leads a process group of its own, so that ending it spares ours", async () => {
    const result = await runCommand(sh("ps -o pgid= -p $$; echo $$"), forever);
    const [group, pid] = result.stdout.toString().trim().split(/\s+/);
    expect(group).toBe(pid);
  });
});

describe("output", () => {
  test("is kept up to the limit, and a flood does not block the command", async () => {
    const flood = sh("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; exit 4", {
      outputLimitBytes: 1000,
    });
    const result = await runCommand(flood, forever);
    expect(result).toMatchObject({ code: 4, truncated: true });
    expect([result.stdout.length, result.stderr.length]).toEqual([1000, 1000]);
  });

  test("can be taken as it comes, with no limit", async () => {
    let bytes = 0;
    const result = await runCommand(
      sh("head -c 3000000 /dev/zero", {
        onStdout: (chunk) => {
          bytes += chunk.length;
        },
      }),
      forever,
    );
    expect(bytes).toBe(3_000_000);
    expect(result).toMatchObject({ code: 0, truncated: false });
  });
});

describe("the call's signal ends it", () => {
  test("with its grandchildren, though they ignore SIGTERM", async () => {
    const file = join(scratch, "grandchild.pid");
    const stop = new AbortController();
    const running = runCommand(
      sh(`trap "" TERM; (trap "" TERM; echo $$ >${file}; sleep 300) & sleep 300`, { graceMs: 50 }),
      stop,
    );
    while (!existsSync(file) || readFileSync(file, "utf8") === "") await sleep(5);
    const reason = new Error("The deadline of 5 s passed");
    stop.abort(reason);
    const error = await running.catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(CommandError);
    expect(error).toMatchObject({ code: "Ended", cause: reason });
    expect(String(error)).toContain("The deadline of 5 s passed");
    const group = Number(readFileSync(file, "utf8"));
    // Whoever adopted the dead may be slow to bury them: a zombie runs nothing.
    const list = await runCommand(sh("ps -eo pgid=,stat="), forever);
    const members = list.stdout
      .toString()
      .split("\n")
      .map((line) => line.trim().split(/\s+/))
      .filter(([pgid, state]) => Number(pgid) === group && !state?.startsWith("Z"));
    expect(members).toEqual([]);
  });

  test("before it starts, if it has fired already", async () => {
    const file = join(scratch, "never");
    const call = { signal: AbortSignal.abort(new Error("Shutting down")) };
    await expect(runCommand(sh(`touch ${file}`), call)).rejects.toMatchObject({ code: "Ended" });
    expect(existsSync(file)).toBe(false);
  });

  test("a grandchild that keeps the output open does not keep us", async () => {
    const begun = performance.now();
    const result = await runCommand(sh("sleep 300 & echo done"), forever);
    expect(result).toMatchObject({ code: 0 });
    expect(performance.now() - begun).toBeLessThan(5_000);
  });
});

describe("a command that cannot start names itself and the mend", () => {
  const cases: Record<string, { command: Command; says: RegExp }> = {
    "no such program on the PATH it was given": {
      command: { file: "gitt", args: [], env },
      says: /^Program "gitt" could not be started \(ENOENT\); see that it is installed/,
    },
    "a file that may not be executed": {
      command: { file: "/etc/passwd", args: [], env },
      says: /EACCES/,
    },
    "a folder that is not there": {
      command: sh("true", { cwd: join(scratch, "missing") }),
      says: /in .*missing/,
    },
  };
  test.each(Object.entries(cases))("%s", async (_, { command, says }) => {
    const error = await runCommand(command, forever).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ name: "CommandError", code: "NotFound" });
    expect((error as Error).message).toMatch(says);
  });
});
