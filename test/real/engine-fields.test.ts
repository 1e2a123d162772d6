import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import type { Terraform } from "../../src/api/terraform.ts";
import { EngineWorld } from "../../src/testing/harness/engine-world.ts";
import { leaksOf, openToOthers } from "../../src/testing/harness/secrecy.ts";
import { readyText } from "../../src/testing/harness/subject.ts";

// Fields of the spec from the manifest to the status and the command line, in one engine with real
// runs: planOnly and replan, force, health checks, remediation, the inventory.

const resources = [{ name: "one" }];
const created = { "create terraform_data.one": 1 };

function conditionOf({ status }: Terraform, type: string) {
  return status?.conditions?.find((each) => each.type === type);
}

test("fields are obeyed by real runs, and shown as what they are", async () => {
  const web = createServer((_request, response) => response.end("well"));
  web.listen(0, "127.0.0.1");
  await once(web, "listening");
  const { port } = web.address() as AddressInfo;
  const world = new EngineWorld();
  const url = `http://$\{{ .host }}:${port}/`;
  const more = 'output "host" {\n  value = "127.0.0.1"\n}\n';
  const shown = world.add("shown", { resources, spec: { planOnly: true } });
  const well = world.add("well", {
    resources,
    more,
    spec: {
      approvePlan: "",
      force: true,
      planOnly: true,
      enableInventory: true,
      healthChecks: [{ name: "web", type: "http", url }],
    },
  });
  const sick = world.add("sick", {
    resources,
    more,
    spec: {
      healthChecks: [{ name: "db", type: "tcp", address: `$\{{ .host }}:1`, timeout: "1s" }],
      remediation: { retries: 1 },
    },
  });
  try {
    world.estate.commit();
    await world.start();
    const seen = await shown.when("it is shown", ({ status }) => {
      return status?.plan?.pending !== undefined && status.run === undefined;
    });
    const first = seen.object?.status?.plan?.pending ?? "";
    expect(readyText(seen.object)).toContain("This object is in the plan only mode.");
    expect(await world.nigari("approve", "shown")).toMatchObject({
      code: 1,
      error: expect.stringContaining("set spec.planOnly to false"),
    });
    expect(await world.nigari("replan", "shown")).toMatchObject({ code: 0 });
    await shown.when("another plan is shown", ({ status }) => {
      const { pending } = status?.plan ?? {};
      return pending !== undefined && pending !== first && status?.run === undefined;
    });

    const applied = (await well.settled()).object;
    if (applied === undefined) throw new Error("There is no object");
    expect(conditionOf(applied, "HealthCheck")).toMatchObject({ status: "True" });
    expect(applied.status?.inventory?.entries).toMatchObject([{ n: "one", t: "terraform_data" }]);

    const stalled = await sick.when("it stalls", (object) => {
      return conditionOf(object, "Stalled")?.reason === "RetryLimitReached";
    });
    expect(readyText(stalled.object)).toMatch(/^False HealthChecksFailed: TCP health check error/);
    expect(stalled.object?.status).toMatchObject({
      lastAppliedRevision: expect.stringContaining("main@sha1:"),
      lastRun: { outcome: "failed", stage: "health" },
    });
    const described = await world.nigari("describe", "sick");
    expect(described.out).toMatch(/RetryLimitReached .*Resource reached maximum number of retries/);
    expect((await world.nigari("get")).out).toMatch(/shown +Unknown +Planned /);

    await world.untilQuiet();
    for (const subject of [well, sick]) expect(subject.workspace.actions()).toEqual(created);
    expect(shown.workspace.actions()).toEqual({});
    expect(sick.calls("apply")).toBe(1);
    expect(openToOthers(world)).toEqual([]);
    expect(await leaksOf(world)).toEqual([]);
    expect(world.bugs()).toEqual([]);
  } finally {
    await world.close();
    web.close();
  }
});
