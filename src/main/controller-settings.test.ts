import { describe, expect, test } from "vitest";
import { controllerSettings, WrongFlags } from "./controller-settings.ts";

const settings = (...words: string[]) => controllerSettings(words, {});

test("the arguments of tofu-controller's own chart are understood, none stops the start", () => {
  const chart = [
    ...[
      "--allow-cross-namespace-refs",
      "--log-encoding=json",
      "--log-level=info",
      "--concurrent=24",
    ],
    ...["--ca-cert-validity-duration=168h0m", "--cert-rotation-check-frequency=30m0s"],
    ...["--enable-leader-election", "--watch-all-namespaces=true", "--kube-api-qps=50"],
    ...["--events-addr=http://notification-controller.flux-system.svc.cluster.local./"],
    ...["--runner-creation-timeout=5m0s", "--runner-grpc-max-message-size=4"],
    ...["--quota-retry-jitter-factor=0.4", "--use-priority-queue=true", "--kube-api-burst=100"],
  ];
  const found = settings(...chart);
  expect(found).toMatchObject({
    ...{ maxRuns: 24, crossNamespaceRefs: true, ownNamespaceOnly: false },
    eventsAddress: "http://notification-controller.flux-system.svc.cluster.local./",
    log: { format: "json", level: "info" },
  });
  expect(found.warnings).toHaveLength(1);
  expect(found.warnings[0]).toContain("--enable-leader-election (");
});

test("a flag of a later release is named in one line and taken for nothing else", () => {
  const found = settings("--new-one=3", "--another", "value", "--concurrent", "7", "-x");
  expect(found.maxRuns).toBe(7);
  expect(found.warnings).toEqual([
    "Flags that are not known and change nothing: --new-one, --another, -x",
  ]);
});

describe("references to other namespaces", () => {
  test.each<[string, string[], boolean]>([
    ["are denied unless said otherwise", [], false],
    ["are allowed by --no… set to false", ["--no-cross-namespace-refs=false"], true],
    ["are denied by --no…", ["--no-cross-namespace-refs"], false],
    [
      "obey --allow… whatever --no… says",
      ["--no-cross-namespace-refs=false", "--allow-cross-namespace-refs=false"],
      false,
    ],
  ])("%s", (_why, words, allowed) => {
    expect(settings(...words).crossNamespaceRefs).toBe(allowed);
  });
});

test.each<[string, Partial<ReturnType<typeof settings>>]>([
  ["--metrics-addr=:9", { metricsAddress: { host: undefined, port: 9 } }],
  ["--metrics-addr=[::1]:9", { metricsAddress: { host: "::1", port: 9 } }],
  ["--metrics-addr=0", { metricsAddress: undefined }],
  ["--log-level=trace", { log: { format: "json", level: "debug" } }],
  ["--log-encoding=console", { log: { format: "human", level: "info" } }],
  ["--watch-label-selector=a=b", { selector: [{ key: "a", is: "in", values: ["b"] }] }],
])("%s", (word, expected) => {
  expect(settings(word)).toMatchObject(expected);
});

test("the environment of upstream's Deployment is obeyed, and flags beat it", () => {
  const env = { RUNTIME_NAMESPACE: "flux-system", RUNNER_POD_IMAGE: "a", NIGARI_DATA_DIR: "/d" };
  expect(controllerSettings([], env)).toMatchObject({
    ...{ ownNamespace: "flux-system", dataDir: "/d", runner: { image: "a" } },
  });
  expect(controllerSettings(["--runner-image=b"], env).runner.image).toBe("b");
});

test("every wrong value is named at once", () => {
  const wrong = ["--concurrent=many", "--log-level=loud", "--metrics-addr=here", "--context"];
  expect(() => settings(...wrong)).toThrow(WrongFlags);
  expect(() => settings(...wrong)).toThrow(
    'Wrong flags: --concurrent takes a number such as 4, not "many"; --context needs a value; ' +
      '--metrics-addr does not take "here"; --log-level does not take "loud"',
  );
});
