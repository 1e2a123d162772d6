import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PAUSE_IMAGE } from "../images/contents.ts";
import { pkiFolder, writeKubeconfig } from "./pki.ts";
import { type ClusterPlan, type NodePlan, ranges } from "./plan.ts";

/** Writes what a node's programs are set up with, and the arguments that node.sh gives them. */
export function writeNodeFiles(plan: ClusterPlan, node: NodePlan): void {
  for (const name of ["run", "lib", "log", "cni", "sysctl"]) {
    mkdirSync(join(node.folder, name), { recursive: true, mode: 0o755 });
  }
  const put = (name: string, text: string) => {
    const file = join(node.folder, name);
    writeFileSync(file, text, { mode: 0o600 });
    return file;
  };
  const document = (name: string, value: object) => put(name, JSON.stringify(value, null, 1));
  document("cni/10-bridge.conflist", podNetwork(node));
  // Containers get a copy, which every user reads.
  writeFileSync(join(node.folder, "resolv.conf"), `nameserver ${plan.host}\n`, { mode: 0o644 });
  for (const [name, value] of Object.entries(kernelSettings)) put(`sysctl/${name}`, value);

  const containerd = put("containerd.toml", containerdConfig(plan, node));
  const kubelet = document("kubelet.json", kubeletConfig(plan, node));
  const access = join(node.folder, "kubelet.kubeconfig");
  writeKubeconfig(plan, `node-${node.name}`, access);
  writeKubeconfig(plan, "proxy", join(node.folder, "proxy.kubeconfig"));
  const proxy = document("proxy.json", proxyConfig(plan, node));
  const lines = (...args: readonly string[]) => `${args.join("\n")}\n`;
  put("containerd.args", lines("containerd", "--config", containerd));
  put(
    "kubelet.args",
    lines(
      ...[join(plan.bin, "kubelet"), `--config=${kubelet}`, `--kubeconfig=${access}`],
      ...["--root-dir=/var/lib/kubelet", `--hostname-override=${node.name}`],
      `--node-ip=${node.address}`,
      `--boot-id-file=${join(node.folder, "boot-id")}`,
      `--machine-id-file=${join(node.folder, "machine-id")}`,
    ),
  );
  put("kube-proxy.args", lines(join(plan.bin, "kube-proxy"), `--config=${proxy}`, "--v=1"));
}

/**
 * The kubelet insists on these and would set them for the whole machine, panic_on_oops among them.
 * The node sees files with the wanted values instead.
 */
const kernelSettings = {
  "vm.overcommit_memory": "1",
  "vm.panic_on_oom": "0",
  "kernel.panic": "10",
  "kernel.panic_on_oops": "1",
  "kernel.keys.root_maxkeys": "1000000",
  "kernel.keys.root_maxbytes": "25000000",
};

function containerdConfig(plan: ClusterPlan, node: NodePlan): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  const unused = ["aufs", "btrfs", "devmapper", "zfs"].map(
    (name) => `"io.containerd.snapshotter.v1.${name}"`,
  );
  return `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
oom_score = 0
disabled_plugins = [${[...unused, '"io.containerd.tracing.processor.v1.otlp"'].join(", ")}]
[grpc]
  address = "/run/containerd/containerd.sock"
[${cri}]
  sandbox_image = "${PAUSE_IMAGE}"
  stream_server_address = "127.0.0.1"
  # Root without CAP_SYS_RESOURCE, as in many sandboxes, may not lower an OOM score.
  restrict_oom_score_adj = true
[${cri}.cni]
  bin_dir = "${plan.cni}"
  conf_dir = "${join(node.folder, "cni")}"
[${cri}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[${cri}.containerd.runtimes.runc.options]
  SystemdCgroup = false
`;
}

function podNetwork({ pods }: NodePlan): object {
  const ipam = {
    ...{ type: "host-local", ranges: [[{ subnet: pods }]], routes: [{ dst: "0.0.0.0/0" }] },
  };
  const bridge = { type: "bridge", bridge: "cni0", isGateway: true, ipMasq: false };
  return {
    ...{ cniVersion: "0.4.0", name: "pods" },
    plugins: [
      { ...bridge, hairpinMode: true, ipam },
      { type: "portmap", capabilities: { portMappings: true } },
    ],
  };
}

function kubeletConfig(plan: ClusterPlan, node: NodePlan): object {
  const pki = (name: string) => join(pkiFolder(plan), name);
  return {
    ...{ apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" },
    ...{ address: node.address, healthzBindAddress: "127.0.0.1", readOnlyPort: 0 },
    authentication: {
      ...{ anonymous: { enabled: false }, webhook: { enabled: true } },
      x509: { clientCAFile: pki("ca.crt") },
    },
    authorization: { mode: "Webhook" },
    tlsCertFile: pki(`kubelet-${node.name}.crt`),
    tlsPrivateKeyFile: pki(`kubelet-${node.name}.key`),
    containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
    failCgroupV1: false,
    cgroupDriver: "cgroupfs",
    // A tree of its own, or two kubelets would clear away each other's pods.
    cgroupRoot: `/${node.cgroup}`,
    failSwapOn: false,
    resolvConf: join(node.folder, "resolv.conf"),
    ...{ clusterDNS: [plan.host], clusterDomain: "cluster.local" },
    nodeLeaseDurationSeconds: plan.settings.leaseS,
    nodeStatusUpdateFrequency: "2s",
    // Else it is the line above, and every computed status is written as well.
    nodeStatusReportFrequency: "5m",
    syncFrequency: "10s",
    serializeImagePulls: false,
    // Images are never deleted: they come from files, and nobody could pull them again.
    imageGCHighThresholdPercent: 100,
    evictionHard: {
      ...{ "memory.available": "50Mi", "nodefs.available": "0%", "nodefs.inodesFree": "0%" },
      ...{ "imagefs.available": "0%", "imagefs.inodesFree": "0%" },
    },
    crashLoopBackOff: { maxContainerRestartPeriod: "5s" },
    volumeStatsAggPeriod: "0s",
    volumePluginDir: "/var/lib/kubelet/volume-plugins",
    maxPods: 60,
    logging: { verbosity: 2 },
  };
}

function proxyConfig(plan: ClusterPlan, node: NodePlan): object {
  return {
    ...{ apiVersion: "kubeproxy.config.k8s.io/v1alpha1", kind: "KubeProxyConfiguration" },
    bindAddress: node.address,
    ...{ healthzBindAddress: "127.0.0.1:10256", metricsBindAddress: "127.0.0.1:10249" },
    clientConnection: { kubeconfig: join(node.folder, "proxy.kubeconfig") },
    ...{ mode: "iptables", clusterCIDR: ranges(plan).pods, hostnameOverride: node.name },
    conntrack: { maxPerCore: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
    iptables: { minSyncPeriod: "0s", syncPeriod: "30s" },
  };
}
