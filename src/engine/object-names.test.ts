import { describe, expect, test } from "vitest";
import { sha256Hex } from "./canonical.ts";
import { labelValue, objectName } from "./object-names.ts";

describe("a name", () => {
  test("that may be one stays", () => {
    for (const name of ["tfplan-default-app", "a", "a.b-c.9", "a".repeat(253)]) {
      expect(objectName(name)).toBe(name);
    }
  });
  test("that may not be one becomes one, another for each", () => {
    const wrong = ["Prod_EU", "prod-eu_", "x/y", "ü", "-a", "", "a".repeat(254), "a".repeat(255)];
    const names = wrong.map(objectName);
    for (const name of names) {
      expect(name).toMatch(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);
      expect(name.length).toBeLessThanOrEqual(253);
    }
    expect(new Set(names).size).toBe(wrong.length);
    expect(objectName("tfplan-Prod_EU-app")).toMatch(/^tfplan-prod-eu-app-[0-9a-f]{16}$/);
  });
});

describe("a label's value", () => {
  test("that may be one stays", () => {
    for (const value of ["", "app", "Prod_EU", "a.b", "a".repeat(63)]) {
      expect(labelValue(value)).toBe(value);
    }
  });
  test("that may not be one becomes one, another for each", () => {
    const wrong = ["x/y", "ü", "-a", "a b", "a".repeat(64), `${"a".repeat(46)}/`];
    const values = wrong.map(labelValue);
    for (const value of values) {
      expect(value).toMatch(/^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/);
      expect(value.length).toBeLessThanOrEqual(63);
    }
    expect(new Set(values).size).toBe(wrong.length);
  });
  test("that is too long is what tofu-controller makes of it", () => {
    const long = "n".repeat(64);
    expect(labelValue(long)).toBe(`${"n".repeat(46)}-${sha256Hex(long).slice(0, 16)}`);
  });
});
