import { describe, expect, test } from "vitest";
import type { Terraform, TerraformSpec } from "../api/terraform.ts";
import { backendOf } from "./backend.ts";

const sourceRef = { kind: "GitRepository", name: "repository" } as const;
function terraformOf(spec: Partial<TerraformSpec>): Terraform {
  const whole = { interval: "1h", sourceRef, ...spec };
  return {
    ...{ apiVersion: "infra.contrib.fluxcd.io/v1alpha2", kind: "Terraform" },
    metadata: { namespace: "team", name: "net" },
    spec: whole,
  };
}
const text = (of: Partial<Record<string, string>>) => `terraform {
  backend "kubernetes" {
    secret_suffix = ${of.suffix ?? '"net"'}
    in_cluster_config = ${of.inCluster ?? "false"}
    config_path = ${of.path ?? '""'}
    namespace = "team"
    labels = {${of.labels ?? ""}}
  }
}
`;

describe("in a cluster", () => {
  const cases: Record<string, { spec: Partial<TerraformSpec>; backend: object }> = {
    "nothing said: the Secret of its name": { spec: {}, backend: { is: "door" } },
    "a suffix and labels of its own": {
      spec: { backendConfig: { secretSuffix: "x", inClusterConfig: true, labels: { a: "b" } } },
      backend: { is: "door", secret: { suffix: "x", labels: { a: "b" }, inCluster: true } },
    },
    "a suffix alone: OpenTofu finds the cluster it is in by itself": {
      spec: { backendConfig: { secretSuffix: "x" } },
      backend: { is: "door", secret: { suffix: "x", inCluster: false } },
    },
    "a kubeconfig leads elsewhere": {
      spec: { backendConfig: { secretSuffix: "x", configPath: "/k%{x}", labels: { a: "b" } } },
      backend: {
        is: "written",
        text: text({ suffix: '"x"', path: '"/k%%{x}"', labels: '"a" = "b"' }),
      },
    },
    "so does a variable that OpenTofu heeds": {
      spec: {
        backendConfig: { secretSuffix: "x" },
        runnerPodTemplate: { spec: { env: [{ name: "KUBE_HOST", value: "https://x" }] } },
      },
      backend: { is: "written", text: text({ suffix: '"x"' }) },
    },
    "which it does not heed with its pod's credentials": {
      spec: {
        backendConfig: { inClusterConfig: true },
        runnerPodTemplate: { spec: { env: [{ name: "KUBE_HOST", value: "https://x" }] } },
      },
      backend: { is: "door", secret: { inCluster: true } },
    },
    "parts that only the run reads": {
      spec: { backendConfigsFrom: [{ kind: "Secret", name: "s" }] },
      backend: { is: "written", text: text({ inCluster: "true" }) },
    },
    "the module's own": { spec: { backendConfig: { disable: true } }, backend: { is: "module" } },
    "a text of the user's": {
      spec: { backendConfig: { customConfiguration: 'backend "s3" {}' } },
      backend: { is: "written", text: 'terraform {\nbackend "s3" {}\n}\n' },
    },
  };
  test.each(Object.entries(cases))("%s", (_why, { spec, backend }) => {
    expect(backendOf(terraformOf(spec), { inSecrets: true })).toEqual(backend);
  });
});

describe("on one machine", () => {
  test("a backend in a cluster is written down, and its Secret cannot be looked at", () => {
    const spec = { backendConfig: { secretSuffix: "x", inClusterConfig: true } };
    const written = { is: "written", text: text({ suffix: '"x"' }) };
    for (const door of [undefined, { inSecrets: false }]) {
      expect(backendOf(terraformOf(spec), door)).toEqual(written);
    }
    expect(backendOf(terraformOf({}), { inSecrets: false })).toEqual({ is: "door" });
  });
});
