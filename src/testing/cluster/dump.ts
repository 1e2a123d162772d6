import type { Dump } from "../doctor-worlds/dump.ts";
import type { ApiServer } from "./api-server.ts";
import type { FakeKubelet } from "./kubelet.ts";
import { createObjects, customKind, untilServed } from "./objects.ts";

type Item = Readonly<Record<string, unknown>>;

/** Puts a dump's objects into a real API server, whose every node answers as the kubelet does. */
export async function putDump(
  { server, kubelet }: { readonly server: ApiServer; readonly kubelet: FakeKubelet },
  { objects }: Pick<Dump, "objects">,
): Promise<void> {
  const namespaces = new Set(objects.flatMap((each) => namespaceOf(each) ?? []));
  await createObjects(server, [
    customKind("Terraform", "infra.contrib.fluxcd.io", "v1alpha2"),
    customKind("GitRepository", "source.toolkit.fluxcd.io", "v1"),
    ...[...namespaces].map((name) => ({
      ...{ apiVersion: "v1", kind: "Namespace", metadata: { name } },
    })),
  ]);
  await untilServed(server, "/apis/infra.contrib.fluxcd.io/v1alpha2/terraforms");
  await untilServed(server, "/apis/source.toolkit.fluxcd.io/v1/gitrepositories");
  await createObjects(
    server,
    objects.map((each) => acceptable(each, kubelet)),
  );
}

const namespaceOf = (item: Item) => (item.metadata as { namespace?: string }).namespace;

/** With what the API server insists on, and nodes that lead to the stand-in for their kubelet. */
function acceptable(item: Item, kubelet: FakeKubelet): Item {
  const spec = item.spec as object;
  if (item.kind === "Node") return { ...item, status: nodeStatus(item.status as object, kubelet) };
  if (item.kind === "Lease") return { ...item, spec: inMicroseconds(spec) };
  if (item.kind === "Service") return { ...item, spec: { ports: [{ port: 80 }], ...spec } };
  return item.kind === "Pod" ? withImages(item) : item;
}

function nodeStatus(status: object, kubelet: FakeKubelet): object {
  const names = ["machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "architecture"];
  const more = ["containerRuntimeVersion", "kubeletVersion", "kubeProxyVersion", "operatingSystem"];
  return {
    ...status,
    addresses: [{ type: "InternalIP", address: kubelet.ip }],
    daemonEndpoints: { kubeletEndpoint: { Port: kubelet.port } },
    nodeInfo: Object.fromEntries([...names, ...more].map((name) => [name, "x"])),
  };
}

/** Leases count finer than other objects, and say so. */
function inMicroseconds(spec: object): object {
  const fine = (value: unknown) =>
    typeof value === "string" && /^\d{4}-.*T.*Z$/.test(value)
      ? value.replace(/(\.\d+)?Z$/, (_, part = ".") => `${part.padEnd(7, "0")}Z`)
      : value;
  return Object.fromEntries(Object.entries(spec).map(([key, value]) => [key, fine(value)]));
}

/** A container's status names its image, and owners their uid. */
function withImages(item: Item): Item {
  const metadata = item.metadata as { ownerReferences?: object[] };
  const status = item.status as { containerStatuses?: object[]; conditions?: object[] };
  const owners = metadata.ownerReferences?.map((each) => ({
    ...{ uid: "0000", apiVersion: "infra.contrib.fluxcd.io/v1alpha2" },
    ...each,
  }));
  return {
    ...item,
    metadata: { ...metadata, ...(owners === undefined ? {} : { ownerReferences: owners }) },
    status: {
      ...status,
      containerStatuses: (status.containerStatuses ?? []).map((each) => ({
        ...{ image: "x", imageID: "x" },
        ...each,
      })),
    },
  };
}
