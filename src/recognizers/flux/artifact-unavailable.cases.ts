import { calm, failed, type RecognizerCases } from "../case.ts";

const STARTED =
  '{"level":"info","ts":"2026-03-02T08:00:01Z","logger":"setup","msg":"Starting manager"}';
const UNREACHABLE =
  "failed to download artifact, error: GET http://source-controller.ops.svc/x.tar.gz giving up " +
  "after 10 attempt(s): dial tcp 10.0.0.7:80: connect: connection refused";

export const artifactUnavailableCases: RecognizerCases = {
  recognized: [
    {
      why: "the archive was collected: the server answers 404",
      scene: calm("10:10:00")
        .sourceController({ node: "beta" })
        .terraform(
          "apps/web",
          failed(
            "ArtifactFailed",
            "failed to download artifact from http://x, status: 404",
            "10:09:30",
          ),
        )
        .text([STARTED]),
      objects: ["Terraform/apps/web"],
      facts: { cause: "not-found" },
    },
    {
      why: "its source does not exist",
      scene: calm("10:10:00").terraform(
        "apps/web",
        failed("ArtifactFailed", "Source 'GitRepository/apps/code' not found", "10:09:30"),
      ),
      facts: { cause: "no-source", source: "GitRepository/apps/code" },
    },
    {
      why: "the source-controller is down",
      scene: calm("10:10:00")
        .sourceController({ node: "beta", phase: "Pending" })
        .terraform("apps/web", failed("ArtifactFailed", UNREACHABLE, "10:09:30"))
        .text([STARTED])
        .log([
          [
            "10:09:30",
            "apps/web",
            "Reconciliation failed after 9m30s, next try in 30s",
            UNREACHABLE,
          ],
        ]),
      facts: { cause: "source-controller-down" },
    },
    {
      why: "nobody answers though the control plane is steady",
      scene: calm("10:10:00")
        .sourceController({ node: "beta" })
        .terraform("apps/web", failed("ArtifactFailed", UNREACHABLE, "10:09:30"))
        .text([STARTED]),
      facts: { cause: "unreachable" },
    },
  ],
  ruledOut: [
    {
      why: "an old error in the log is over: the object is Ready since",
      scene: calm("10:10:00")
        .terraform("apps/web", {
          ready: ["True", "No drift: main@sha1:1", "10:09:00", "NoDrift"],
          status: { lastSuccessfulReconcileAt: "2026-03-02T10:09:00Z" },
        })
        .text([STARTED])
        .log([["09:09:30", "apps/web", "Source is not ready, artifact not found"]]),
    },
  ],
  inconclusive: [
    {
      why: "nobody answers, and whether the control plane was steady is not known",
      scene: calm("10:10:00")
        .sourceController({ node: "beta" })
        .terraform("apps/web", failed("ArtifactFailed", UNREACHABLE, "10:09:30")),
      objects: ["Terraform/apps/web"],
    },
  ],
};
