import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type FakeMachine, fakeMachine, goScript, TOFU_SCRIPT } from "../../testing/fake-go.ts";
import { createClock } from "../system/clock.ts";
import { type FoundOpenTofu, findOpenTofu } from "./find.ts";

const clock = createClock();
let scratch: string;
let machine: FakeMachine;

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "nigari-find-"));
  machine = fakeMachine(scratch);
});
afterEach(() => rmSync(scratch, { recursive: true }));

function find(env: Record<string, string> = {}, signal?: AbortSignal): Promise<FoundOpenTofu> {
  return findOpenTofu(
    {
      root: machine.root,
      folder: join(scratch, "cache"),
      env: { ...machine.env, ...env },
      clock,
      onProgress: () => {},
    },
    { signal: signal ?? new AbortController().signal },
  );
}

const terraform = (version: string) => `echo "Terraform v${version}"; echo "on linux_amd64"`;

describe("the first that serves is taken", () => {
  const cases: Record<
    string,
    { programs: Record<string, string>; finds: Omit<FoundOpenTofu, "path">; file: string }
  > = {
    "tofu before terraform": {
      programs: { tofu: TOFU_SCRIPT, terraform: terraform("1.11.4") },
      finds: { version: "1.12.6", product: "opentofu", how: "tofu on PATH" },
      file: "bin/tofu",
    },
    "terraform if there is no tofu": {
      programs: { terraform: terraform("1.5.7") },
      finds: { version: "1.5.7", product: "terraform", how: "terraform on PATH" },
      file: "bin/terraform",
    },
    "terraform if tofu is broken": {
      programs: { tofu: "exit 1", terraform: terraform("1.11.4") },
      finds: { version: "1.11.4", product: "terraform", how: "terraform on PATH" },
      file: "bin/terraform",
    },
    "the pinned one if terraform is too old": {
      programs: { terraform: terraform("1.4.9"), go: goScript() },
      finds: { version: "1.12.6", product: "opentofu", how: "built" },
      file: "cache/bin/tofu",
    },
    "the pinned one if PATH has none": {
      programs: { go: goScript() },
      finds: { version: "1.12.6", product: "opentofu", how: "built" },
      file: "cache/bin/tofu",
    },
  };
  test.each(Object.entries(cases))("%s", async (_, { programs, finds, file }) => {
    for (const [name, script] of Object.entries(programs)) machine.program(name, script);
    expect(await find()).toEqual({ ...finds, path: join(scratch, file) });
  });

  test("NIGARI_TOFU before all, by path or by name", async () => {
    machine.program("tofu", "exit 1");
    const path = machine.program("tofu-next", 'echo "OpenTofu v1.13.0-alpha1"');
    const expected = {
      path,
      version: "1.13.0-alpha1",
      product: "opentofu",
      how: "NIGARI_TOFU",
    };
    expect(await find({ NIGARI_TOFU: path })).toEqual(expected);
    expect(await find({ NIGARI_TOFU: "tofu-next" })).toEqual(expected);
  });

  test("it is asked in bare surroundings: no CLI configuration, no call home", async () => {
    machine.program("tofu", `${TOFU_SCRIPT}; env >${scratch}/env; read answer; exit 0`);
    await find({ TF_CLI_CONFIG_FILE: "/missing", AWS_SECRET_ACCESS_KEY: "s3cret" });
    const names = readFileSync(join(scratch, "env"), "utf8").match(/^\w+(?==)/gm);
    expect(names?.filter((name) => /^(TF|AWS|CHECKPOINT)/.test(name))).toEqual([
      "CHECKPOINT_DISABLE",
    ]);
  });
});

describe("what cannot serve is named, with the mend", () => {
  const unset = "correct it, or unset it to have one found or built";
  test("NIGARI_TOFU: a name that is not on PATH", async () => {
    await expect(find({ NIGARI_TOFU: "tofoo" })).rejects.toThrow(
      `NIGARI_TOFU names "tofoo", which is not on PATH; ${unset}`,
    );
  });
  test("NIGARI_TOFU: a file that is not there", async () => {
    await expect(find({ NIGARI_TOFU: "/no/tofu" })).rejects.toThrow(
      /^NIGARI_TOFU: \/no\/tofu does not run: .*ENOENT.*; correct it/,
    );
  });
  test("NIGARI_TOFU: a file that may not be executed", async () => {
    const path = join(scratch, "plain");
    writeFileSync(path, "text");
    await expect(find({ NIGARI_TOFU: path })).rejects.toThrow(/plain does not run: .*EACCES/);
  });
  test("NIGARI_TOFU: another program", async () => {
    const path = machine.program("kubectl", "echo 'Client Version: v1.30'");
    await expect(find({ NIGARI_TOFU: path })).rejects.toThrow(
      `NIGARI_TOFU: ${path} is neither OpenTofu nor Terraform; ${unset}`,
    );
  });
  test("NIGARI_TOFU: an old Terraform", async () => {
    const path = machine.program("terraform", terraform("1.4.9"));
    await expect(find({ NIGARI_TOFU: path })).rejects.toThrow("is Terraform 1.4.9, older than 1.5");
  });
  test("nothing serves: what was passed over, and what to install", async () => {
    machine.program("tofu", "echo 'no such release' >&2; exit 3");
    const error = await find().catch((caught: unknown) => caught);
    expect(error).toMatchObject({ name: "NoOpenTofu" });
    const { message } = error as Error;
    expect(message).toContain("bin/tofu does not tell its version (exit code 3): no such release");
    expect(message).toContain("Go is needed to build OpenTofu 1.12.6 and is not on PATH");
    expect(message).toContain("or set NIGARI_TOFU");
  });
});

test("a call that ends is the reason, not a missing OpenTofu", async () => {
  machine.program("tofu", "sleep 60");
  const reason = new Error("Shutting down");
  const stop = new AbortController();
  const finding = find({}, stop.signal);
  setTimeout(() => stop.abort(reason), 50);
  await expect(finding).rejects.toBe(reason);
});
