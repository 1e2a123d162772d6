import { expect, test } from "vitest";
import type { StateAdmin, StateId, StateSummary } from "../ports/state.ts";
import { StateRefused } from "../ports/state.ts";
import { tellingOfChanges } from "./state-changes.ts";

const state: StateId = { namespace: "default", name: "app", workspace: "default" };
const call = { signal: new AbortController().signal };
const content = { from: "content", content: new Uint8Array(), force: true } as const;

function admin(change: () => Promise<never>): StateAdmin {
  return {
    list: async () => [],
    show: async () => undefined,
    versions: async () => [],
    push: change,
    rollback: change,
    drop: change,
  };
}

const changes: Record<string, (states: StateAdmin) => Promise<unknown>> = {
  "a push": (states) => states.push(state, content, call),
  "a rollback": (states) => states.rollback(state, { version: "1", force: false }, call),
  "a drop": (states) => states.drop(state, "1", call),
};

test.each(Object.entries(changes))(
  "%s asks for a look at the object at once",
  async (_, change) => {
    const told: unknown[] = [];
    const summary: Partial<StateSummary> = { serial: 3 };
    const states = tellingOfChanges(
      admin(async () => summary as never),
      (key) => told.push(key),
    );
    expect(await change(states)).toBe(summary);
    expect(told).toEqual([{ namespace: "default", name: "app" }]);
  },
);

test.each(Object.entries(changes))("%s that is refused asks for none", async (_, change) => {
  const told: unknown[] = [];
  const refused = admin(() => Promise.reject(new StateRefused("It is locked")));
  const states = tellingOfChanges(refused, (key) => told.push(key));
  await expect(change(states)).rejects.toThrow("It is locked");
  expect(told).toEqual([]);
});
