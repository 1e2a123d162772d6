import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { Header, type ReadEntry } from "tar";
import { afterAll, describe, expect, test } from "vitest";
import { extractArtifact, folderInArtifact, varFileInArtifact } from "./artifact.ts";

const scratch = mkdtempSync(join(tmpdir(), "nigari-artifact-"));
afterAll(() => rmSync(scratch, { recursive: true }));

interface Entry {
  readonly path: string;
  readonly type?: ReadEntry["type"];
  readonly text?: string;
  readonly linkpath?: string;
  readonly mode?: number;
  /** Size in the header, if it lies. */
  readonly size?: number;
}

function archive(...entries: Entry[]): Buffer {
  const blocks = entries.flatMap(({ path, type = "File", text = "", ...more }) => {
    const content = Buffer.from(text);
    const size = more.size ?? content.length;
    const header = new Header({ path, type, mode: 0o644, mtime: new Date(0), ...more, size });
    const block = Buffer.alloc(512);
    header.encode(block);
    const padded = Buffer.alloc(Math.ceil(content.length / 512) * 512);
    content.copy(padded);
    return [block, padded];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]));
}

async function extracted(content: Buffer, limits?: { entries: number; bytes: number }) {
  const folder = mkdtempSync(join(scratch, "x-"));
  const file = join(folder, "artifact.tar.gz");
  writeFileSync(file, content);
  const work = join(folder, "work");
  const message = await extractArtifact(file, work, limits && { limits }).then(
    () => undefined,
    (error: unknown) => String(error),
  );
  return { folder, work, message };
}

describe("an artifact", () => {
  test("is read as far as its end: zeros without end behind it cost nothing", async () => {
    const whole = gunzipSync(archive({ path: "main.tf", text: "a" }));
    const bomb = gzipSync(Buffer.concat([whole, Buffer.alloc(128 << 20)]), { level: 1 });
    const before = process.memoryUsage.rss();
    const { work, message } = await extracted(bomb);
    expect(message).toBeUndefined();
    expect(readFileSync(join(work, "main.tf"), "utf8")).toBe("a");
    expect(process.memoryUsage.rss() - before).toBeLessThan(100 << 20);
  });

  test("is extracted with its folders, modes and links within", async () => {
    const { work, message } = await extracted(
      archive(
        { path: "a/main.tf", text: "x = 1" },
        { path: "a/run.sh", text: "#!/bin/sh\n", mode: 0o755 },
        { path: "b", type: "SymbolicLink", linkpath: "a/main.tf" },
        { path: "a/up", type: "SymbolicLink", linkpath: "../a" },
        { path: "./c/", type: "Directory", mode: 0o755 },
      ),
    );
    expect(message).toBeUndefined();
    expect(readFileSync(join(work, "b"), "utf8")).toBe("x = 1");
    expect(readFileSync(join(work, "a/up/main.tf"), "utf8")).toBe("x = 1");
    expect(statSync(join(work, "a/run.sh")).mode & 0o100).toBe(0o100);
    expect(statSync(join(work, "c")).isDirectory()).toBe(true);
  });

  test("as git makes it, with a global header, is no different", async () => {
    const { work, message } = await extracted(
      archive(
        {
          path: "pax_global_header",
          type: "GlobalExtendedHeader",
          text: "52 comment=x".padEnd(52),
        },
        { path: "main.tf", text: "x = 1" },
      ),
    );
    expect(message).toBeUndefined();
    expect(readFileSync(join(work, "main.tf"), "utf8")).toBe("x = 1");
  });

  test("takes the place of what was there", async () => {
    const { folder, work } = await extracted(archive({ path: "old.tf", text: "" }));
    const file = join(folder, "next.tar.gz");
    writeFileSync(file, archive({ path: "new.tf", text: "" }));
    await extractArtifact(file, work);
    expect([existsSync(join(work, "old.tf")), existsSync(join(work, "new.tf"))]).toEqual([
      false,
      true,
    ]);
  });
});

describe("a symbolic link out of the artifact", () => {
  const out = (path: string): Entry => ({ path, type: "SymbolicLink", linkpath: "../../../etc/x" });
  const around: Entry[] = [
    { path: "app/main.tf", text: "x" },
    { path: "docs/y", type: "SymbolicLink", linkpath: "." },
    { path: "docs/d/z", type: "SymbolicLink", linkpath: "../y/../../x" },
  ];
  const extractedBelow = async (path: string, ...entries: Entry[]) => {
    const folder = mkdtempSync(join(scratch, "x-"));
    const file = join(folder, "artifact.tar.gz");
    writeFileSync(file, archive(...entries));
    const work = join(folder, "work");
    return { work, found: await extractArtifact(file, work, { path }).catch(String) };
  };

  test("elsewhere than in the module is left out, and told", async () => {
    const { work, found } = await extractedBelow("app", ...around, out("docs/l"), out("apple"));
    expect(found).toEqual(["apple", "docs/d/z", "docs/l"]);
    const there = (path: string) => lstatSync(join(work, path), { throwIfNoEntry: false });
    for (const left of found) expect(there(left), left).toBeUndefined();
    for (const kept of ["app/main.tf", "docs/y"]) expect(there(kept), kept).toBeDefined();
  });

  test.each(["app/l", "modules/net/main.tf", "modules/net/x.tofu.json"])(
    "of which a module could be made refuses the whole: %s",
    async (path) => {
      const { work, found } = await extractedBelow("./app/", ...around, out(path));
      expect(found).toContain(`"${path}" is a link out of it; put there what it leads to, or`);
      expect(existsSync(work)).toBe(false);
    },
  );
});

describe("refused as a whole", () => {
  const good: Entry = { path: "main.tf", text: "x" };
  const rows: Record<string, { entries: Entry[]; says: string }> = {
    "a path that climbs out": {
      entries: [good, { path: "../evil", text: "x" }],
      says: '"../evil" would land outside of it',
    },
    "a path that climbs out on a detour": {
      entries: [good, { path: "a/../../evil", text: "x" }],
      says: "would land outside of it",
    },
    "an absolute path": {
      entries: [good, { path: "/tmp/evil", text: "x" }],
      says: '"/tmp/evil" would land outside of it',
    },
    "a symbolic link out": {
      entries: [good, { path: "l", type: "SymbolicLink", linkpath: "../../etc/passwd" }],
      says: '"l" is a link out of it',
    },
    "an absolute symbolic link": {
      entries: [good, { path: "l", type: "SymbolicLink", linkpath: "/etc/passwd" }],
      says: '"l" is a link out of it',
    },
    "a hard link out": {
      entries: [good, { path: "l", type: "Link", linkpath: "../x" }],
      says: '"l" is a link out of it',
    },
    "a link that leads out by way of another": {
      entries: [
        good,
        { path: "y", type: "SymbolicLink", linkpath: "." },
        { path: "d/z", type: "SymbolicLink", linkpath: "../y/../x" },
      ],
      says: '"d/z" is a link out of it',
    },
    "a device": {
      entries: [good, { path: "null", type: "CharacterDevice" }],
      says: '"null" is neither file, folder nor link (CharacterDevice)',
    },
    "a named pipe": {
      entries: [good, { path: "pipe", type: "FIFO" }],
      says: '"pipe" is neither file, folder nor link (FIFO)',
    },
  };
  test.each(Object.entries(rows))("%s", async (_, { entries, says }) => {
    const { folder, work, message } = await extracted(archive(...entries));
    expect(message).toContain("The artifact is refused: ");
    expect(message).toContain(says);
    expect(existsSync(work)).toBe(false);
    expect(existsSync(join(folder, "evil"))).toBe(false);
  });

  test("one that writes through a link of its own", async () => {
    const { folder, message } = await extracted(
      archive({ path: "a", type: "SymbolicLink", linkpath: "b/.." }, { path: "a/evil", text: "x" }),
    );
    expect(message ?? "it went in").toMatch(/refused|unpacked|it went in/);
    expect(existsSync(join(folder, "evil"))).toBe(false);
  });

  test("too many entries", async () => {
    const many = Array.from({ length: 11 }, (_, index) => ({ path: `${index}`, text: "" }));
    const { message } = await extracted(archive(...many), { entries: 10, bytes: 1000 });
    expect(message).toContain("more than 10 entries");
  });

  test("too many bytes", async () => {
    const { message } = await extracted(archive({ path: "a", text: "x".repeat(1001) }), {
      entries: 10,
      bytes: 1000,
    });
    expect(message).toContain("more than 1000 bytes");
  });

  test("a bomb, before it goes off", async () => {
    const zeros = gzipSync(Buffer.alloc(200 << 20), { level: 1 });
    const header = archive({ path: "a", size: 2 ** 33 });
    const begun = performance.now();
    const { message } = await extracted(Buffer.concat([header, zeros]));
    expect(message).toContain("more than 2147483648 bytes");
    expect(performance.now() - begun).toBeLessThan(2_000);
  });
});

describe("cannot be unpacked", () => {
  const rows: Record<string, Buffer> = {
    "what is no archive": Buffer.from("hello".repeat(300)),
    "what is cut off": archive({ path: "a", text: "x".repeat(100_000) }).subarray(0, 120),
    "what is packed, but no archive": gzipSync(Buffer.from("hello".repeat(300))),
    nothing: Buffer.alloc(0),
  };
  test.each(Object.entries(rows))("%s", async (_, content) => {
    expect((await extracted(content)).message).toContain("The artifact cannot be unpacked: ");
  });
});

describe("a path of the spec", () => {
  const root = mkdtempSync(join(scratch, "root-"));
  mkdirSync(join(root, "live/prod"), { recursive: true });
  writeFileSync(join(root, "common.tfvars"), "");
  symlinkSync("/etc", join(root, "outside"));
  symlinkSync("live", join(root, "inside"));

  test.each([
    ["", ""],
    ["./", ""],
    [".", ""],
    ["live/prod", "live/prod"],
    ["./live/prod/", "live/prod"],
    ["/live", "live"],
    ["../live", "live"],
    ["inside/prod", "live/prod"],
  ])("%j is taken below the root", async (path, expected) => {
    expect(await folderInArtifact(root, path, "spec.path")).toBe(join(root, expected));
  });

  test.each([
    ["nowhere", 'spec.path "nowhere" does not exist in the artifact; see that the path is in'],
    ["../../etc", 'spec.path "../../etc" does not exist in the artifact'],
    ["outside", 'spec.path "outside" leads out of the artifact'],
    ["common.tfvars", 'spec.path "common.tfvars" is a file in the artifact, not a folder'],
  ])("%j is refused with the mend", async (path, says) => {
    await expect(folderInArtifact(root, path, "spec.path")).rejects.toThrow(says);
  });

  test("a variable file is found in the same way, and fails the plan", async () => {
    expect(await varFileInArtifact(root, "common.tfvars")).toBe(join(root, "common.tfvars"));
    await expect(varFileInArtifact(root, "live")).rejects.toThrow("not a file");
    await expect(varFileInArtifact(root, "no.tfvars")).rejects.toMatchObject({
      message: expect.stringContaining("tfvars file's path does not exist"),
      outcome: { stage: "plan", reason: "TFExecPlanFailed" },
    });
  });
});
