import { describe, expect, test } from "vitest";
import type { PodWishes, RunnerLaunch } from "../../../ports/runner.ts";
import { podManifest, repositoryOf } from "./manifest.ts";
import { podName, runOfPod } from "./names.ts";

const defaults = {
  image: "ghcr.io/nigari/runner:v1",
  imagePullSecrets: [],
  env: { HTTPS_PROXY: "http://proxy" },
};
const wishes: PodWishes = {
  ownerUid: "uid-1",
  operation: "plan",
  revision: "main@sha1:0123456789abcdef",
  template: undefined,
  serviceAccountName: undefined,
  gracePeriodSeconds: undefined,
};
const launch: RunnerLaunch = {
  ...{ runId: "5-aabbccddeeff", namespace: "team", name: "demo", epoch: 5 },
  env: { SECRET_TOKEN: "hidden" },
};

interface Made {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly spec: Readonly<Record<string, unknown>> & {
    readonly containers: readonly Readonly<Record<string, unknown>>[];
    readonly initContainers: readonly Readonly<Record<string, unknown>>[];
  };
}

function made(pod: Partial<PodWishes> = {}, more: Partial<typeof defaults> = {}): Made {
  const whole = { ...launch, pod: { ...wishes, ...pod } };
  return podManifest(whole, { ...defaults, ...more }) as unknown as Made;
}
const withSpec = (spec: NonNullable<NonNullable<PodWishes["template"]>["spec"]>) =>
  made({ template: { spec } });
const runner = ({ spec }: Made) => spec.containers[0] ?? {};

test("a pod bears the labels that selectors and dashboards know, and ours", () => {
  expect(made().metadata).toEqual({
    name: "demo-tf-runner-5-aabbccddeeff",
    namespace: "team",
    labels: {
      "app.kubernetes.io/created-by": "tofu-controller",
      "app.kubernetes.io/name": "tf-runner",
      "app.kubernetes.io/instance": "tf-runner-01234567",
      "infra.contrib.fluxcd.io/terraform": "team",
      "tf.weave.works/tls-secret-name": "demo-tf-runner-5-aabbccddeeff",
      "nigari.dev/run": "5-aabbccddeeff",
      "nigari.dev/runner": "true",
    },
    annotations: { "nigari.dev/operation": "plan", "nigari.dev/terraform": "demo" },
    finalizers: ["nigari.dev/collect"],
    ownerReferences: [
      {
        apiVersion: "infra.contrib.fluxcd.io/v1alpha2",
        kind: "Terraform",
        name: "demo",
        uid: "uid-1",
        controller: true,
      },
    ],
  });
});

test("a plain pod is gated, ends but once, and is fit for the level restricted", () => {
  const { spec } = made();
  expect(spec).toMatchObject({
    restartPolicy: "Never",
    schedulingGates: [{ name: "nigari.dev/certificate" }],
    serviceAccountName: "tf-runner",
    terminationGracePeriodSeconds: 30,
    initContainers: [],
  });
  expect(spec).not.toHaveProperty("imagePullSecrets");
  expect(runner(made())).toMatchObject({
    name: "tf-runner",
    image: "ghcr.io/nigari/runner:v1",
    ports: [{ name: "grpc", containerPort: 30_000 }],
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ["ALL"] },
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      runAsUser: 65_532,
      seccompProfile: { type: "RuntimeDefault" },
    },
  });
  expect(runner(made())).not.toHaveProperty("command");
});

test("what an object reads from Secrets does not get into the pod's manifest", () => {
  expect(JSON.stringify(made())).not.toContain("hidden");
});

describe("an apply", () => {
  test("is not to be disturbed, and has time to write its state", () => {
    const apply = made({ operation: "apply" });
    expect(apply.spec).toMatchObject({ terminationGracePeriodSeconds: 600 });
    expect(apply.metadata.annotations).toMatchObject({
      "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
      "karpenter.sh/do-not-disrupt": "true",
    });
  });
  test("has the grace that its object names", () => {
    const apply = made({ operation: "apply", gracePeriodSeconds: 90 });
    expect(apply.spec).toMatchObject({ terminationGracePeriodSeconds: 90 });
    expect(runner(apply).env).toContainEqual({ name: "NIGARI_GRACE_SECONDS", value: "90" });
  });
});

describe("runners keep away from each other", () => {
  test("over all namespaces, by preference alone", () => {
    const { affinity, topologySpreadConstraints } = made().spec;
    expect(affinity).toMatchObject({
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { podAffinityTerm: { namespaceSelector: {}, topologyKey: "kubernetes.io/hostname" } },
        ],
      },
    });
    expect(topologySpreadConstraints).toMatchObject([{ whenUnsatisfiable: "ScheduleAnyway" }]);
  });
  test("unless the object says where it wants to be", () => {
    const affinity = { nodeAffinity: {} };
    const { spec } = withSpec({ affinity });
    expect(spec.affinity).toEqual(affinity);
    expect(spec).not.toHaveProperty("topologySpreadConstraints");
  });
});

describe("the template of the object is obeyed", () => {
  test("in every field that only one can fill", () => {
    const spec = {
      nodeSelector: { disk: "fast" },
      tolerations: [{ operator: "Exists" }],
      hostAliases: [{ ip: "10.0.0.1", hostnames: ["x"] }],
      priorityClassName: "high",
    };
    expect(withSpec(spec).spec).toMatchObject(spec);
    const own = { securityContext: { runAsUser: 1 }, resources: { limits: { cpu: "1" } } };
    // Replaced as a whole: half of two is nobody's.
    expect(runner(withSpec(own)).securityContext).toEqual(own.securityContext);
    expect(runner(withSpec(own)).resources).toEqual(own.resources);
    const envFrom = [{ secretRef: { name: "cloud" } }];
    expect(runner(withSpec({ envFrom })).envFrom).toEqual(envFrom);
  });
  test("in lists, behind what every runner needs", () => {
    const pod = withSpec({
      volumes: [{ name: "cache", emptyDir: {} }],
      volumeMounts: [{ name: "cache", mountPath: "/cache" }],
      initContainers: [{ name: "login", image: "x" }],
    });
    const names = (value: unknown) => (value as { name: string }[]).map(({ name }) => name);
    expect(names(pod.spec.volumes)).toEqual(["temp", "home", "nigari-tls", "cache"]);
    expect(names(runner(pod).volumeMounts)).toEqual(["temp", "home", "nigari-tls", "cache"]);
    expect(names(pod.spec.initContainers)).toEqual(["login"]);
  });
  test("in its labels and annotations, but for those by which a run is found again", () => {
    const { metadata } = made({
      template: {
        metadata: {
          labels: { "app.kubernetes.io/name": "mine", "nigari.dev/run": "other", a: "b" },
          annotations: { "nigari.dev/operation": "other", c: "d" },
        },
      },
    });
    expect(metadata.labels).toMatchObject({
      ...{ "app.kubernetes.io/name": "mine", a: "b", "nigari.dev/run": "5-aabbccddeeff" },
    });
    expect(metadata.annotations).toMatchObject({ "nigari.dev/operation": "plan", c: "d" });
  });
  test("in its variables, by name, but for those that say which run it is", () => {
    const { env } = runner(
      withSpec({
        env: [
          { name: "HTTPS_PROXY", value: "http://mine" },
          { name: "NIGARI_RUN_ID", value: "other" },
          { name: "TOKEN", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
        ],
      }),
    );
    const find = (name: string) => (env as { name: string }[]).filter((one) => one.name === name);
    expect(find("HTTPS_PROXY")).toEqual([{ name: "HTTPS_PROXY", value: "http://mine" }]);
    expect(find("NIGARI_RUN_ID")).toEqual([{ name: "NIGARI_RUN_ID", value: "5-aabbccddeeff" }]);
    expect(find("TOKEN")).toHaveLength(1);
    expect(find("POD_NAME")).toHaveLength(1);
  });
  test("in its service account", () => {
    expect(made({ serviceAccountName: "cloud" }).spec.serviceAccountName).toBe("cloud");
  });
});

describe("a foreign image", () => {
  const foreign = withSpec({
    image: "registry.corp:5000/team/tofu@sha256:abc",
    initContainers: [{ name: "login" }],
  });
  test("is started with our runner, which an init container brings before all others", () => {
    expect(foreign.spec.initContainers).toMatchObject([
      { name: "nigari-install", image: "ghcr.io/nigari/runner:v1", args: ["install", "/nigari"] },
      { name: "login" },
    ]);
    expect(runner(foreign)).toMatchObject({
      image: "registry.corp:5000/team/tofu@sha256:abc",
      command: ["/nigari/lib/loader", "--library-path", "/nigari/lib", "/nigari/node", /js$/].map(
        (each) => (typeof each === "string" ? each : expect.stringMatching(each)),
      ),
    });
  });
  test("is none of those that are ours in another version", () => {
    const ours = withSpec({ image: "ghcr.io/nigari/runner:v0" });
    expect(runner(ours)).not.toHaveProperty("command");
    expect(ours.spec.initContainers).toEqual([]);
  });
  test.each([
    ["a/b:v1", "a/b"],
    ["host:5000/a/b", "host:5000/a/b"],
    ["host:5000/a/b:v1@sha256:00", "host:5000/a/b"],
    ["a@sha256:00", "a"],
  ])("the repository of %s is %s", (image, repository) => {
    expect(repositoryOf(image)).toBe(repository);
  });
});

test("pull secrets of the controller are handed on", () => {
  const { spec } = made({}, { imagePullSecrets: ["corp"] } as unknown as typeof defaults);
  expect(spec.imagePullSecrets).toEqual([{ name: "corp" }]);
});

test("a revision without a hash makes a label all the same", () => {
  const label = (revision: string) =>
    (made({ revision }).metadata.labels as Record<string, string>)["app.kubernetes.io/instance"];
  expect(label("sha256:abcdef0123456789")).toBe("tf-runner-abcdef01");
  expect(label("v1.2/é")).toBe("tf-runner-v12");
  expect(label("::")).toBe("tf-runner");
});

describe("the name of a pod", () => {
  test.each([
    ["is the object's and the run's", "demo", "demo-tf-runner-5-aabbccddeeff"],
    ["has 63 characters at most", "x".repeat(80), `${"x".repeat(38)}-tf-runner-5-aabbccddeeff`],
    ["never has two separators side by side", `${"x".repeat(37)}-yyy`, /^x{37}-tf-runner-/],
  ])("%s", (_why, object, expected) => {
    const name = podName(object, "5-aabbccddeeff");
    expect(name.length).toBeLessThanOrEqual(63);
    if (typeof expected === "string") expect(name).toBe(expected);
    else expect(name).toMatch(expected);
    // By it the holder of a lock is found again.
    expect(runOfPod(name)).toBe("5-aabbccddeeff");
  });
});
