import { describe, expect, test } from "vitest";
import { isPinned, lockedProviders } from "./lock-file.ts";

const text = `# This file is maintained automatically by "tofu init".
provider "registry.opentofu.org/hashicorp/time" {
  version     = "0.14.2"
  constraints = "~> 0.9, 0.14.2"
  hashes = [
    "h1:9bOAnZXe+dHF0l5t+vaMyfJ3H/tIex60SQPpxFfRjBU=",
    "zh:0123",
  ]
}

provider "registry.opentofu.org/hashicorp/null" {
  version = "3.2.4"
  hashes = [
    "h1:abc=",
  ]
}
`;

test("a lock file is read", () => {
  expect(lockedProviders(text)).toEqual([
    {
      address: "registry.opentofu.org/hashicorp/time",
      version: "0.14.2",
      constraints: "~> 0.9, 0.14.2",
      hashes: ["h1:9bOAnZXe+dHF0l5t+vaMyfJ3H/tIex60SQPpxFfRjBU=", "zh:0123"],
    },
    {
      address: "registry.opentofu.org/hashicorp/null",
      version: "3.2.4",
      constraints: "",
      hashes: ["h1:abc="],
    },
  ]);
  expect(lockedProviders("")).toEqual([]);
});

describe("a version is pinned", () => {
  test.each([
    ["0.14.2", true],
    ["= 0.14.2", true],
    [">= 0.9.0, 0.14.2", true],
    ["", false],
    ["~> 0.14.2", false],
    [">= 0.14.2", false],
    ["!= 0.14.2", false],
    ["0.14.20", false],
  ])("by %j: %s", (constraints, expected) => {
    const provider = { address: "a", version: "0.14.2", constraints, hashes: [] };
    expect(isPinned(provider)).toBe(expected);
  });
});
