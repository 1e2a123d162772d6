import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  interrupt,
  kill,
  killProcess,
  type ProcessGroup,
  readExitFile,
  readIdentityFile,
  startDetached,
  startGroup,
} from "./group.ts";
import { sameProcess } from "./identity.ts";
import { membersOf, readProcessTable } from "./members.ts";

const TOKEN = "c0ffee";
let folder = "";
let group: ProcessGroup | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "nigari-group-"));
  group = undefined;
});
afterEach(async () => {
  if (group !== undefined) await kill(group.identity, TOKEN, 5_000);
  rmSync(folder, { recursive: true });
});

const file = (name: string) => join(folder, name);
const text = (name: string) => readFileSync(file(name), "utf8");

async function start(script: string, stdin?: string): Promise<ProcessGroup> {
  group = await startGroup({
    argv: ["/bin/sh", "-c", script],
    cwd: folder,
    env: { PATH: process.env.PATH ?? "", NIGARI_RUN_TOKEN: TOKEN },
    stdout: file("out"),
    stderr: file("err"),
    identityFile: file("identity.json"),
    exitFile: file("exit"),
    ...(stdin === undefined ? {} : { stdin }),
  });
  return group;
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 5_000;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error("It did not come about in 5 s");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe("a command whose disk is full", () => {
  const away = () => file("away/file");
  const command = () => ({
    argv: ["/bin/sh", "-c", "exit 3"],
    cwd: folder,
    env: {},
    stdout: file("out"),
    stderr: file("err"),
    identityFile: file("identity.json"),
    exitFile: file("exit"),
  });

  test("is known by the exit code of its wrapper", async () => {
    const { ended } = await startGroup({ ...command(), exitFile: away() });
    expect(await ended).toBe(3);
  });
  test("fails at once if its wrapper cannot say who it is", async () => {
    const failing = startGroup({ ...command(), identityFile: away() });
    await expect(failing).rejects.toThrow("is the disk full?");
  });
});

describe("a command in a group", () => {
  const ends: [why: string, script: string, exitCode: number][] = [
    ["its success is told", "exit 0", 0],
    ["its failure is told", "exit 42", 42],
    ["a signal that ends it is told as shells do", "kill -9 $$", 137],
    ["a program that does not exist is a failure like others", "exec /nowhere", 127],
  ];
  test.each(ends)("%s", async (_, script, exitCode) => {
    const { ended } = await start(script);
    expect(await ended).toBe(exitCode);
    expect(readExitFile(file("exit"))).toBe(exitCode);
  });

  test("output goes to private files, input is closed", async () => {
    const { ended } = await start("echo said; echo cried >&2; read -r line || echo 'no input'");
    expect(await ended).toBe(0);
    expect(text("out")).toBe("said\nno input\n");
    expect(text("err")).toBe("cried\n");
    for (const name of ["out", "err", "exit", "identity.json"]) {
      expect(statSync(file(name)).mode & 0o777, name).toBe(0o600);
    }
  });

  test("nobody but the command speaks in its name, however it ends", async () => {
    const { ended } = await start("echo last words >&2; kill -9 $$");
    expect(await ended).toBe(137);
    expect(text("err")).toBe("last words\n");
  });

  test("a program that is not there is told by name", async () => {
    group = await startGroup({
      argv: ["/nowhere/tofu"],
      cwd: folder,
      env: {},
      stdout: file("out"),
      stderr: file("err"),
      identityFile: file("identity.json"),
      exitFile: file("exit"),
    });
    expect(await group.ended).toBe(127);
    expect(text("err")).toMatch(/\/nowhere\/tofu: (not found|No such file)/);
  });

  test("its identity is on disk before it starts", async () => {
    const { identity, ended } = await start("cat identity.json");
    await ended;
    expect(JSON.parse(text("out"))).toEqual(identity);
    expect(readIdentityFile(file("identity.json"))).toEqual(identity);
  });

  test("an interrupt ends the command, and its wrapper lives to tell", async () => {
    const { identity, ended } = await start(
      "trap 'exit 3' INT; echo up; while :; do sleep 1; done",
    );
    await until(() => text("out") === "up\n");
    expect(await interrupt(identity, TOKEN)).toBe(true);
    expect(await ended).toBe(3);
  });

  test("an interrupt is sent once, whoever asks for it again", async () => {
    const { identity } = await start("trap 'echo int' INT; echo up; while :; do sleep 0.05; done");
    await until(() => text("out") === "up\n");
    expect(await interrupt(identity, TOKEN, file("interrupted"))).toBe(true);
    await until(() => text("out") === "up\nint\n");
    expect(await interrupt(identity, TOKEN, file("interrupted"))).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(text("out")).toBe("up\nint\n");
  });

  test("a command that ignores signals is killed, and leaves no exit code", async () => {
    const { identity, ended } = await start("trap '' INT TERM HUP; echo up; sleep 100; sleep 100");
    await until(() => text("out") === "up\n");
    await interrupt(identity, TOKEN);
    expect(sameProcess(identity)).toBe(true);
    expect(await kill(identity, TOKEN, 5_000)).toBe(true);
    expect(await ended).toBeUndefined();
    expect(existsSync(file("exit"))).toBe(false);
    expect(membersOf({ leaders: [identity], token: TOKEN }, await readProcessTable())).toEqual([]);
  });

  test("a grandchild in a session of its own is found by its token", async () => {
    const { identity, ended } = await start("setsid sleep 100 & echo done");
    await ended;
    const run = { leaders: [identity], token: TOKEN };
    await until(async () => membersOf(run, await readProcessTable()).length === 1);
    const [left] = membersOf(run, await readProcessTable());
    expect(left?.by).toBe("token");
    expect(left !== undefined && killProcess(left)).toBe(true);
    await until(async () => membersOf(run, await readProcessTable()).length === 0);
  });

  test("another process that has the pid is not signalled", async () => {
    const { identity } = await start("sleep 100");
    const other = { ...identity, startTime: "1" };
    expect(await interrupt(other, TOKEN)).toBe(false);
    expect(await kill(other, TOKEN, 1_000)).toBe(true);
    expect(killProcess(other)).toBe(false);
    expect(sameProcess(identity)).toBe(true);
  });

  test("an environment without PATH is no hindrance", async () => {
    group = await startGroup({
      argv: ["/bin/sh", "-c", "exit 5"],
      cwd: folder,
      env: {},
      stdout: file("out"),
      stderr: file("err"),
      identityFile: file("identity.json"),
      exitFile: file("exit"),
    });
    expect(await group.ended).toBe(5);
  });

  test("a folder that is not there fails at once, and names it", async () => {
    const cwd = file("nowhere");
    const command = { argv: ["true"], cwd, env: {}, stdout: file("out"), stderr: file("err") };
    const files = { identityFile: file("identity.json"), exitFile: file("exit") };
    await expect(startGroup({ ...command, ...files })).rejects.toThrow(cwd);
    await expect(startDetached(command)).rejects.toThrow(cwd);
  });
});

test("a detached program has a session of its own and tells its end", async () => {
  const { identity, ended } = await startDetached({
    argv: ["/bin/sh", "-c", "echo up; exec sleep 100"],
    cwd: folder,
    env: { PATH: process.env.PATH ?? "" },
    stdout: file("log"),
    stderr: file("log"),
  });
  await until(() => text("log") === "up\n");
  const stat = (await readProcessTable()).byPid.get(identity.pid);
  expect(stat).toMatchObject({ group: identity.pid, session: identity.pid });
  expect(killProcess(identity)).toBe(true);
  expect(await ended).toEqual({ signal: "SIGKILL" });
});

test("a detached program that ends at once has an identity all the same", async () => {
  for (let time = 0; time < 10; time += 1) {
    const { identity, ended } = await startDetached({
      argv: ["/bin/sh", "-c", "exit 3"],
      cwd: folder,
      env: {},
      stdout: file("log"),
      stderr: file("log"),
    });
    expect(identity.pid).toBeGreaterThan(1);
    expect(await ended).toEqual({ exitCode: 3 });
    expect(sameProcess(identity)).toBe(false);
  }
});
