import { describe, expect, test } from "vitest";
import type { ClusterKind } from "../../../ports/cluster.ts";
import { FakeClusterAdmin, type FakeObject } from "../../../testing/fakes/cluster-admin.ts";
import { quietShell } from "../../../testing/fakes/shell.ts";
import { runCommandLine } from "../../program.ts";

const GROUP = "infra.contrib.fluxcd.io";
const LEASE = "1953de50.contrib.fluxcd.io";

type More = Readonly<Record<string, unknown>> & { readonly metadata?: object };
const make = (kind: ClusterKind, place: string, more: More = {}): FakeObject => {
  const [namespace, name] = place.includes("/") ? place.split("/") : [undefined, place];
  const { metadata, ...rest } = more;
  const where = namespace === undefined ? {} : { namespace };
  return { ...rest, kind, metadata: { name: name ?? "", ...where, ...metadata } };
};
const terraform = (place: string, more: More & { readonly spec?: object } = {}) =>
  make("Terraform", place, {
    ...more,
    spec: { interval: "5m", sourceRef: { kind: "GitRepository", name: "code" }, ...more.spec },
  });
const controller = (replicas: number, labels: Record<string, string> = {}) =>
  make("Deployment", "flux-system/tofu-controller", {
    metadata: { labels: { "app.kubernetes.io/name": "tofu-controller", ...labels } },
    spec: { replicas },
    status: { replicas },
  });
const byHelm = { "app.kubernetes.io/managed-by": "Helm" };
/** Renewed so many seconds ago. */
const lease = (holderIdentity: string, agoSeconds: number) =>
  make("Lease", `flux-system/${LEASE}`, {
    spec: {
      holderIdentity,
      leaseDurationSeconds: 35,
      renewTime: new Date(Date.parse("2026-01-01T00:00:00Z") - agoSeconds * 1_000).toISOString(),
    },
  });
const lock = (name: string, holder: string) =>
  make("Lease", `apps/lock-tfstate-default-${name}`, {
    metadata: {
      labels: { tfstate: "true" },
      annotations: {
        "app.terraform.io/lock-info": JSON.stringify({ Who: "runner@pod", Created: "2026" }),
      },
    },
    spec: holder === "" ? {} : { holderIdentity: holder },
  });
const runner = (name: string, more: More = {}) =>
  make("Pod", `apps/${name}-tf-runner`, {
    ...more,
    metadata: {
      labels: { "app.kubernetes.io/name": "tf-runner" },
      ownerReferences: [{ apiVersion: "v1", kind: "Terraform", name, uid: "u" }],
      ...more.metadata,
    },
  });
const ended = { status: { containerStatuses: [{ name: "tf-runner", state: { terminated: {} } }] } };
const tls = make("Secret", "apps/terraform-runner.tls-1700000000", {
  metadata: { labels: { [`${GROUP}/terraform`]: "true" } },
});
const definition = (properties: object) =>
  make("CustomResourceDefinition", `terraforms.${GROUP}`, {
    spec: { versions: [{ name: "v1alpha2", schema: { openAPIV3Schema: { properties } } }] },
  });
const ours = definition({ spec: { properties: { path: {}, interval: {} } } });

async function migrate(admin: FakeClusterAdmin, ...words: string[]) {
  const shell = quietShell();
  const parts = {
    shell,
    evidence: () => Promise.reject(new Error("not here")),
    openCluster: async () => ({ admin, close: () => {} }),
    definition: async () => ours,
  };
  const code = await runCommandLine(parts, ["migrate", ...words]);
  return { code, ...shell.printed };
}

interface Checked {
  readonly blocked: number;
  readonly findings: readonly { weight: string; code: string; about: string; says: string }[];
}
async function check(admin: FakeClusterAdmin) {
  const { code, out } = await migrate(admin, "check", "-o", "json");
  return { code, ...(JSON.parse(out) as Checked) };
}

describe("migrate check", () => {
  const rows: Record<string, { objects: FakeObject[]; finds: string[]; code?: number }> = {
    "an object as most are is no matter": { objects: [terraform("apps/web")], finds: [] },
    "a field that is not obeyed blocks": {
      objects: [terraform("apps/web", { spec: { breakTheGlass: true } })],
      finds: ["blocks field-refused Terraform apps/web"],
      code: 1,
    },
    "a runner's pod template does not": {
      objects: [terraform("apps/web", { spec: { runnerPodTemplate: { spec: { image: "x" } } } })],
      finds: ["note own-image Terraform apps/web"],
    },
    "a held lock is told, a free one is not": {
      objects: [terraform("apps/web"), terraform("apps/db"), lock("web", "l-1"), lock("db", "")],
      finds: ["care lock-held Terraform apps/web"],
    },
    "of a state elsewhere no lock is claimed": {
      objects: [
        terraform("apps/web", { spec: { backendConfig: { customConfiguration: "b" } } }),
        lock("web", "l-1"),
      ],
      finds: [],
    },
    "a plan that waits is told": {
      objects: [terraform("apps/web", { status: { plan: { pending: "plan-main-1" } } })],
      finds: ["note pending-plan Terraform apps/web"],
    },
    "a deletion that takes long is stuck, a young one is not": {
      objects: [
        terraform("apps/old", { metadata: { deletionTimestamp: "2025-12-31T20:00:00Z" } }),
        terraform("apps/new", { metadata: { deletionTimestamp: "2025-12-31T23:59:00Z" } }),
      ],
      finds: ["care deletion-stuck Terraform apps/old", "note deletion Terraform apps/new"],
    },
    "a finalizer for a dependant that there is not": {
      objects: [
        terraform("apps/db", {
          metadata: { finalizers: ["tf.dependency.of.web", "tf.dependency.of.gone"] },
        }),
        terraform("apps/web", { spec: { dependsOn: [{ name: "db" }] } }),
      ],
      finds: ["note needless-finalizer Terraform apps/db"],
    },
    "tofu-controller at work": {
      objects: [
        terraform("apps/web", {
          status: { conditions: [{ type: "Ready", status: "Unknown", reason: "Progressing" }] },
        }),
        runner("web"),
      ],
      finds: ["care under-way Terraform apps/web", "note leftovers tofu-controller"],
    },
    "tofu-controller by Helm": {
      objects: [controller(1, byHelm)],
      finds: ["care controller-runs Deployment flux-system/tofu-controller"],
    },
    "tofu-controller by static manifests, stopped": {
      objects: [controller(0)],
      finds: ["care static-manifests Deployment flux-system/tofu-controller"],
    },
    "a leader of which nobody knows what it is": {
      objects: [lease("host-1_abc", 3)],
      finds: [`care controller-runs Lease flux-system/${LEASE}`],
    },
    "Nigari's own Lease is no matter": { objects: [lease("nigari/pod", 3)], finds: [] },
    "a definition with a field that ours lacks": {
      objects: [definition({ spec: { properties: { path: {}, odd: { properties: { a: {} } } } } })],
      finds: [`blocks definition-fields CustomResourceDefinition terraforms.${GROUP}`],
      code: 1,
    },
    "a definition with fewer fields than ours": {
      objects: [definition({ spec: { properties: { path: {} } } })],
      finds: [],
    },
  };
  test.each(Object.entries(rows))("%s", async (_, { objects, finds, code = 0 }) => {
    const admin = new FakeClusterAdmin(objects);
    const found = await check(admin);
    expect(found.findings.map((each) => `${each.weight} ${each.code} ${each.about}`)).toEqual(
      finds,
    );
    expect(found.code).toBe(code);
    expect(admin.changes).toEqual([]);
  });

  test("names the field that would be lost, and not those below it", async () => {
    const odd = { spec: { properties: { path: {}, odd: { properties: { a: {} } } } } };
    const { findings } = await check(new FakeClusterAdmin([definition(odd)]));
    expect(findings[0]?.says).toBe("has fields that this version would drop: v1alpha2 spec.odd");
  });

  test("says what could not be read, and does not call that well", async () => {
    const admin = new FakeClusterAdmin([terraform("apps/web")]);
    admin.denied.add("list Deployment");
    const { code, out } = await migrate(admin, "check");
    expect(code).toBe(2);
    expect(out).toContain("Could not be read:\n  Deployments: Deployment: User");
  });

  test("says which rights lack for the end", async () => {
    const admin = new FakeClusterAdmin();
    admin.denied.add("delete Secret");
    const { findings } = await check(admin);
    expect(findings.map((each) => each.says)).toEqual([
      'may not delete Secrets in every namespace, which "nigari migrate finish" needs',
    ]);
  });
});

describe("migrate status", () => {
  const writtenBy = (manager: string, time: string) => ({ manager, time, subresource: "status" });
  const of = (place: string, ...managedFields: object[]) =>
    terraform(place, { metadata: { managedFields } });

  test("tells whose each object is by who wrote its status last", async () => {
    const admin = new FakeClusterAdmin([
      of("a/kept", writtenBy("tf-controller", "2026-01-01T00:00:00Z")),
      of(
        "a/taken",
        writtenBy("nigari", "2026-01-02T00:00:00Z"),
        writtenBy("tf-controller", "2026-01-01T00:00:00Z"),
      ),
      of("a/new"),
    ]);
    const { code, out } = await migrate(admin, "status");
    expect(code).toBe(1);
    expect(out).toMatch(/^a\/kept +tofu-controller/m);
    expect(out).toMatch(/^a\/taken +nigari/m);
    expect(out).toMatch(/^a\/new +nobody/m);
    expect(out).toContain("1 of 3 are Nigari's; no controller leads.");
  });

  test("is well once all are Nigari's", async () => {
    const admin = new FakeClusterAdmin([of("a/taken", writtenBy("nigari", "2026"))]);
    expect((await migrate(admin, "status")).code).toBe(0);
  });
});

describe("migrate finish", () => {
  const state = make("Secret", "apps/tfstate-default-web", {
    metadata: { labels: { tfstate: "true", [`${GROUP}/terraform`]: "true" } },
  });
  const leftBehind = () => [
    tls,
    state,
    lock("web", ""),
    terraform("apps/web"),
    terraform("apps/db", {
      metadata: { finalizers: [`finalizers.tf.contrib.fluxcd.io`, "tf.dependency.of.gone"] },
    }),
    runner("web"),
    runner("db", ended),
  ];

  test("shows what it would remove, and removes it once that is confirmed", async () => {
    const admin = new FakeClusterAdmin([...leftBehind(), controller(0), lease("host", 600)]);
    expect(await migrate(admin, "finish")).toMatchObject({ code: 0 });
    expect(admin.changes).toEqual([]);
    const { code, out } = await migrate(admin, "finish", "--confirm");
    expect(code).toBe(0);
    expect(out).toContain("done: delete Secret apps/terraform-runner.tls-1700000000");
    expect(admin.changes).toEqual([
      "delete Secret apps/terraform-runner.tls-1700000000",
      "delete Pod apps/web-tf-runner",
      "delete Pod apps/db-tf-runner",
      "patch Terraform apps/db",
    ]);
    expect(admin.find("Terraform", { name: "db" })?.metadata.finalizers).toEqual([
      "finalizers.tf.contrib.fluxcd.io",
    ]);
    expect(admin.find("Secret", { name: "tfstate-default-web" })).toBeDefined();
    expect((await migrate(admin, "finish")).out).toBe("Nothing is left behind.\n");
  });

  const refusals: Record<string, { objects: FakeObject[]; denied?: string; says: string }> = {
    "while tofu-controller has replicas": {
      objects: [controller(1, byHelm)],
      says: "Deployment flux-system/tofu-controller has 1 replicas; scale it to zero first",
    },
    "while it holds its Lease": {
      objects: [controller(0), lease("host-1_abc", 10)],
      says: `host-1_abc holds Lease flux-system/${LEASE}`,
    },
    "while it cannot be known": {
      objects: [],
      denied: "list Deployment",
      says: "It is not known what there is of Deployments",
    },
  };
  test.each(Object.entries(refusals))("never %s", async (_, { objects, denied, says }) => {
    const admin = new FakeClusterAdmin([...leftBehind(), ...objects]);
    if (denied !== undefined) admin.denied.add(denied);
    const { code, err } = await migrate(admin, "finish", "--confirm");
    expect(code).toBe(1);
    expect(err).toContain(says);
    expect(admin.changes).toEqual([]);
  });

  const writers: Record<string, FakeObject[]> = {
    "its state is locked": [terraform("apps/web"), lock("web", "l-1"), runner("web")],
    "its state lies where no lock is seen": [
      terraform("apps/web", { spec: { cloud: { organization: "x" } } }),
      runner("web"),
    ],
    "nobody knows its object any more": [runner("web")],
  };
  test.each(Object.entries(writers))("leaves a living runner if %s", async (_, objects) => {
    const admin = new FakeClusterAdmin(objects);
    const { code, out } = await migrate(admin, "finish", "--confirm");
    expect(code).toBe(0);
    expect(out).toContain("kept: Pod apps/web-tf-runner, for its container runs");
    expect(admin.changes).toEqual([]);
  });
});

describe("migrate back", () => {
  const own = (name: string, operation: string, more: More = {}) =>
    make("Pod", `apps/${name}-tf-runner-1`, {
      ...more,
      metadata: {
        labels: { "app.kubernetes.io/name": "tf-runner", "nigari.dev/run": "r" },
        annotations: { "nigari.dev/operation": operation },
        finalizers: ["nigari.dev/collect", "other"],
      },
    });

  test("lets go of Nigari's pods, and of no state", async () => {
    const admin = new FakeClusterAdmin([own("web", "plan"), own("db", "apply", ended), tls]);
    const { code } = await migrate(admin, "back", "--confirm");
    expect(code).toBe(0);
    expect(admin.changes).toEqual([
      "patch Pod apps/web-tf-runner-1",
      "delete Pod apps/web-tf-runner-1",
      "patch Pod apps/db-tf-runner-1",
      "delete Pod apps/db-tf-runner-1",
    ]);
  });

  const refusals: Record<string, { object: FakeObject; says: string }> = {
    "while Nigari leads": { object: lease("nigari/pod-1", 3), says: "nigari/pod-1 leads; scale" },
    "while an apply goes on": { object: own("web", "apply"), says: "carries out an apply" },
    "with a state kept aside": {
      object: make("Secret", "apps/tfstate-rescue-r", {
        metadata: { labels: { "nigari.dev/rescued": "true" } },
      }),
      says: "holds a state that a run could not write",
    },
  };
  test.each(Object.entries(refusals))("never %s", async (_, { object, says }) => {
    const admin = new FakeClusterAdmin([own("db", "plan"), object]);
    const { code, err } = await migrate(admin, "back", "--confirm");
    expect(code).toBe(1);
    expect(err).toContain(says);
    expect(admin.changes).toEqual([]);
  });
});
