import { until } from "../../../src/testing/cluster/commands.ts";
import {
  type Administered,
  createObjects,
  send,
  sendForText,
} from "../../../src/testing/cluster/objects.ts";

export interface PodWish {
  readonly namespace: string;
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  /** Bound to it; left to the scheduler if there is none. */
  readonly node?: string;
  readonly more?: Readonly<Record<string, unknown>>;
}

export interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly phase: string;
    readonly podIP?: string;
    readonly containerStatuses?: readonly {
      readonly state: { readonly terminated?: { readonly exitCode: number } };
    }[];
  };
}

export async function makePod(server: Administered, wish: PodWish): Promise<void> {
  const { namespace, name, image, command, node } = wish;
  await createObjects(server, [
    {
      ...{ apiVersion: "v1", kind: "Pod", metadata: { name, namespace } },
      spec: {
        restartPolicy: "Never",
        ...(node === undefined ? {} : { nodeName: node }),
        containers: [{ name: "main", image, command }],
        ...wish.more,
      },
    },
  ]);
}

/** Waits for what is expected of a pod; the error shows it as it is. */
export async function untilPod(
  server: Administered,
  { namespace, name }: Pick<PodWish, "namespace" | "name">,
  holds: (pod: Pod) => boolean,
  limitMs = 30_000,
): Promise<Pod> {
  let last: unknown;
  const ask = async () => {
    const pod = (await send(server, "GET", podPath(namespace, name))) as Pod;
    last = pod.status;
    return holds(pod) ? pod : undefined;
  };
  return until(`pod ${namespace}/${name}`, limitMs, ask).catch((error: Error) => {
    throw new Error(`${error.message}; it is ${JSON.stringify(last)}`, { cause: error });
  });
}

export function inPhase(phase: string): (pod: Pod) => boolean {
  return (pod) => pod.status.phase === phase;
}

/** What its container has printed, as its node's kubelet gives it. */
export function logOf(
  server: Administered,
  { namespace, name }: Pick<PodWish, "namespace" | "name">,
): Promise<string> {
  return sendForText(server, "GET", `${podPath(namespace, name)}/log`);
}

export function podPath(namespace: string, name: string): string {
  return `/api/v1/namespaces/${namespace}/pods/${name}`;
}

/** A namespace of the file's own, with the account that pods need. */
export async function makeNamespace(server: Administered, name: string): Promise<void> {
  await createObjects(server, [{ apiVersion: "v1", kind: "Namespace", metadata: { name } }]);
  await until(`the account of namespace ${name}`, 20_000, () =>
    send(server, "GET", `/api/v1/namespaces/${name}/serviceaccounts/default`).catch(
      () => undefined,
    ),
  );
}
