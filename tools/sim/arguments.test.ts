import { expect, test } from "vitest";
import { asked } from "./arguments.ts";

const USAGE = "Usage: npm run -s sim\n";
const options = { seeds: { type: "string", default: "2000" }, json: { type: "boolean" } } as const;

test("what is not said has its default", () => {
  expect(asked(["--json"], USAGE, options)).toEqual({ values: { seeds: "2000", json: true } });
});

test("who asks for help gets the usage", () => {
  expect(asked(["--json", "--help"], USAGE, options)).toEqual({ say: USAGE, exitCode: 0 });
});

test("a flag that there is not is named, with the usage", () => {
  const answer = asked(["--seed", "3"], USAGE, options);
  expect(answer).toMatchObject({ exitCode: 2 });
  expect("say" in answer && answer.say).toMatch(/'--seed'.*\n\nUsage/s);
});
