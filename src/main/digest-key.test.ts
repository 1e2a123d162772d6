import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { keptDigestKey } from "./digest-key.ts";

const scratch = mkdtempSync(join(tmpdir(), "nigari-key-"));
afterAll(() => rmSync(scratch, { recursive: true }));

test("a data directory has one key, for its owner alone", () => {
  const path = join(scratch, "one.key");
  const key = keptDigestKey(path);
  expect(key).toHaveLength(32);
  expect(Buffer.from(keptDigestKey(path))).toEqual(Buffer.from(key));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(Buffer.from(keptDigestKey(join(scratch, "other.key")))).not.toEqual(Buffer.from(key));
});

test("half a key is replaced", () => {
  const path = join(scratch, "half.key");
  writeFileSync(path, "half");
  expect(keptDigestKey(path)).toHaveLength(32);
});
