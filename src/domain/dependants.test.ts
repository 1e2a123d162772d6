import { describe, expect, test } from "vitest";
import type { Terraform } from "../api/terraform.ts";
import { terraformOf } from "../testing/one-object.ts";
import { findDependants } from "./dependants.ts";

/** "a > b c" is an object a that depends on b and c; "-a" is one that is being deleted. */
function object(text: string): Terraform {
  const [head = "", needs = ""] = text.split(" > ");
  const [name = "", namespace = "default"] = head.replace(/^-/, "").split("/").reverse();
  const dependsOn = needs
    .split(" ")
    .filter((word) => word !== "")
    .map((word) => {
      const [name = "", namespace] = word.split("/").reverse();
      return namespace === undefined ? { name } : { name, namespace };
    });
  const made = terraformOf({ dependsOn }, name);
  const gone = head.startsWith("-") ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {};
  return { ...made, metadata: { ...made.metadata, namespace, ...gone } };
}

function found(texts: readonly string[], crossNamespaceRefs = false) {
  const [first, ...rest] = texts.map(object);
  if (first === undefined) throw new Error("No object");
  return findDependants(first, [first, ...rest], crossNamespaceRefs);
}

describe("who must go first", () => {
  const cases: [string, string[], string[], string[]][] = [
    ["nobody", ["-a", "b > c", "c"], [], []],
    ["who depends on it", ["-a", "c > a", "b > a"], ["default/b", "default/c"], []],
    ["who is leaving too", ["-a", "-b > a"], ["default/b"], ["default/b"]],
    ["not itself", ["-a > a"], [], []],
    ["not who needs it at one remove", ["-a", "b > a", "c > b"], ["default/b"], []],
    ["nobody in a circle that leaves", ["-a > b", "-b > a"], [], []],
    ["nobody in a long circle that leaves", ["-a > b", "-b > c", "-c > a"], [], []],
    ["in a circle, who stays", ["-a > b", "b > a"], ["default/b"], []],
    ["who is no part of the circle", ["-a > b", "-b > a", "-d > a"], ["default/d"], ["default/d"]],
    [
      "the next one, while a third one of the circle stays",
      ["-a > b", "b > c", "-c > a"],
      ["default/c"],
      ["default/c"],
    ],
    ["nobody of another namespace", ["-a", "other/b > default/a"], [], []],
  ];
  test.each(cases)("%s", (_what, texts, blocking, leaving) => {
    expect(found(texts)).toEqual({ blocking, leaving });
  });

  test("of another namespace too, where such references are allowed", () => {
    const { blocking } = found(["-a", "other/b > default/a", "other/a > b"], true);
    expect(blocking).toEqual(["other/b"]);
  });
});
