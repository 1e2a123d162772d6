import { writeFailedPass, writeUntil } from "../passes.ts";
import { AS_OF_MS, CONTROLLER, REVISION, SYSTEM, type World } from "../world.ts";
import type { Fault } from "./fault.ts";

const LEASE = "flux-system/1953de50.contrib.fluxcd.io";
const PATH = "http://source-controller.flux-system.svc.cluster.local./gitrepository/x.tar.gz";
const TIMED_OUT = `Get "${PATH}": dial tcp 10.97.43.35:80: i/o timeout`;
const FETCH = `failed to download artifact, error: GET ${PATH} giving up after 10 attempt(s): `;
/** Only logs know of it. */
const byLog = { "objects-and-metrics": "either" as const };

/** klog's form of a line, so many seconds ago. */
function klog(seconds: number, text: string): string {
  const at = new Date(AS_OF_MS - seconds * 1_000).toISOString();
  const [, month, day, time] = /^\d{4}-(\d\d)-(\d\d)T([\d:.]+)Z$/.exec(at) ?? [];
  return `E${month}${day} ${time}000       1 leaderelection.go:340] ${text}`;
}

/** etcd answers too late; the controller loses its Lease, ends and leads again. */
function unsteady(world: World, seconds: number): void {
  world.controllerAge = seconds - 30;
  const late = `error retrieving resource lock ${LEASE}: etcdserver: request timed out`;
  world.scene.text(
    [
      klog(seconds + 20, late),
      klog(seconds + 5, `failed to renew lease ${LEASE}: context deadline exceeded`),
      JSON.stringify({
        ...{ level: "error", ts: world.ago(seconds), msg: "problem running manager" },
        error: "leader election lost",
      }),
    ],
    { namespace: SYSTEM, name: CONTROLLER, previous: true },
  );
  world.expect("control-plane/unsteady", "ControlPlane/kubernetes", byLog);
  world.expect("control-plane/leader-election-lost", `Pod/${SYSTEM}/${CONTROLLER}`, byLog);
}

/** Downloads that nobody answers: silent, with runners that live, and they end by themselves. */
const silentDownloads: Fault = {
  name: "the control plane was unsteady, and archives cannot be fetched",
  realm: "control-plane",
  restarts: true,
  apply(world) {
    unsteady(world, 700);
    for (let index = world.between(1, 5); index > 0; index -= 1) {
      const key = world.key();
      const seconds = world.between(120, 480);
      world.object(key, ["Unknown", "Initializing", world.ago(seconds)], {
        status: { lastPlannedRevision: "main@sha1:0ld" },
      });
      writeUntil(world, key, "fetch", seconds - 1);
      world.runs(seconds + 4);
      world.runner(key, { node: "node-1", created: world.ago(seconds + 8) });
      world.expect("flux/artifact-fetch-transient", `Terraform/${key}`, byLog);
    }
  },
};

const failedDownloads: Fault = {
  name: "the control plane was unsteady, and downloads gave up",
  realm: "control-plane",
  restarts: true,
  apply(world) {
    unsteady(world, 800);
    for (let index = world.between(1, 5); index > 0; index -= 1) {
      const key = world.key();
      const error = FETCH + TIMED_OUT;
      const seconds = world.between(15, 60);
      world.object(key, ["False", error, world.ago(seconds), "ArtifactFailed"], {
        status: { reconciliationFailures: 1 },
      });
      const line = "error in terraform setup";
      writeFailedPass(world, key, { stage: "fetch", line, error }, seconds);
      world.expect("flux/artifact-fetch-transient", `Terraform/${key}`, byLog);
    }
  },
};

/** Nothing else came of it. */
const onlyUnsteady: Fault = {
  name: "the control plane was unsteady for a moment",
  realm: "control-plane",
  restarts: true,
  apply: (world) => unsteady(world, 600),
};

/** Long ago: that is history. */
const onceUnsteady: Fault = {
  name: "the control plane was unsteady an hour ago",
  realm: "control-plane",
  restarts: true,
  apply(world) {
    world.scene.text([klog(3_900, `error retrieving resource lock ${LEASE}: timed out`)], {
      ...{ namespace: SYSTEM, name: CONTROLLER, previous: true },
    });
    world.controllerAge = 3_800;
  },
};

const goneArtifact: Fault = {
  name: "an archive is not served any more",
  apply(world) {
    const key = world.key();
    const error = world.pick([
      `failed to download artifact from ${PATH}, status: 404 Not Found`,
      "failed to verify artifact: computed checksum 'aa' doesn't match advertised 'bb'",
    ]);
    world.object(key, ["False", error, world.ago(25), "ArtifactFailed"], {
      status: { reconciliationFailures: world.between(1, 9) },
    });
    const line = "error in terraform setup";
    writeFailedPass(world, key, { stage: "fetch", line, error }, 25);
    world.expect("flux/artifact-unavailable", `Terraform/${key}`);
  },
};

const noSource: Fault = {
  name: "a source does not exist",
  apply(world) {
    const key = world.key();
    const message = "Source 'GitRepository/flux-system/none' not found";
    world.object(key, ["False", message, world.ago(600), "ArtifactFailed"], {
      spec: { sourceRef: { kind: "GitRepository", name: "none", namespace: SYSTEM } },
      status: { lastAttemptedRevision: REVISION },
    });
    world.line(20, key, ">> Started Generation: 1");
    world.line(20, key, "Source 'GitRepository/flux-system/none' not found");
    world.expect("flux/artifact-unavailable", `Terraform/${key}`);
  },
};

export const controlPlaneFaults: readonly Fault[] = [
  silentDownloads,
  failedDownloads,
  onlyUnsteady,
  onceUnsteady,
  goneArtifact,
  noSource,
];
