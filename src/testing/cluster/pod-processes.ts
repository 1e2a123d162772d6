import { findCgroup, processesOf, setFrozen } from "./cgroups.ts";
import { until } from "./commands.ts";
import { signalIfThere } from "./node.ts";
import { type Administered, send } from "./objects.ts";

interface PodObject {
  readonly metadata: { readonly uid: string };
  readonly spec: { readonly containers: readonly { readonly name: string }[] };
  readonly status: {
    readonly containerStatuses?: readonly {
      readonly name: string;
      readonly containerID?: string;
    }[];
  };
}

const START_LIMIT_MS = 20_000;

/**
 * The processes of one pod, on whichever node it is, dealt with behind Kubernetes' back. What is
 * known of it is of the time it was asked for.
 */
export class PodProcesses {
  readonly #pod: PodObject;
  readonly #cgroup: string;

  constructor(pod: PodObject, cgroup: string) {
    this.#pod = pod;
    this.#cgroup = cgroup;
  }

  /** Waits for the pod to have processes. */
  static async of(
    server: Administered,
    clusterId: string,
    { namespace, name }: { readonly namespace: string; readonly name: string },
  ): Promise<PodProcesses> {
    const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
    return until(`pod ${namespace}/${name} to have processes`, START_LIMIT_MS, async () => {
      const pod = (await send(server, "GET", path)) as PodObject;
      const cgroup = findCgroup(clusterId, `pod${pod.metadata.uid}`);
      return cgroup === undefined ? undefined : new PodProcesses(pod, cgroup);
    });
  }

  /** Sends a signal, SIGKILL unless said, to every process of a container, the first by default. */
  kill(signal: NodeJS.Signals = "SIGKILL", container?: string): void {
    for (const pid of this.pids(container)) signalIfThere(pid, signal);
  }

  /** Every process of a container, the first by default, as the host counts them. */
  pids(container?: string): number[] {
    const name = container ?? this.#pod.spec.containers[0]?.name;
    const status = this.#pod.status.containerStatuses?.find((each) => each.name === name);
    const id = status?.containerID?.replace(/^.*\/\//, "");
    if (id === undefined) throw new Error(`Container "${name}" has not been started`);
    return processesOf(`${this.#cgroup}/${id}`);
  }

  /** It is Running and Ready, takes connections and never answers. */
  async freeze(): Promise<void> {
    await setFrozen(this.#cgroup, true);
  }
  async thaw(): Promise<void> {
    await setFrozen(this.#cgroup, false);
  }
}
