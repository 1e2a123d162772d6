import { calm, type RecognizerCases } from "../case.ts";

export const runnersOnOneNodeCases: RecognizerCases = {
  recognized: [
    {
      why: "three of three runners lie on one of two nodes",
      scene: calm("10:00:00")
        .runner("apps/a", { node: "beta", created: "09:59:50" })
        .runner("apps/b", { node: "beta", created: "09:59:50" })
        .runner("apps/c", { node: "beta", created: "09:59:50" }),
      objects: ["Node/beta"],
      facts: { runners: 3, all: 3 },
    },
    {
      why: "four of five are nearly all",
      scene: calm("10:00:00")
        .runner("apps/a", { node: "beta", created: "09:59:50" })
        .runner("apps/b", { node: "beta", created: "09:59:50" })
        .runner("apps/c", { node: "beta", created: "09:59:50" })
        .runner("apps/d", { node: "beta", created: "09:59:50" })
        .runner("apps/e", { node: "alpha", created: "09:59:50" }),
      objects: ["Node/beta"],
      facts: { runners: 4, all: 5 },
    },
  ],
  ruledOut: [
    {
      why: "they are spread",
      scene: calm("10:00:00")
        .runner("apps/a", { node: "beta", created: "09:59:50" })
        .runner("apps/b", { node: "beta", created: "09:59:50" })
        .runner("apps/c", { node: "alpha", created: "09:59:50" })
        .runner("apps/d", { node: "alpha", created: "09:59:50" }),
    },
    {
      why: "two runners are no fleet",
      scene: calm("10:00:00")
        .runner("apps/a", { node: "beta", created: "09:59:50" })
        .runner("apps/b", { node: "beta", created: "09:59:50" }),
    },
  ],
  inconclusive: [{ why: "the nodes could not be read", scene: calm("10:40:00").without("Node") }],
};
