import { join } from "node:path";
import type { DaemonCommand } from "./daemons.ts";
import { pkiFolder, writeKubeconfig } from "./pki.ts";
import { type ClusterPlan, ranges } from "./plan.ts";

/** The control plane's programs in the order of their start, by the names of their daemons. */
export const controlPlane: Readonly<Record<string, (plan: ClusterPlan) => DaemonCommand>> = {
  etcd,
  "kube-apiserver": apiServer,
  "kube-controller-manager": controllerManager,
  "kube-scheduler": scheduler,
};

function etcd(plan: ClusterPlan): DaemonCommand {
  const client = `http://${plan.loopback}:2379`;
  const peer = `http://${plan.loopback}:2380`;
  return {
    file: join(plan.bin, "etcd"),
    args: [
      "--name=test",
      `--data-dir=${join(plan.folder, "etcd")}`,
      // A test's etcd needs no durability, and this halves the time of each write.
      "--unsafe-no-fsync",
      "--log-level=warn",
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=test=${peer}`,
    ],
  };
}

function apiServer(plan: ClusterPlan): DaemonCommand {
  const pki = (name: string) => join(pkiFolder(plan), name);
  const { settings } = plan;
  const identity = (what: string, name: string) => [
    `--${what}-cert-file=${pki(`${name}.crt`)}`,
    `--${what}-${what === "tls" ? "private-key" : "key"}-file=${pki(`${name}.key`)}`,
  ];
  return {
    file: join(plan.bin, "kube-apiserver"),
    args: [
      `--etcd-servers=http://${plan.loopback}:2379`,
      // Pods have to reach it, so it is not on loopback; nor on the machine's own network.
      ...[`--bind-address=${plan.host}`, `--advertise-address=${plan.host}`],
      `--secure-port=${new URL(plan.apiUrl).port}`,
      ...[...identity("tls", "api-server"), ...identity("proxy-client", "front-proxy")],
      `--client-ca-file=${pki("ca.crt")}`,
      `--token-auth-file=${pki("tokens.csv")}`,
      `--kubelet-client-certificate=${pki("api-server-kubelet.crt")}`,
      `--kubelet-client-key=${pki("api-server-kubelet.key")}`,
      `--kubelet-certificate-authority=${pki("ca.crt")}`,
      "--kubelet-preferred-address-types=InternalIP",
      `--requestheader-client-ca-file=${pki("front-ca.crt")}`,
      "--requestheader-allowed-names=front-proxy-client",
      "--requestheader-extra-headers-prefix=X-Remote-Extra-",
      "--requestheader-group-headers=X-Remote-Group",
      "--requestheader-username-headers=X-Remote-User",
      "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
      `--service-account-key-file=${pki("accounts.pub")}`,
      `--service-account-signing-key-file=${pki("accounts.key")}`,
      `--service-cluster-ip-range=${ranges(plan).services}`,
      "--authorization-mode=Node,RBAC",
      "--enable-admission-plugins=NodeRestriction",
      ...["--allow-privileged=true", "--profiling=false"],
      `--default-not-ready-toleration-seconds=${settings.tolerationS}`,
      `--default-unreachable-toleration-seconds=${settings.tolerationS}`,
      ...settings.apiServerFlags,
    ],
  };
}

function controllerManager(plan: ClusterPlan): DaemonCommand {
  const pki = (name: string) => join(pkiFolder(plan), name);
  const { graceS, controllerManagerFlags } = plan.settings;
  return {
    file: join(plan.bin, "kube-controller-manager"),
    args: [
      ...asClient(plan, "controller-manager"),
      "--use-service-account-credentials",
      `--service-account-private-key-file=${pki("accounts.key")}`,
      ...[`--root-ca-file=${pki("ca.crt")}`, `--cluster-signing-cert-file=${pki("ca.crt")}`],
      `--cluster-signing-key-file=${pki("ca.key")}`,
      `--flex-volume-plugin-dir=${join(plan.folder, "run/volume-plugins")}`,
      "--allocate-node-cidrs=false",
      "--node-monitor-period=1s",
      `--node-monitor-grace-period=${graceS}s`,
      "--node-startup-grace-period=20s",
      // How many dead nodes' pods are given up per second: 0.1 otherwise.
      ...["--node-eviction-rate=10", "--secondary-node-eviction-rate=10"],
      "--unhealthy-zone-threshold=1",
      ...controllerManagerFlags,
    ],
  };
}

function scheduler(plan: ClusterPlan): DaemonCommand {
  return { file: join(plan.bin, "kube-scheduler"), args: asClient(plan, "scheduler") };
}

function asClient(plan: ClusterPlan, name: string): string[] {
  const file = writeKubeconfig(plan, name, join(plan.folder, "run", `${name}.kubeconfig`));
  return [
    ...["", "authentication-", "authorization-"].map((what) => `--${what}kubeconfig=${file}`),
    `--bind-address=${plan.loopback}`,
    `--cert-dir=${join(plan.folder, "run", `${name}-certs`)}`,
    ...["--leader-elect=false", "--profiling=false"],
    // At the default of 20 requests a second it takes seconds to make a new cluster's objects.
    ...["--kube-api-qps=500", "--kube-api-burst=1000"],
  ];
}
