import { describe, expect, test } from "vitest";
import { bareOrder } from "../testing/real-runner.ts";
import {
  applyArguments,
  backendConfigText,
  initArguments,
  outputArguments,
  planArguments,
  showArguments,
  workspaceArguments,
} from "./arguments.ts";

const rich = {
  ...bareOrder,
  destroy: true,
  upgrade: true,
  lock: false,
  lockTimeout: "30s",
  refresh: false,
  targets: ["a.b", 'module.c["d"]'],
  parallelism: 3,
  workspace: "prod",
};
const files = { plan: "/run/plan.bin", varFiles: ["/work/a.tfvars"] };

const rows: Record<string, { args: readonly string[]; line: string }> = {
  "init with a backend of its own": {
    args: initArguments(bareOrder, undefined),
    line: "init -no-color -input=false -backend=true -get=true -upgrade=false",
  },
  "init with more for the backend, which no argument shows": {
    args: initArguments(rich, "/run/backend.tfbackend"),
    line:
      "init -no-color -input=false -backend=true -get=true -upgrade=true" +
      " -backend-config=/run/backend.tfbackend",
  },
  "the workspace is selected, or made": {
    args: workspaceArguments(rich),
    line: "workspace select -no-color -or-create=true prod",
  },
  "a plan": {
    args: planArguments(bareOrder, { plan: "/p", varFiles: [] }),
    line:
      "plan -json -no-color -input=false -detailed-exitcode -lock-timeout=0s -out=/p" +
      " -lock=true -parallelism=10 -refresh=true",
  },
  "a plan with everything": {
    args: planArguments(rich, files),
    line:
      "plan -json -no-color -input=false -detailed-exitcode -lock-timeout=30s" +
      " -out=/run/plan.bin -var-file=/work/a.tfvars -lock=false -parallelism=10 -refresh=false" +
      ' -destroy -target=a.b -target=module.c["d"]',
  },
  "an apply is of the plan file, whatever else the order says": {
    args: applyArguments(rich, "/run/plan.bin"),
    line:
      "apply -json -no-color -input=false -auto-approve -lock=true -parallelism=3" +
      " /run/plan.bin",
  },
  "an apply without a wish runs ten at a time": {
    args: applyArguments(bareOrder, "/p"),
    line: "apply -json -no-color -input=false -auto-approve -lock=true -parallelism=10 /p",
  },
  "the plan for programs": { args: showArguments("/p", "json"), line: "show -json -no-color /p" },
  "the plan for people": { args: showArguments("/p", "human"), line: "show -no-color /p" },
  outputs: { args: outputArguments, line: "output -json -no-color" },
};
test.each(Object.entries(rows))("%s", (_, { args, line }) => {
  expect(args.join(" ")).toBe(line);
});

describe("backend configuration as a file", () => {
  test("keeps every character of a value", () => {
    const config = { bucket: "b", key: 'a"b\\c\nd', odd: `\${x} %{y} $ %` };
    expect(backendConfigText(config)).toBe(
      `bucket = "b"\nkey = "a\\"b\\\\c\\nd"\nodd = "$\${x} %%{y} $ %"\n`,
    );
  });
});
