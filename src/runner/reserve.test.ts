import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isDiskFull, takeReserve, writeLast } from "./reserve.ts";

let folder: string;
let reserve: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "nigari-reserve-"));
  reserve = join(folder, "reserve");
  await takeReserve(reserve);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function full(): Error {
  return Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
}

test("the last word stands in the room that was kept for it", async () => {
  expect(statSync(reserve).size).toBe(65_536);
  let writes = 0;
  await writeLast(reserve, async () => {
    writes += 1;
    if (existsSync(reserve)) throw full();
  });
  expect(writes).toBe(2);
});

test("where there is room, the reserve stays", async () => {
  await writeLast(reserve, async () => {});
  expect(existsSync(reserve)).toBe(true);
});

test("where even that does not do it is written once somebody makes room", async () => {
  let writes = 0;
  await writeLast(reserve, async () => {
    writes += 1;
    if (writes < 4) throw full();
  });
  expect(writes).toBe(4);
});

test("another error is not waited out", async () => {
  const gone = Object.assign(new Error("no such folder"), { code: "ENOENT" });
  await expect(writeLast(reserve, () => Promise.reject(gone))).rejects.toBe(gone);
  expect(isDiskFull(gone)).toBe(false);
});
