import { describe, expect, test } from "vitest";
import { REQUESTED_AT } from "../api/names.ts";
import type { Terraform } from "../api/terraform.ts";
import { terraformOf } from "../testing/simulation/objects.ts";
import type { Priority } from "./queue.ts";
import { References } from "./references.ts";
import { wakesDependants, wantsPass } from "./triggers.ts";

function changed(change: (terraform: Terraform) => void): Terraform {
  const terraform = structuredClone(terraformOf());
  change(terraform);
  return terraform;
}
const ready = (status: "True" | "False") => ({
  type: "Ready",
  status,
  reason: "r",
  message: "m",
  lastTransitionTime: "2026-01-01T00:00:00Z",
});

describe("what makes an object want a pass itself", () => {
  const cases: Record<string, { after: Terraform; pass: Priority | undefined }> = {
    "a spec that a person changed": {
      after: changed(({ spec }) => {
        spec.path = "other";
      }),
      pass: "urgent",
    },
    "a request for a look": {
      after: changed(({ metadata }) => {
        metadata.annotations = { [REQUESTED_AT]: "now" };
      }),
      pass: "urgent",
    },
    "a deletion": {
      after: changed(({ metadata }) => {
        metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
      }),
      pass: "urgent",
    },
    "not the status, which the engine wrote itself": {
      after: changed((terraform) => {
        terraform.status = { conditions: [ready("True")] };
        terraform.metadata.resourceVersion = "7";
      }),
      pass: undefined,
    },
    "not its own finalizer": {
      after: changed(({ metadata }) => {
        metadata.finalizers = ["finalizers.tf.contrib.fluxcd.io"];
      }),
      pass: undefined,
    },
  };
  test.each(Object.entries(cases))("%s", (_why, { after, pass }) => {
    expect(wantsPass(after, terraformOf())).toBe(pass);
  });
});

describe("what wakes those that depend on it", () => {
  const cases: Record<string, { change: (terraform: Terraform) => void; wakes: boolean }> = {
    "that it became ready": {
      change: (terraform) => {
        terraform.status = { conditions: [ready("True")] };
      },
      wakes: true,
    },
    "that another revision was applied": {
      change: (terraform) => {
        terraform.status = { lastAppliedRevision: "main@sha1:abc" };
      },
      wakes: true,
    },
    "not that its run goes on": {
      change: (terraform) => {
        terraform.status = { nextDueAt: "2026-01-01T00:00:00Z" };
      },
      wakes: false,
    },
  };
  test.each(Object.entries(cases))("%s", (_why, { change, wakes }) => {
    expect(wakesDependants(changed(change), terraformOf())).toBe(wakes);
  });
});

test("references follow the spec, and nothing is left of an object that is gone", () => {
  const references = new References();
  const varsFrom = [{ kind: "Secret" as const, name: "db" }];
  references.put(terraformOf({ varsFrom, dependsOn: [{ name: "base", namespace: "infra" }] }));
  expect(references.usersOf("GitRepository", "default/code")).toEqual(["default/app"]);
  expect(references.usersOf("Secret", "default/db")).toEqual(["default/app"]);
  expect(references.usersOf("Terraform", "infra/base")).toEqual(["default/app"]);
  references.put(terraformOf({ sourceRef: { kind: "Bucket", name: "code", namespace: "x" } }));
  expect(references.usersOf("Secret", "default/db")).toEqual([]);
  expect(references.usersOf("Bucket", "x/code")).toEqual(["default/app"]);
  references.remove("default/app");
  expect(references.usersOf("Bucket", "x/code")).toEqual([]);
});
