import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { Workspace } from "../harness/workspace.ts";
import { addresses, type Held, ownStateFile } from "./hold.ts";

/** What was, for a good reason, done more than once, by address. */
export interface Twice {
  /** Made again, for no state knew of it. */
  readonly created?: readonly string[];
  /** Destroyed again, for the state still knew of it. */
  readonly destroyed?: readonly string[];
}

/**
 * Whatever befell it: the object is what it should be, by its status, by its state, and by what the
 * resources themselves have written down outside of any state.
 */
export async function endsWell(held: Held, twice: Twice = {}): Promise<void> {
  const { stage, subject, stand } = held;
  const { workspace, name } = subject;
  if (stage === "destroy") {
    await subject.gone(120_000);
    assertEffects(workspace, 0, twice);
    const state = await stand.world.state(name);
    assert.deepEqual(state?.resources, []);
    assert.equal(state?.locked, false);
    return;
  }
  const { object } = await subject.settled(120_000);
  assertEffects(workspace, 1, twice);
  await assertState(held);
  assert.notEqual(object.status?.lastAppliedRevision, undefined);
  assert.equal(object.status?.lostRuns ?? 0, 0, "losses are forgotten after a success");
  assert.equal(object.status?.held, undefined);
  const secret = { kind: "Secret", namespace: "default", name: `${name}-outputs` } as const;
  const outputs = await stand.world.client.store.get(secret, stand.world.call());
  assert.deepEqual(Object.keys(outputs?.data ?? {}).sort(), ["last", "secret"]);
}

async function assertState(held: Held): Promise<void> {
  const { stage, subject, stand } = held;
  if (stage === "workspace") {
    const { resources } = JSON.parse(readFileSync(ownStateFile(stand, subject.name), "utf8"));
    const found = resources.map(
      (each: { type: string; name: string }) => `${each.type}.${each.name}`,
    );
    assert.deepEqual(found.sort(), addresses);
    return;
  }
  const { resources, tainted, locked, aside } = (await stand.world.state(subject.name)) ?? {};
  assert.deepEqual(
    { resources, tainted, locked, aside },
    { resources: addresses, tainted: [], locked: false, aside: 0 },
  );
}

/** `left`: how many of each resource there must be in the end. */
function assertEffects(workspace: Workspace, left: number, twice: Twice): void {
  const effects = workspace.effects();
  for (const runId of new Set(effects.map((each) => each.runId))) {
    for (const [what, count] of Object.entries(workspace.actions(runId))) {
      assert.equal(count, 1, `${what}, ${count} times in run ${runId}`);
    }
  }
  for (const address of addresses) {
    const count = (action: "create" | "destroy") =>
      effects.filter((each) => each.resource === address && each.action === action).length;
    const made = count("create") - (twice.created?.includes(address) ? 1 : 0);
    const destroyed = count("destroy") - (twice.destroyed?.includes(address) ? 1 : 0);
    const text = `${address}: made ${count("create")} times, destroyed ${count("destroy")} times`;
    assert.equal(made - destroyed, left, text);
  }
}
