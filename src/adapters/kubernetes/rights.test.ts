import { describe, expect, test } from "vitest";
import { ApiError } from "./api-error.ts";
import { storeError } from "./store-error.ts";

const call = { signal: new AbortController().signal };
const refusal = (message: string) =>
  String(
    storeError("Terraform a/b", new ApiError("not-permitted", message, { status: 403 }), call),
  );

describe("who may not is told which rule lacks", () => {
  const rows: Record<string, { message: string; says: string }> = {
    "in a namespace": {
      message:
        '403: terraforms.infra.contrib.fluxcd.io "b" is forbidden: User "dana" cannot update ' +
        'resource "terraforms" in API group "infra.contrib.fluxcd.io" in the namespace "a"',
      says:
        '"dana" needs a Role in namespace a with the rule {apiGroups: ["infra.contrib.fluxcd.io"' +
        '], resources: ["terraforms"], verbs: ["update"]}',
    },
    "of the whole cluster": {
      message:
        'nodes "n" is forbidden: User "system:serviceaccount:x:y" cannot patch resource "nodes" ' +
        'in API group "" at the cluster scope',
      says:
        '"system:serviceaccount:x:y" needs a ClusterRole with the rule {apiGroups: [""], ' +
        'resources: ["nodes"], verbs: ["patch"]}',
    },
    "of a subresource": {
      message:
        'pods "p" is forbidden: User "dana" cannot get resource "pods/log" in API group "" in ' +
        'the namespace "a"',
      says: 'resources: ["pods/log"], verbs: ["get"]}',
    },
  };
  test.each(Object.entries(rows))("%s", (_, { message, says }) => {
    expect(refusal(message)).toContain(says);
  });

  test("and nothing is made up where the server gives another reason", () => {
    const quota = 'pods "p" is forbidden: exceeded quota: q, requested: pods=1';
    expect(refusal(quota)).toBe(`StoreError: Terraform a/b: ${quota}`);
  });
});
