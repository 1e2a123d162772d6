import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ACCEPT } from "../../src/api/names.ts";
import type { Cluster } from "../../src/testing/cluster/cluster.ts";
import type { ClusterNode } from "../../src/testing/cluster/node.ts";
import { install, removeNamespace } from "../../src/testing/e2e/controllers.ts";
import { Incident, struck, truths, wordsOf } from "../../src/testing/e2e/incident.ts";
import type { Dials } from "../../src/testing/faults/dials.ts";
import { noCluster, sharedCluster } from "./support/shared.ts";

/** Limits that are promised. */
const TRUTH_MS = 10_000;
const AGAIN_MS = 15_000;

describe.skipIf(noCluster())("the incident: the node with the runners dies", () => {
  let cluster: Cluster;
  let b: ClusterNode;
  let folder: string;
  let incident: Incident;
  let count = 0;

  beforeAll(async () => {
    cluster = sharedCluster();
    await install(cluster);
    b = cluster.node("b");
  });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "nigari-incident-"));
  });
  afterEach(async () => {
    if (!b.isOn()) await b.start();
    await cluster.untilReady("b");
    await incident.close();
    await removeNamespace(cluster, incident.estate.namespace);
    rmSync(folder, { recursive: true, force: true });
  });

  test("by loss of power: all say the truth, plans go on elsewhere, no apply doubles", async () => {
    const { effects, estate } = await setUp();
    const beganMs = performance.now();
    await b.powerOff();
    await tellsTheTruth(beganMs);
    expect(await found("failure")).toEqual(["node/lost"]);
    await plansGoOn();

    // It may have been done, and nobody can know yet: nothing is done about it.
    expect(estate.object("in-apply").status?.run?.id).toBe(incident.runBefore("in-apply"));
    expect(estate.ready("in-apply")).toMatch(/node b.*nothing is started while it may write/);
    await b.start();
    await cluster.untilReady("b");
    // Its kubelet's word is the proof; what may exist unrecorded is for a person to see.
    const { object } = await incident.says("in-apply", /RunResultUnknown/);
    expect(wordsOf(object)).toContain("terraform_data.effect");
    expect(effects.begun("in-apply")).toBe(1);
    effects.open("apply", "in-apply");
    await estate.annotate("in-apply", ACCEPT, object.status?.plan?.pending ?? "");
    await estate.whenReady("in-apply");
    await everythingIsWhole();
  });

  test("by a reboot in order: the apply is saved in time, and goes on by itself", async () => {
    const { estate, effects } = await setUp();
    const beganMs = performance.now();
    await b.shutDown();
    effects.open("apply", "in-apply");
    await tellsTheTruth(beganMs);
    await plansGoOn();
    await b.start();
    await cluster.untilReady("b");
    await estate.whenReady("in-apply");
    await everythingIsWhole();
  });

  test("with the old way of waiting put back in, nobody ever says so", async () => {
    const { estate } = await setUp({ waitsForEver: true });
    await b.powerOff();
    await expect(incident.known(2 * TRUTH_MS)).rejects.toThrow("not within");
    for (const name of struck) expect(estate.ready(name), name).toMatch(/^Unknown Progressing/);
  });

  async function setUp(dials?: Dials): Promise<Incident> {
    count += 1;
    const places = { namespace: `incident-${count}`, folder };
    incident = await Incident.open(cluster, dials === undefined ? places : { ...places, dials });
    await incident.setUp();
    return incident;
  }

  /** What the doctor finds of this severity, each once. */
  async function found(severity: string): Promise<string[]> {
    const all = (await incident.doctor()).filter((each) => each.severity === severity);
    return [...new Set(all.map(({ id }) => id))];
  }

  /** All of them, and within the time that is promised. */
  async function tellsTheTruth(beganMs: number): Promise<void> {
    const known = await incident.known(2 * TRUTH_MS);
    for (const name of struck) {
      expect((known.get(name)?.atMs ?? 0) - beganMs, name).toBeLessThan(TRUTH_MS);
    }
    for (const [name, words] of Object.entries(truths)) {
      expect(incident.estate.ready(name), name).toMatch(words);
    }
    const verdictMs = performance.now();
    for (const name of ["in-init", "in-plan"] as const) {
      const { atMs } = await incident.runsAgain(name, 2 * AGAIN_MS);
      expect(atMs - verdictMs, name).toBeLessThan(AGAIN_MS);
    }
  }

  async function plansGoOn(): Promise<void> {
    const { effects, estate } = incident;
    effects.open("init", "in-init");
    effects.open("plan", "in-plan");
    await incident.othersDone();
    // The healthy one was not touched: it is the same run all along.
    expect(estate.object("on-a").status?.run?.id).toBe(incident.runBefore("on-a"));
    effects.open("apply", "on-a");
    await estate.whenReady("on-a");
    expect(effects.begun("on-a")).toBe(1);
  }

  async function everythingIsWhole(): Promise<void> {
    await incident.wholeAgain();
    expect(await found("failure")).toEqual([]);
    for (const name of incident.applied()) {
      expect(incident.effects.done(name), name).toBe(1);
      if (name !== "in-apply") expect(incident.effects.begun(name), name).toBe(1);
    }
    expect(incident.allReady(["asks", "paused"])).toEqual([]);
    expect(incident.estate.ready("asks")).toMatch(/TerraformPlannedWithChanges/);
  }
});
