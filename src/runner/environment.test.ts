import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { findTofu, tofuEnvironment } from "./environment.ts";

const scratch = mkdtempSync(join(tmpdir(), "nigari-environment-"));
afterAll(() => rmSync(scratch, { recursive: true }));

describe("refused by name, with the mend and never the value", () => {
  const names = [
    "TF_VAR_password",
    "TF_CLI_ARGS",
    "TF_CLI_ARGS_plan",
    "TF_INPUT",
    "TF_IN_AUTOMATION",
    "TF_LOG",
    "TF_LOG_PROVIDER",
    "TF_REATTACH_PROVIDERS",
    "TF_APPEND_USER_AGENT",
    "TF_WORKSPACE",
    "TF_DISABLE_PLUGIN_TLS",
    "TF_SKIP_PROVIDER_VERIFY",
  ];
  test.each(names)("%s in the object's environment", (name) => {
    expect(() => tofuEnvironment({}, { [name]: "hunter2" })).toThrow(
      `Environment variable "${name}" must not be set by hand:` +
        " remove it from spec.runnerPodTemplate.spec.env",
    );
    expect(() => tofuEnvironment({}, { [name]: "hunter2" })).not.toThrow("hunter2");
  });

  test("also where it comes with the runner's own environment", () => {
    expect(() => tofuEnvironment({ TF_LOG: "trace" }, {})).toThrow("passed to runners");
  });

  test("a variable is told where it belongs", () => {
    expect(() => tofuEnvironment({}, { TF_VAR_a: "1" })).toThrow("spec.vars or spec.varsFrom");
  });

  test("is a failure of init, as upstream reports it", () => {
    try {
      tofuEnvironment({}, { TF_LOG: "1" });
    } catch (error) {
      expect(error).toMatchObject({ outcome: { stage: "init", reason: "TFExecInitFailed" } });
      return;
    }
    throw new Error("It was not refused");
  });
});

describe("what OpenTofu is given", () => {
  test("the runner's own, the order's above it, and what is always set", () => {
    const own = { PATH: "/bin", AWS_REGION: "a", NIGARI_RUN_TOKEN: "t" };
    expect(tofuEnvironment(own, { AWS_REGION: "b", TF_HTTP_PASSWORD: "p" })).toEqual({
      PATH: "/bin",
      AWS_REGION: "b",
      NIGARI_RUN_TOKEN: "t",
      TF_HTTP_PASSWORD: "p",
      TF_IN_AUTOMATION: "1",
      TF_INPUT: "0",
      CHECKPOINT_DISABLE: "1",
      TF_APPEND_USER_AGENT: "nigari",
    });
  });

  test("names that only look like forbidden ones pass", () => {
    const env = { TF_HTTP_ADDRESS: "x", TF_DATA_DIR: "y", TF_INPUTS: "z", MY_TF_LOG: "v" };
    expect(tofuEnvironment({}, env)).toMatchObject(env);
  });

  test("a command line configuration only if it is there", () => {
    const file = join(scratch, "tofurc");
    const there = () => tofuEnvironment({ TF_CLI_CONFIG_FILE: file }, {}).TF_CLI_CONFIG_FILE;
    expect(there()).toBeUndefined();
    writeFileSync(file, "");
    expect(there()).toBe(file);
  });
});

describe("the program", () => {
  const folder = (name: string, ...programs: string[]) => {
    const path = mkdtempSync(join(scratch, name));
    for (const program of programs) {
      writeFileSync(join(path, program), "#!/bin/sh\n");
      chmodSync(join(path, program), 0o700);
    }
    return path;
  };

  test("is what NIGARI_TOFU says, before all", () => {
    const PATH = folder("both", "tofu", "terraform");
    expect(findTofu({ NIGARI_TOFU: "/opt/tofu", PATH })).toBe("/opt/tofu");
  });

  test("is tofu before terraform, wherever each lies on the PATH", () => {
    const terraform = folder("terraform", "terraform");
    const tofu = folder("tofu", "tofu");
    expect(findTofu({ PATH: `${terraform}:${tofu}` })).toBe(join(tofu, "tofu"));
    expect(findTofu({ PATH: terraform })).toBe(join(terraform, "terraform"));
  });

  test("that is missing is named with the mend", () => {
    expect(() => findTofu({ PATH: scratch })).toThrow("install one or set NIGARI_TOFU");
    expect(() => findTofu({})).toThrow("Neither tofu nor terraform");
  });
});
