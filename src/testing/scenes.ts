import { Scene } from "../evidence/scene.ts";

/**
 * The incident in small: node beta is shut down while three runners are in Init; one object only
 * waits, one awaits approval, one is suspended, one applies for long on the other node.
 */
export function incidentScene(clock = "10:20:00"): Scene {
  const scene = new Scene(`2026-03-02T${clock}Z`)
    .node("alpha")
    .node("beta", { since: "10:03:00" })
    .controller({ node: "alpha", version: "0.16.4" })
    .sourceController({ node: "alpha" })
    .source("apps/code")
    .text(
      ['{"level":"info","ts":"2026-03-02T08:00:01Z","logger":"setup","msg":"Starting manager"}'],
      {
        name: "source-controller-1",
      },
    );
  for (const name of ["login", "network", "queue"]) {
    scene
      .terraform(`apps/${name}`, { ready: ["Unknown", "Initializing", "10:00:04"] })
      .failedRunner(`apps/${name}`, "beta", "10:00:02", "10:01:10");
  }
  return scene
    .terraform("apps/mail", {
      ready: ["False", "dependency 'apps/login' is not ready", "10:00:30", "DependencyNotReady"],
      spec: { dependsOn: [{ name: "login" }] },
    })
    .terraform("apps/edge", {
      ready: [
        ...(["Unknown", 'Plan generated: set approvePlan: "plan-main-1" to approve it.'] as const),
        ...(["09:50:00", "TerraformPlannedWithChanges"] as const),
      ],
      spec: { approvePlan: "" },
      status: { plan: { pending: "plan-main-1" } },
    })
    .terraform("apps/old", { spec: { suspend: true } })
    .terraform("apps/store", { ready: ["Unknown", "Applying", "10:02:00"] })
    .runner("apps/store", { node: "alpha", created: "10:01:50" })
    .lock("apps/store", { created: "10:02:00" })
    .log([
      ["08:00:02", "apps/edge", ">> Started Generation: 1"],
      ["09:50:00", "apps/edge", "Reconciliation is stopped to wait for manual operations"],
      ["10:00:05", "apps/login", "generated template"],
      ["10:00:05", "apps/network", "generated template"],
      ["10:00:06", "apps/queue", "generated template"],
      ["10:02:00", "apps/store", "load tf plan: ok"],
      ["10:19:50", "apps/mail", "Dependencies do not meet ready condition, retrying in 30s"],
    ])
    .workers({ active: 4, maximum: 8, longest: 1_200, unfinished: 4_690 });
}
