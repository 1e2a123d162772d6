import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { planIdOf, uniquePlanId } from "./plan-id.ts";

const HASH = "b8e362c206e3d0cbb7ed22ced771a0056455a2fb";

const ids: Record<string, { revision: string; id: string }> = {
  "branch, algorithm and hash": { revision: `main@sha1:${HASH}`, id: "plan-main-b8e362c206" },
  "a tag with a digest": {
    revision: "v4.38.0-v1alpha11@sha256:6033f3b9fb1f",
    id: "plan-v4.38.0-v1alpha11-6033f3b9fb",
  },
  "a branch with a slash": { revision: `feat/x@sha1:${HASH}`, id: "plan-feat/x-b8e362c206" },
  "the old form, branch/hash": { revision: `master/${HASH}`, id: "plan-master-b8e362c206" },
  "a bare hash of a bucket": {
    revision: "822c3dd335ad6d9d29a5f3a2cbbcf3d0e6a6b9f1",
    id: "plan-822c3dd335",
  },
  "a bare digest shows its hash, where upstream shows three characters of it": {
    revision: "sha256:0123456789abcdef",
    id: "plan-sha256:0123456789",
  },
  "no colon after the at sign is no reason to crash": { revision: "x@y", id: "plan-x-y" },
  "nothing at all": { revision: "", id: "plan-" },
};

test.each(Object.entries(ids))("%s", (_name, { revision, id }) => {
  expect(planIdOf(revision)).toBe(id);
});

test("no revision makes it throw", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (revision) => {
      expect(planIdOf(revision)).toMatch(/^plan-/);
    }),
  );
});

describe("an id under which another plan may have been seen", () => {
  const revision = `main@sha1:${HASH}`;
  const plain = "plan-main-b8e362c206";
  const unique = (...taken: (string | undefined)[]) =>
    uniquePlanId(revision, "abcdef0123456789ffff", taken);

  test("the first plan of a revision has the plain one", () => {
    expect(unique(undefined, "plan-main-other00000", "")).toBe(plain);
  });
  test("a second one shows a piece of its own digest", () => {
    expect(unique(plain)).toBe(`${plain}-abcdef`);
  });
  test("a third one too: the plain id stays used", () => {
    expect(unique(`${plain}-123456`)).toBe(`${plain}-abcdef`);
  });
  test("if the pieces meet, a longer piece tells them apart", () => {
    expect(unique(`${plain}-abcdef`)).toBe(`${plain}-abcdef0123456789`);
  });
});
