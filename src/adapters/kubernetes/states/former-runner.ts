import type { Call } from "../../../ports/call.ts";
import { ApiError } from "../api-error.ts";
import type { Connection } from "../connection.ts";
import { pathOf } from "../resources.ts";
import type { FormerRunner } from "./locks.ts";

const REQUEST_MS = 10_000;

interface Pod {
  readonly metadata: { readonly creationTimestamp?: string };
  readonly status?: {
    readonly containerStatuses?: readonly {
      readonly name: string;
      readonly state?: {
        readonly running?: { readonly startedAt?: string };
        readonly terminated?: object;
      };
    }[];
  };
}

/**
 * How it is known that tofu-controller's runner, which took a lock then, has gone since; undefined:
 * it may live. Fails with ApiError where the cluster cannot be asked.
 */
export async function formerRunnerGone(
  connection: Connection,
  { namespace, pod, since }: FormerRunner,
  call: Call,
): Promise<string | undefined> {
  const path = `${pathOf({ group: "", plural: "pods" }, "v1", namespace)}/${pod}`;
  try {
    const { value } = await connection.json({ path, limitMs: REQUEST_MS }, call);
    return goneSince(value as Pod, pod, since);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return `${pod} does not exist any more`;
    throw error;
  }
}

/** A pod's times are whole seconds: one that is the same second proves nothing. */
export function goneSince(found: Pod, pod: string, since: string): string | undefined {
  const takenMs = Date.parse(since);
  const isLater = (time = "") => Date.parse(time) > takenMs;
  if (isLater(found.metadata.creationTimestamp)) return `${pod} was made anew since`;
  const container = found.status?.containerStatuses?.find(({ name }) => name === "tf-runner");
  if (container?.state?.terminated !== undefined) return `${pod} has ended`;
  if (isLater(container?.state?.running?.startedAt)) return `${pod} was started anew since`;
  return undefined;
}
