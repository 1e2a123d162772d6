import { expect, test } from "vitest";
import { complaintOf } from "./command.ts";

const cases: Record<string, [stderr: string, is: string]> = {
  "OpenTofu's init comes to the point": [
    "OpenTofu encountered problems during initialization, including problems\n" +
      "with the configuration, described below.\n\n" +
      "The OpenTofu configuration must be valid before initialization so that\n" +
      "OpenTofu can determine which modules and providers need to be installed.\n" +
      "╷\n│ Error: Invalid expression\n│ \n│   on main.tf line 2:\n│    2:   a = \n╵\n",
    "Error: Invalid expression\n\n  on main.tf line 2:\n   2:   a =",
  ],
  "so does Terraform's": [
    "╷\n│ Error: Terraform encountered problems during initialisation, including problems\n" +
      "│ with the configuration, described below.\n│ \n╵\n╷\n│ Error: Zero assert blocks\n╵\n",
    "Error: Zero assert blocks",
  ],
  "a preamble alone is better than nothing": [
    "OpenTofu encountered problems during initialization, including problems\nsomewhere",
    "OpenTofu encountered problems during initialization, including problems\nsomewhere",
  ],
  "other errors stay whole": [
    "╷\n│ Error: Backend gone\n╵\n\n\n\n╷\n│ Error: Second\n╵",
    "Error: Backend gone\n\nError: Second",
  ],
};
test.each(Object.entries(cases))("%s", (_, [stderr, is]) => {
  expect(complaintOf(stderr)).toBe(is);
});
