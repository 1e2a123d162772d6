import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ArtifactError, type ArtifactStore, type KeptArtifact } from "../../ports/artifacts.ts";
import { createClock } from "../system/clock.ts";
import { systemRandom } from "../system/random.ts";
import { createFolderStore } from "./store.ts";

const clock = createClock();
const call = () => ({ signal: AbortSignal.timeout(5_000) });
const fact = (kept: KeptArtifact) => ({ ...kept, revision: "main@sha1:1" });

let folder: string;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), "nigari-artifacts-")), "artifacts");
});
afterEach(() => rmSync(join(folder, ".."), { recursive: true }));

const store = (limitBytes?: number) =>
  createFolderStore({
    folder,
    clock,
    random: systemRandom,
    ...(limitBytes === undefined ? {} : { limitBytes }),
  });
async function* content(...parts: string[]): AsyncIterable<Uint8Array> {
  for (const part of parts) yield Buffer.from(part);
}
async function readAll(from: ArtifactStore, kept: KeptArtifact): Promise<string> {
  const opened = await from.open(fact(kept), call());
  const parts: Uint8Array[] = [];
  for await (const chunk of opened.chunks()) parts.push(chunk);
  return Buffer.concat(parts).toString();
}
function age(kept: KeptArtifact): void {
  utimesSync(fileURLToPath(kept.url), 1_000, 1_000);
}

describe("keep and open", () => {
  test("an archive is named by its digest and read back whole", async () => {
    const kept = await store().keep(content("ab", "c"), call());
    const hex = createHash("sha256").update("abc").digest("hex");
    expect(kept).toEqual({
      digest: `sha256:${hex}`,
      url: `file://${folder}/${hex}.tar.gz`,
      sizeBytes: 3,
    });
    expect(await readAll(store(), kept)).toBe("abc");
    expect(statSync(fileURLToPath(kept.url)).mode & 0o777).toBe(0o600);
  });

  test("large archives come in chunks of at most 1 MiB, as often as asked", async () => {
    const kept = await store().keep(content("x".repeat(3_000_000)), call());
    const opened = await store().open(fact(kept), call());
    for (let round = 0; round < 2; round++) {
      const sizes: number[] = [];
      for await (const chunk of opened.chunks()) sizes.push(chunk.length);
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(3_000_000);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(1024 * 1024);
    }
  });

  test("many makers of the same archive end with one file", async () => {
    const one = store();
    const all = await Promise.all(
      Array.from({ length: 20 }, () => one.keep(content("same"), call())),
    );
    expect(new Set(all.map((kept) => kept.url)).size).toBe(1);
    expect(readdirSync(folder)).toHaveLength(1);
  });

  test("an archive is found by its digest alone, long after its source has gone", async () => {
    const kept = await store().keep(content("abc"), call());
    const opened = await store().open({ ...fact(kept), url: "" }, call());
    expect(opened.sizeBytes).toBe(3);
  });

  test("an archive that is too large leaves nothing behind", async () => {
    const keeping = store(10).keep(content("12345678", "9abc"), call());
    await expect(keeping).rejects.toThrow("larger than 10 bytes");
    expect(readdirSync(folder)).toEqual([]);
  });

  test("a maker that fails half-way leaves nothing behind", async () => {
    async function* failing(): AsyncIterable<Uint8Array> {
      yield Buffer.from("half");
      throw new Error("Lost");
    }
    await expect(store().keep(failing(), call())).rejects.toThrow("Lost");
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe("open refuses", () => {
  test("content that is not what its name says, and removes it", async () => {
    const kept = await store().keep(content("abc"), call());
    writeFileSync(fileURLToPath(kept.url), "abd");
    const opening = store().open(fact(kept), call());
    await expect(opening).rejects.toMatchObject({ name: "ArtifactError", transient: true });
    await expect(opening).rejects.toThrow("was damaged");
    expect(await store().find(kept.digest, call())).toBeUndefined();
  });

  test("an archive that is gone, in words that say what comes next", async () => {
    const kept = await store().keep(content("abc"), call());
    rmSync(fileURLToPath(kept.url));
    await expect(store().open(fact(kept), call())).rejects.toThrow(
      `Artifact ${kept.digest} is no longer kept; it is made again`,
    );
  });

  const foreign: Record<string, string> = {
    "a file elsewhere": "file:///etc/passwd",
    "a way out of the folder": "file:///data/artifacts/../secret",
    "another protocol": "http://127.0.0.1/x.tar.gz",
  };
  test.each(Object.entries(foreign))("%s", async (_, url) => {
    const kept = await store().keep(content("abc"), call());
    const opening = store().open({ ...fact(kept), url }, call());
    await expect(opening).rejects.toBeInstanceOf(ArtifactError);
  });

  test("a digest that is none", async () => {
    const opening = store().open(
      { digest: "sha256:../x", url: "file:///x", revision: "r", sizeBytes: undefined },
      call(),
    );
    await expect(opening).rejects.toThrow("not of the form");
  });

  test("to go on when the call has ended", async () => {
    const kept = await store().keep(content("abc"), call());
    const signal = AbortSignal.abort(new Error("Too late"));
    await expect(store().open(fact(kept), { signal })).rejects.toThrow("Too late");
  });
});

describe("retain", () => {
  test("removes what is neither listed nor young", async () => {
    const one = store();
    const [listed, old, young] = [
      await one.keep(content("listed"), call()),
      await one.keep(content("old"), call()),
      await one.keep(content("young"), call()),
    ];
    age(listed);
    age(old);
    expect(await one.retain([listed.digest, "md5:odd"], call())).toBe(1);
    expect(await readAll(one, listed)).toBe("listed");
    expect(await readAll(one, young)).toBe("young");
    expect(await one.find(old.digest, call())).toBeUndefined();
  });

  test("spares an old archive that was just found again", async () => {
    const one = store();
    const kept = await one.keep(content("again"), call());
    age(kept);
    expect(await one.find(kept.digest, call())).toEqual(kept);
    expect(await one.retain([], call())).toBe(0);
  });

  test("clears drafts that a dead engine left", async () => {
    await store().keep(content("x"), call());
    writeFileSync(join(folder, ".0011.draft"), "half");
    utimesSync(join(folder, ".0011.draft"), 1_000, 1_000);
    expect(await store().retain([], call())).toBe(1);
  });
});
