import { expect, test } from "vitest";
import { childEnvironment } from "./environment.ts";

const env = {
  PATH: "/bin",
  HOME: "/home/me",
  LC_ALL: "C",
  https_proxy: "http://proxy",
  AWS_REGION: "eu",
  AWS_SECRET_ACCESS_KEY: "hush",
  KUBECONFIG: "/k",
  GITHUB_TOKEN: "hush",
  NIGARI_DATA_DIR: "/d",
  NOTHING: undefined,
};

const cases: Record<string, { patterns: string[]; passed: string[] }> = {
  "nothing but the list without a word of the user": { patterns: [], passed: [] },
  "a pattern takes a family": {
    patterns: ["AWS_*"],
    passed: ["AWS_REGION", "AWS_SECRET_ACCESS_KEY"],
  },
  "names are taken whole": { patterns: ["KUBECONFIG", "KUBE"], passed: ["KUBECONFIG"] },
  "our own variables are never handed on": { patterns: ["NIGARI_*"], passed: [] },
  "spaces around a comma do no harm": { patterns: [" KUBECONFIG "], passed: ["KUBECONFIG"] },
};
test.each(Object.entries(cases))("%s", (_, { patterns, passed }) => {
  const child = childEnvironment(env, patterns);
  expect(child.passed).toEqual(passed);
  expect(Object.keys(child.env).sort()).toEqual(
    ["HOME", "LC_ALL", "PATH", "https_proxy", ...passed].sort(),
  );
});
