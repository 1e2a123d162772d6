import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Epochs } from "./epochs.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "nigari-epochs-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test("the newest is remembered where the runs are, and alone", async () => {
  const first = new Epochs(folder);
  expect(first.newest()).toBe(0);
  await first.obey(6);
  await first.obey(7);
  await first.obey(7);
  const another = new Epochs(folder);
  expect(another.newest()).toBe(7);
  await expect(another.obey(6)).rejects.toMatchObject({
    code: "Refused",
    message: "Epoch 6 is over: an engine of epoch 7 commands the runs",
  });
  expect(readdirSync(join(folder, ".epochs"))).toEqual(["7"]);
});

test("of two that command at once the newer is remembered", async () => {
  const answers = await Promise.allSettled(
    [8, 9, 7].map((epoch) => new Epochs(folder).obey(epoch)),
  );
  expect(answers[1]?.status).toBe("fulfilled");
  expect(new Epochs(folder).newest()).toBe(9);
  await expect(new Epochs(folder).obey(8)).rejects.toMatchObject({ code: "Refused" });
});

test("one that cannot be written down, as on a full disk, is obeyed", async () => {
  mkdirSync(join(folder, ".epochs", "3.tmp"), { recursive: true });
  await new Epochs(folder).obey(3);
  expect(new Epochs(folder).newest()).toBe(0);
});
