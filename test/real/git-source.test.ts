import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { createFolderStore } from "../../src/adapters/artifacts/store.ts";
import { createGitSource, type GitSourceOptions } from "../../src/adapters/git/source.ts";
import { createClock } from "../../src/adapters/system/clock.ts";
import { systemRandom } from "../../src/adapters/system/random.ts";
import type { GitRepository } from "../../src/api/core.ts";
import type { GitResult, GitSource } from "../../src/ports/artifacts.ts";
import { createRepository, type GitServer, serveGit, type TestRepository } from "./support/git.ts";

const clock = createClock();
afterAll(() => clock.close());
const call = (ms = 30_000) => ({ signal: AbortSignal.timeout(ms) });

let scratch: string;
let repository: TestRepository;
let source: GitSource;
let servers: { close(): unknown }[];
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "nigari git ")); // With spaces, as people's folders have.
  repository = createRepository(join(scratch, "repo"));
  source = newSource();
  servers = [];
});
afterEach(async () => {
  for (const server of servers) await server.close();
  rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
});

function newSource(more: Partial<GitSourceOptions> = {}): GitSource {
  const options = { folder: join(scratch, "data/artifacts"), clock, random: systemRandom };
  return createGitSource({
    folder: join(scratch, "data/git"),
    baseFolder: scratch,
    env: { PATH: process.env.PATH ?? "", HOME: scratch },
    keeper: createFolderStore(options),
    clock,
    random: systemRandom,
    ...more,
  });
}

type Spec = GitRepository["spec"];
function fetch(
  spec: Partial<Spec>,
  credentials?: Record<string, string>,
  from: GitSource = source,
): Promise<GitResult> {
  const whole: Spec = { url: repository.path, interval: "1m", ref: { branch: "main" }, ...spec };
  return from.fetch(
    {
      repository: {
        apiVersion: "source.toolkit.fluxcd.io/v1",
        kind: "GitRepository",
        metadata: { name: "infra", namespace: "default" },
        spec: credentials === undefined ? whole : { ...whole, secretRef: { name: "auth" } },
      },
      credentials,
    },
    call(),
  );
}

/** Paths and contents of the files in an archive. */
function unpack(result: GitResult): Record<string, string> {
  const archive = fileURLToPath(result.url);
  const tar = (...args: string[]) => execFileSync("tar", args, { encoding: "utf8" });
  const names = tar("-tzf", archive)
    .split("\n")
    .filter((name) => name !== "" && !/\/$/.test(name));
  return Object.fromEntries(names.map((name) => [name, tar("-xzOf", archive, name)]));
}

async function refusal(
  fetching: Promise<unknown>,
): Promise<{ message: string; transient: boolean }> {
  const error = await fetching.then(
    () => expect.unreachable("It should have been refused"),
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ name: "ArtifactError" });
  expect((error as Error).message).toMatch(/^GitRepository default\/infra: /);
  return error as { message: string; transient: boolean };
}

describe("what spec.ref means", () => {
  test("a branch", async () => {
    const commit = repository.commit({ "main.tf": "# 1\n" });
    const result = await fetch({});
    expect(result.revision).toBe(`main@sha1:${commit}`);
    expect(unpack(result)).toEqual({ "main.tf": "# 1\n" });
  });

  test("a branch that moved on gives the new commit, from the same mirror", async () => {
    repository.commit({ "main.tf": "# 1\n" });
    await fetch({});
    const commit = repository.commit({ "main.tf": "# 2\n", "more/x.tf": "" });
    const result = await fetch({});
    expect(result.revision).toBe(`main@sha1:${commit}`);
    expect(unpack(result)).toEqual({ "main.tf": "# 2\n", "more/x.tf": "" });
    expect(readdirSync(join(scratch, "data/git/mirrors"))).toHaveLength(1);
  });

  test("a branch that was rewritten", async () => {
    repository.commit({ "main.tf": "# 1\n" });
    await fetch({});
    repository.git("commit", "--quiet", "--amend", "--message", "Other");
    const result = await fetch({});
    expect(result.revision).toBe(`main@sha1:${repository.git("rev-parse", "HEAD")}`);
  });

  test("a light and an annotated tag both mean the commit", async () => {
    const commit = repository.commit({ "main.tf": "# 1\n" });
    repository.git("tag", "light");
    repository.git("tag", "-a", "-m", "x", "heavy");
    repository.commit({ "main.tf": "# 2\n" });
    expect((await fetch({ ref: { tag: "light" } })).revision).toBe(`light@sha1:${commit}`);
    expect((await fetch({ ref: { tag: "heavy" } })).revision).toBe(`heavy@sha1:${commit}`);
  });

  test("the highest tag of a range", async () => {
    for (const tag of ["v1.2.0", "v1.10.0", "v2.0.0"]) {
      repository.commit({ "main.tf": `# ${tag}\n` });
      repository.git("tag", "-a", "-m", "x", tag);
    }
    const result = await fetch({ ref: { semver: "1.x", branch: "none" } });
    expect(result.revision).toMatch(/^v1\.10\.0@sha1:/);
    expect(unpack(result)).toEqual({ "main.tf": "# v1.10.0\n" });
  });

  test("a full name of a ref keeps it in the revision, as source-controller does", async () => {
    const commit = repository.commit({});
    repository.git("update-ref", "refs/pull/7/head", commit);
    const result = await fetch({ ref: { name: "refs/pull/7/head" } });
    expect(result.revision).toBe(`refs/pull/7/head@sha1:${commit}`);
  });

  test("a commit behind the tip, with its branch and without", async () => {
    const commit = repository.commit({ "main.tf": "# 1\n" });
    repository.commit({ "main.tf": "# 2\n" });
    const alone = await fetch({ ref: { commit } });
    expect(alone.revision).toBe(`sha1:${commit}`);
    expect(unpack(alone)).toEqual({ "main.tf": "# 1\n" });
    const named = await fetch({ ref: { commit, branch: "main" } });
    expect(named.revision).toBe(`main@sha1:${commit}`);
    expect(named.digest).toBe(alone.digest);
  });

  test("nothing at all: master, else where HEAD points", async () => {
    const commit = repository.commit({});
    const none = { url: repository.path, interval: "1m" };
    const bare = (await source.fetch(request(none), call())).revision;
    expect(bare).toBe(`main@sha1:${commit}`);
    repository.git("branch", "master");
    repository.commit({ x: "" });
    expect((await source.fetch(request(none), call())).revision).toBe(`master@sha1:${commit}`);
  });

  test("a repository of SHA-256 objects", async () => {
    const path = join(scratch, "repo256");
    mkdirSync(path);
    execFileSync("git", ["init", "-q", "-b", "main", "--object-format=sha256"], { cwd: path });
    const other = createRepository(path);
    const commit = other.commit({ "main.tf": "x" });
    const result = await fetch({ url: path });
    expect(result.revision).toBe(`main@sha256:${commit}`);
    expect(unpack(result)).toEqual({ "main.tf": "x" });
  });
});

function request(spec: Spec) {
  const metadata = { name: "infra", namespace: "default" };
  const head = { apiVersion: "source.toolkit.fluxcd.io/v1", kind: "GitRepository" } as const;
  return { repository: { ...head, metadata, spec }, credentials: undefined };
}

describe("the archive", () => {
  test("is the same for the same commit, made anew from another clone", async () => {
    repository.commit({ "main.tf": "# 1\n", "a/b.tf": "b" });
    const first = await fetch({});
    const clone = join(scratch, "clone");
    execFileSync("git", ["clone", "-q", repository.path, clone], { stdio: "ignore" });
    rmSync(join(scratch, "data"), { recursive: true });
    const second = await fetch({ url: clone }, undefined, newSource());
    expect(second.digest).toBe(first.digest);
    expect(first.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
  });

  test("holds the bytes as committed, whatever attributes the repository gives them", async () => {
    repository.commit({
      ".gitattributes": "*.tf text eol=crlf\nsecret.tf export-ignore\nid.tf ident export-subst\n",
      "main.tf": "a\nb\n",
      "secret.tf": "here\n",
      "id.tf": "$Id$ $Format:%H$\n",
    });
    const files = unpack(await fetch({}));
    expect(files["main.tf"]).toBe("a\nb\n");
    expect(files["secret.tf"]).toBe("here\n");
    expect(files["id.tf"]).toBe("$Id$ $Format:%H$\n");
  });

  test("leaves out what .sourceignore files and spec.ignore name; spec.ignore wins", async () => {
    repository.commit({
      ".sourceignore": "# big ones\n*.zip\n/docs\n",
      "docs/read.md": "",
      "a.zip": "",
      "keep.zip": "",
      "mod/.sourceignore": "*.md\n",
      "mod/x.tf": "",
      "mod/read.md": "",
      "mod/docs/x.tf": "",
    });
    const plain = await fetch({});
    expect(Object.keys(unpack(plain)).sort()).toEqual([
      ".sourceignore",
      "mod/.sourceignore",
      "mod/docs/x.tf",
      "mod/x.tf",
    ]);
    const ruled = await fetch({ ignore: "# ours\n\n!keep.zip\nmod/docs/\n" });
    expect(Object.keys(unpack(ruled)).sort()).toEqual([
      ".sourceignore",
      "keep.zip",
      "mod/.sourceignore",
      "mod/x.tf",
    ]);
    expect((await fetch({}, undefined, newSource())).digest).toBe(plain.digest);
  });

  test("is made again when the kept one is gone", async () => {
    repository.commit({ "main.tf": "x" });
    const first = await fetch({});
    rmSync(fileURLToPath(first.url));
    expect(await fetch({})).toEqual(first);
    expect(existsSync(fileURLToPath(first.url))).toBe(true);
  });
});

describe("bounds", () => {
  test("a pack beyond the limit is cut off by the kernel, and the object is told", async () => {
    repository.commit({ "big.bin": systemRandom.hex(1_500_000) });
    const small = newSource({ fileLimitBytes: 256 * 1024 });
    const { message, transient } = await refusal(fetch({}, undefined, small));
    expect(message).toContain("needs a file of more than");
    expect(transient).toBe(false);
  });

  test("a small pack that holds a huge tree is cut off too", async () => {
    repository.commit({ "big.bin": "0".repeat(20_000_000) });
    const small = newSource({ fileLimitBytes: 1024 * 1024 });
    const { message } = await refusal(fetch({}, undefined, small));
    expect(message).toContain("needs a file of more than 1 MiB");
  });

  test("a server that says nothing is left at spec.timeout, with no process left", async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket)).listen(0, "127.0.0.1");
    servers.push({
      close() {
        for (const socket of sockets) socket.destroy();
        silent.close();
      },
    });
    await pause(50);
    const { port } = silent.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/unheard-of-${port}`;
    const start = clock.monotonic();
    const { message, transient } = await refusal(fetch({ url, timeout: "1s" }));
    expect(clock.monotonic() - start).toBeLessThan(5_000);
    expect(message).toContain("took longer than 1s");
    expect(transient).toBe(true);
    await pause(300);
    const listed = execFileSync("ps", ["-eo", "args"], { encoding: "utf8" });
    expect(listed).not.toContain(`unheard-of-${port}`);
    expect(readdirSync(join(scratch, "data/git/sessions"))).toEqual([]);
  });

  test("who waits for another's look at the same address gives up at its own time", async () => {
    const hung = await hangingServer();
    const first = refusal(fetch({ url: hung, timeout: "4s" }));
    await pause(100);
    const start = clock.monotonic();
    await refusal(fetch({ url: hung, timeout: "500ms" }));
    expect(clock.monotonic() - start).toBeLessThan(2_000);
    await first;
  });

  async function hangingServer(): Promise<string> {
    const server = await serveGit(scratch, () => true);
    servers.push(server);
    return `${server.url}/repo`;
  }

  test("a mirror that a killed engine left half-written is no obstacle", async () => {
    repository.commit({ "main.tf": "# 1\n" });
    await fetch({});
    const mirrors = join(scratch, "data/git/mirrors");
    const mirror = join(mirrors, readdirSync(mirrors)[0] ?? "");
    rmSync(join(mirror, "whole"));
    writeFileSync(join(mirror, "shallow.lock"), "");
    writeFileSync(join(mirror, "HEAD.lock"), "");
    repository.commit({ "main.tf": "# 2\n" });
    expect(unpack(await fetch({}, undefined, newSource()))).toEqual({ "main.tf": "# 2\n" });
  });
});

describe("https", () => {
  const basic = `Basic ${Buffer.from("robot:hunter2").toString("base64")}`;

  /** Serves the repositories only to who bears this header. */
  async function guarded(header: string): Promise<GitServer> {
    const server = await serveGit(scratch, (incoming, response) => {
      if (incoming.headers.authorization === header) return false;
      response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end();
      return true;
    });
    servers.push(server);
    return server;
  }

  test("username and password", async () => {
    const commit = repository.commit({ "main.tf": "x" });
    const server = await guarded(basic);
    const credentials = { username: "robot", password: "hunter2" };
    const result = await fetch({ url: `${server.url}/repo` }, credentials);
    expect(result.revision).toBe(`main@sha1:${commit}`);
    expect(server.seen).toContain(basic);
    expect(readdirSync(join(scratch, "data/git/sessions"))).toEqual([]);
  });

  test("a bearer token", async () => {
    const commit = repository.commit({ "main.tf": "x" });
    const server = await guarded("Bearer t0ken-value");
    const credentials = { bearerToken: "t0ken-value\n" };
    const result = await fetch({ url: `${server.url}/repo` }, credentials);
    expect(result.revision).toBe(`main@sha1:${commit}`);
  });

  test("a commit that the tip hides, from a server that hands out tips alone", async () => {
    const commit = repository.commit({ "main.tf": "# 1\n" });
    repository.commit({ "main.tf": "# 2\n" });
    // Version 0 of git's protocol has this rule; the server is made to know no other.
    const server = await serveGit(scratch, (incoming) => {
      delete incoming.headers["git-protocol"];
      return false;
    });
    servers.push(server);
    const url = `${server.url}/repo`;
    await fetch({ url });
    const result = await fetch({ url, ref: { commit } });
    expect(unpack(result)).toEqual({ "main.tf": "# 1\n" });
  });

  test("wrong and missing credentials say what to mend, and nothing secret", async () => {
    repository.commit({});
    const server = await guarded(basic);
    const url = `${server.url}/repo`;
    const wrong = await refusal(fetch({ url }, { username: "robot", password: "wr0ng" }));
    expect(wrong.message).toContain("Authentication at http://127.0.0.1");
    expect(wrong.message).toContain("check username and password");
    expect(wrong.message).not.toContain("wr0ng");
    expect(wrong.transient).toBe(false);
    const none = await refusal(fetch({ url }));
    expect(none.message).toContain("name a Secret with username and password in spec.secretRef");
    const half = await refusal(fetch({ url }, { username: "robot" }));
    expect(half.message).toContain("has no password");
  });

  test("a redirect to another host learns no password", async () => {
    repository.commit({});
    const thief = await guarded(basic);
    const server = await serveGit(scratch, (incoming, response) => {
      response.writeHead(302, { location: `${thief.url}${incoming.url}` }).end();
      return true;
    });
    servers.push(server);
    for (const credentials of [
      { username: "robot", password: "hunter2" },
      { bearerToken: "t0ken-value" },
    ]) {
      await refusal(fetch({ url: `${server.url}/repo` }, credentials as Record<string, string>));
    }
    expect(thief.seen.filter((header) => header !== "")).toEqual([]);
  });

  test("no argument and no environment of any process ever holds the password", async () => {
    repository.commit({});
    const spied: string[] = [];
    const server = await serveGit(scratch, (incoming, response) => {
      if (incoming.headers.authorization === basic) {
        spied.push(everythingVisible());
        return false;
      }
      response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end();
      return true;
    });
    servers.push(server);
    await fetch({ url: `${server.url}/repo` }, { username: "robot", password: "hunter2" });
    expect(spied.length).toBeGreaterThan(0);
    expect(spied.join()).toContain("ls-remote");
    expect(spied.join()).not.toContain("hunter2");
  });

  /** Arguments and environments of all processes of ours but this one. */
  function everythingVisible(): string {
    return readdirSync("/proc")
      .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
      .flatMap((pid) =>
        ["cmdline", "environ"].map((file) => {
          try {
            return readFileSync(`/proc/${pid}/${file}`, "utf8");
          } catch {
            return "";
          }
        }),
      )
      .join("\n");
  }

  test("an unknown branch, and a repository that is not there", async () => {
    repository.commit({});
    const server = await serveGit(scratch);
    servers.push(server);
    const branch = await refusal(fetch({ url: `${server.url}/repo`, ref: { branch: "nix" } }));
    expect(branch.message).toContain('has no branch "nix"; mend spec.ref');
    expect(branch.transient).toBe(true);
    const missing = await refusal(fetch({ url: `${server.url}/nothing` }));
    expect(missing.message).toContain("No Git repository is found at");
  });
});

describe("ssh", () => {
  /** Stands in for ssh: notes how it was called, then runs what the server would run. */
  function fakeSsh(script: string): Record<string, string> {
    const bin = join(scratch, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "ssh"), `#!/bin/sh\n${script}`);
    chmodSync(join(bin, "ssh"), 0o755);
    const PATH = `${bin}:${process.env.PATH}`;
    return { PATH, HOME: scratch, SSH_AUTH_SOCK: "/agent" };
  }
  const noted = () => readFileSync(join(scratch, "noted"), "utf8");
  const serve = `
    for word in "$@"; do printf '%s\\n' "$word" >>"${"$NOTE"}"; last=$word; done
    for word in "$@"; do case $word in IdentityFile=*)
      file=$(printf '%s' "$word" | sed 's/IdentityFile=//; s/"//g')
      stat -c '%a' "$file" >>"$NOTE"; cat "$file" >>"$NOTE" ;; esac; done
    eval "exec $last"`;
  const note = () => `NOTE='${join(scratch, "noted")}'\n`;
  const url = () => `ssh://git@example.test:2222${repository.path}`;

  test("a Secret's key and host keys are used, and nothing of the user's", async () => {
    const commit = repository.commit({ "main.tf": "x" });
    const from = newSource({ env: fakeSsh(note() + serve) });
    const credentials = { identity: "PRIVATE KEY", known_hosts: "example.test ssh-ed25519 AAAA" };
    const result = await fetch({ url: url() }, credentials, from);
    expect(result.revision).toBe(`main@sha1:${commit}`);
    const words = noted().split("\n");
    for (const option of [
      "StrictHostKeyChecking=yes",
      "IdentitiesOnly=yes",
      "IdentityAgent=none",
      "BatchMode=yes",
      "GlobalKnownHostsFile=/dev/null",
      "git@example.test",
      "2222",
      "600",
      "PRIVATE KEY",
    ]) {
      expect(words).toContain(option);
    }
    expect(words.slice(0, 2)).toEqual(["-F", "/dev/null"]);
  });

  test("without a Secret the user's own settings and host keys count", async () => {
    repository.commit({});
    await fetch({ url: url() }, undefined, newSource({ env: fakeSsh(note() + serve) }));
    expect(noted()).toContain("StrictHostKeyChecking=yes");
    expect(noted()).not.toMatch(/IdentityFile|UserKnownHostsFile|-F/);
  });

  test("an unknown host key says where the right one goes", async () => {
    repository.commit({});
    const script =
      'echo "No ED25519 host key is known for example.test and you have requested strict ' +
      'checking." >&2; echo "Host key verification failed." >&2; exit 255\n';
    const from = newSource({ env: fakeSsh(script) });
    const credentials = { identity: "K", known_hosts: "other ssh-ed25519 AAAA" };
    const { message, transient } = await refusal(fetch({ url: url() }, credentials, from));
    expect(message).toContain('"ssh-keyscan example.test" into known_hosts of the Secret');
    expect(transient).toBe(false);
  });

  test("a Secret without a key is refused before anything is asked", async () => {
    const { message } = await refusal(fetch({ url: url() }, { known_hosts: "x" }));
    expect(message).toContain("has no identity; ssh needs the private key");
  });

  test("the real ssh takes the options as they are written", async () => {
    // Nothing listens there: ssh must have understood its options to come so far.
    const { message, transient } = await refusal(
      fetch(
        { url: "ssh://git@127.0.0.1:9/x", timeout: "20s" },
        { identity: "K", known_hosts: "x ssh-ed25519 AAAA", password: "p" },
      ),
    );
    expect(message).toContain("cannot be reached");
    expect(transient).toBe(true);
  });
});

test("a repository that another user owns is read all the same: its path was named", async () => {
  const commit = repository.commit({ "main.tf": "x" });
  // Only root can give a folder away; anybody else has no such repository to begin with.
  if (process.getuid?.() === 0) execFileSync("chown", ["-R", "12345", repository.path]);
  expect((await fetch({})).revision).toBe(`main@sha1:${commit}`);
});

test("a shallow clone is a source like any other", async () => {
  repository.commit({ "main.tf": "# 1\n" });
  const commit = repository.commit({ "main.tf": "# 2\n" });
  const shallow = join(scratch, "shallow");
  const from = `file://${encodeURI(repository.path)}`;
  execFileSync("git", ["clone", "-q", "--depth=1", from, shallow], { stdio: "ignore" });
  const result = await fetch({ url: shallow });
  expect(result.revision).toBe(`main@sha1:${commit}`);
  expect(unpack(result)).toEqual({ "main.tf": "# 2\n" });
});

describe("refused with the mend", () => {
  const cases: Record<string, { spec: () => Partial<Spec>; commits?: number; says: string }> = {
    "a commit of a repository without any": {
      spec: () => ({ ref: { commit: "0123456789012345678901234567890123456789" } }),
      says: "has no commit 0123456789012345678901234567890123456789",
    },
    "submodules, which are not obeyed yet": {
      spec: () => ({ recurseSubmodules: true }),
      says: "Field spec.recurseSubmodules is not obeyed yet; set it to false",
    },
    "a folder that is no repository": {
      spec: () => ({ url: join(scratch, "plain") }),
      says: "No Git repository is found at",
    },
    "a folder that is not there": {
      spec: () => ({ url: "./gone" }),
      says: "gone of spec.url does not exist",
    },
    "a repository without a commit": {
      spec: () => ({ ref: {} }),
      says: "push a commit, or name the branch in spec.ref.branch",
    },
    "a shortened commit": {
      spec: () => ({ ref: { commit: "abc123" } }),
      says: "write all 40 (or 64) digits",
    },
    "a commit that is nowhere": {
      commits: 1,
      spec: () => ({ ref: { commit: "0123456789012345678901234567890123456789" } }),
      says: "has no commit 0123456789012345678901234567890123456789",
    },
    "a range that is none": {
      spec: () => ({ ref: { semver: "latest" } }),
      says: 'Range "latest" in spec.ref.semver cannot be read',
    },
    "a ref that would be an option": {
      spec: () => ({ ref: { name: "--upload-pack=id" } }),
      says: "is no name of a ref",
    },
  };
  test.each(Object.entries(cases))("%s", async (_, { spec, commits = 0, says }) => {
    for (let made = 0; made < commits; made++) repository.commit({ "main.tf": `# ${made}\n` });
    mkdirSync(join(scratch, "plain"));
    const { message } = await refusal(fetch(spec()));
    expect(message).toContain(says);
  });

  test("a machine without git", async () => {
    repository.commit({});
    const from = newSource({ env: { PATH: "/nowhere" } });
    const { message } = await refusal(fetch({}, undefined, from));
    expect(message).toContain("Program git is not found on PATH; install it");
  });
});
