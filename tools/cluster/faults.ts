import type { Cluster } from "../../src/testing/cluster/cluster.ts";

interface Fault {
  readonly args: readonly string[];
  readonly says: string;
  readonly strike: (cluster: Cluster, args: readonly string[]) => void | Promise<void>;
}

/** What one may do to a cluster from the shell, by verb. */
export const faults: Readonly<Record<string, Fault>> = {
  "power-off": node("pulls the plug", (cluster, name) => cluster.node(name).powerOff()),
  start: node("switches it on again", (cluster, name) => cluster.node(name).start()),
  reboot: node("shuts down in order and starts", (cluster, name) => cluster.node(name).reboot()),
  freeze: node("stops every program of it", (cluster, name) => cluster.node(name).freeze()),
  thaw: node("lets them go on", (cluster, name) => cluster.node(name).thaw()),
  cut: node("takes its network away", (cluster, name) => cluster.node(name).cut()),
  join: node("gives it back", (cluster, name) => cluster.node(name).join()),
  "stop-kubelet": node("ends it alone", (cluster, name) => cluster.node(name).stopKubelet()),
  "start-kubelet": node("starts it", (cluster, name) => cluster.node(name).startKubelet()),
  "kill-pod": pod("SIGKILL to its first container", async (cluster, namespace, name) => {
    (await cluster.pod(namespace, name)).kill();
  }),
  "freeze-pod": pod("stops every process of it", async (cluster, namespace, name) => {
    await (await cluster.pod(namespace, name)).freeze();
  }),
  "thaw-pod": pod("lets them go on", async (cluster, namespace, name) => {
    await (await cluster.pod(namespace, name)).thaw();
  }),
  "stop-process": host("kube-apiserver, source-controller, ...", (cluster, name) =>
    cluster.stopProcess(name),
  ),
  "start-process": host("starts it as it was", (cluster, name) => cluster.startProcess(name)),
};

function node(
  says: string,
  strike: (cluster: Cluster, name: string) => void | Promise<void>,
): Fault {
  return { args: ["NODE"], says, strike: (cluster, [name = ""]) => strike(cluster, name) };
}

function host(
  says: string,
  strike: (cluster: Cluster, name: string) => void | Promise<void>,
): Fault {
  return { args: ["PROCESS"], says, strike: (cluster, [name = ""]) => strike(cluster, name) };
}

function pod(
  says: string,
  strike: (cluster: Cluster, namespace: string, name: string) => Promise<void>,
): Fault {
  return {
    args: ["NAMESPACE", "POD"],
    says,
    strike: (cluster, [namespace = "", name = ""]) => strike(cluster, namespace, name),
  };
}
