import { join } from "node:path";
import { type GoProgram, pinnedProgram, thisPlatform } from "../../adapters/opentofu/programs.ts";

interface Pinned {
  readonly title: string;
  readonly module: string;
  /** Folder below tools/cluster whose go.mod pins it. */
  readonly folder: string;
  readonly package?: string;
  readonly linkerFlags?: string;
}

/**
 * Every program of the test cluster, by its file's name, in the order they are built. Kubernetes'
 * come from one module, so that what they share is compiled once.
 */
const pins: Readonly<Record<string, Pinned>> = {
  etcd: { title: "etcd", module: "go.etcd.io/etcd/server/v3", folder: "etcd" },
  "kube-apiserver": kubernetes("kube-apiserver"),
  "kube-controller-manager": kubernetes("kube-controller-manager"),
  "kube-scheduler": kubernetes("kube-scheduler"),
  kubelet: kubernetes("kubelet"),
  "kube-proxy": kubernetes("kube-proxy"),
  kubectl: kubernetes("kubectl"),
  coredns: { title: "CoreDNS", module: "github.com/coredns/coredns", folder: "coredns" },
  "source-controller": {
    title: "Flux source-controller",
    module: "github.com/fluxcd/source-controller",
    folder: "source-controller",
  },
  helm: {
    ...{ title: "Helm", module: "helm.sh/helm/v4", folder: "helm" },
    package: "helm.sh/helm/v4/cmd/helm",
  },
};

export const clusterProgramNames = Object.keys(pins);

/** What an API server without nodes consists of, which needs neither root nor Linux. */
export const apiServerNames = ["etcd", "kube-apiserver", "kube-controller-manager"];

/** Reads the pins of some programs, below the checkout's root. */
export function clusterPins(names: readonly string[]): ((root: string) => Promise<GoProgram>)[] {
  const chosen = Object.entries(pins).filter(([id]) => names.includes(id));
  return chosen.map(([id, pinned]) => (root) => {
    const { title, module, folder } = pinned;
    return pinnedProgram({
      ...{ id, name: title, module, package: pinned.package ?? module },
      moduleFolder: join(root, "tools/cluster", folder),
      linkerFlags: pinned.linkerFlags ?? "-s -w",
      target: () => `bin/${id}`,
      platform: thisPlatform(),
    });
  });
}

function kubernetes(id: string): Pinned {
  const version = "k8s.io/component-base/version.git";
  return {
    ...{ title: id, module: "k8s.io/kubernetes", folder: "kubernetes" },
    package: `k8s.io/kubernetes/cmd/${id}`,
    // Without these it calls itself v0.0.0, and clients take it for something ancient.
    linkerFlags: `-s -w -X ${version}Version=v1.36.3 -X ${version}Major=1 -X ${version}Minor=36`,
  };
}
