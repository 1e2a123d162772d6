import { join } from "node:path";
import { type GoProgram, pinnedProgram, thisPlatform } from "../../adapters/opentofu/programs.ts";

/** etcd as pinned in tools/cluster/etcd. */
export async function etcdProgram(root: string): Promise<GoProgram> {
  return pinnedProgram({
    ...{ id: "etcd", name: "etcd", moduleFolder: join(root, "tools/cluster/etcd") },
    module: "go.etcd.io/etcd/server/v3",
    package: "go.etcd.io/etcd/server/v3",
    linkerFlags: "-s -w",
    target: () => "bin/etcd",
    platform: thisPlatform(),
  });
}

/** The API server as pinned in tools/cluster/kubernetes. */
export async function apiServerProgram(root: string): Promise<GoProgram> {
  return kubernetesProgram(root, "kube-apiserver", "Kubernetes API server");
}

/** The controllers, of which tests want the garbage collector. */
export async function controllerManagerProgram(root: string): Promise<GoProgram> {
  return kubernetesProgram(root, "kube-controller-manager", "Kubernetes controller manager");
}

function kubernetesProgram(root: string, id: string, name: string): Promise<GoProgram> {
  const version = "k8s.io/component-base/version.git";
  return pinnedProgram({
    ...{ id, name },
    moduleFolder: join(root, "tools/cluster/kubernetes"),
    module: "k8s.io/kubernetes",
    package: `k8s.io/kubernetes/cmd/${id}`,
    // Without these it calls itself v0.0.0, and clients take it for something ancient.
    linkerFlags: `-s -w -X ${version}Version=v1.36.3 -X ${version}Major=1 -X ${version}Minor=36`,
    target: () => `bin/${id}`,
    platform: thisPlatform(),
  });
}
