import { expect, test } from "vitest";
import { goneSince } from "./former-runner.ts";

const since = "2026-01-01T00:00:10.5Z";
const pod = (created: string, state: object) => ({
  metadata: { creationTimestamp: `2026-01-01T00:00:${created}Z` },
  status: {
    containerStatuses: [
      { name: "tf-runner", state },
      { name: "sidecar", state: {} },
    ],
  },
});
const running = (at: string) => ({ running: { startedAt: `2026-01-01T00:00:${at}Z` } });

const cases: Record<string, { found: Parameters<typeof goneSince>[0]; says: string | undefined }> =
  {
    "it runs as it did": { found: pod("05", running("06")), says: undefined },
    "it was started in the same second": { found: pod("05", running("10")), says: undefined },
    "it waits, nobody knows since when": { found: pod("05", { waiting: {} }), says: undefined },
    "nothing is known of it": { found: { metadata: {} }, says: undefined },
    "its container has ended": { found: pod("05", { terminated: {} }), says: "x has ended" },
    "its container is another": {
      found: pod("05", running("11")),
      says: "x was started anew since",
    },
    "it is another pod": { found: pod("11", { waiting: {} }), says: "x was made anew since" },
  };
test.each(Object.entries(cases))("%s", (_why, { found, says }) => {
  expect(goneSince(found, "x", since)).toBe(says);
});
