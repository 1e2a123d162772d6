import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { tidyCache } from "./tidy.ts";

const scratch = mkdtempSync(join(tmpdir(), "nigari-tidy-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
const HOUR_S = 3_600;
let count = 0;

function cache() {
  count += 1;
  const folder = join(scratch, `${count}`);
  const nowS = Date.now() / 1_000;
  const entry = (path: string, bytes: number, ageS: number) => {
    const whole = join(folder, path);
    mkdirSync(whole, { recursive: true });
    writeFileSync(join(whole, "content"), Buffer.alloc(bytes));
    utimesSync(whole, nowS - ageS, nowS - ageS);
    return () => existsSync(whole);
  };
  const provider = (version: string, bytes: number, ageS: number) =>
    entry(`providers/host/ns/type/${version}/os_arch`, bytes, ageS);
  return { folder, entry, provider };
}

const bounds = { bytes: 1_000, ageMs: 10 * HOUR_S * 1_000 };

test("what was not used for long goes, then what was not used for longest", async () => {
  const { folder, entry, provider } = cache();
  const kept = [
    provider("3", 400, HOUR_S),
    provider("2", 500, 2 * HOUR_S),
    entry("prepared/a", 900, 0),
  ];
  const gone = [
    provider("1", 400, 3 * HOUR_S),
    provider("0", 1, 11 * HOUR_S),
    entry("prepared/b", 900, HOUR_S),
    entry("prepared/c", 1, 11 * HOUR_S),
  ];
  await tidyCache(folder, { providers: bounds, prepared: bounds });
  expect(kept.map((there) => there())).toEqual([true, true, true]);
  expect(gone.map((there) => there())).toEqual([false, false, false, false]);
});

test("what a killed run left half made goes, what is being made stays", async () => {
  const { folder, entry } = cache();
  const old = entry("providers/host/ns/type/1/.garbage-1", 1, 2 * HOUR_S);
  const young = entry("prepared/.garbage-2", 1, 60);
  await tidyCache(folder);
  expect(old()).toBe(false);
  expect(young()).toBe(true);
});

test("a cache that is not there is in its bounds", async () => {
  await expect(tidyCache(join(scratch, "nowhere"))).resolves.toBeUndefined();
});
