import type { Call } from "../../ports/call.ts";
import { ApiError } from "./api-error.ts";
import type { Connection } from "./connection.ts";
import type { FormerRunner } from "./states/locks.ts";

const LOOK_MS = 10_000;
const CONTAINER = "tf-runner";

interface Pod {
  readonly status?: {
    readonly startTime?: string;
    readonly containerStatuses?: readonly {
      readonly name: string;
      readonly state?: { readonly terminated?: object; readonly running?: { startedAt?: string } };
    }[];
  };
}

/**
 * How it is known that a runner pod of tofu-controller has gone since it took a lock, as words that
 * follow "its runner"; undefined: it may live. Asked of locks of plans alone, which write nothing.
 */
export async function formerRunnerGone(
  connection: Connection,
  { namespace, pod: name, since }: FormerRunner,
  call: Call,
): Promise<string | undefined> {
  const pods = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
  const path = `${pods}/${encodeURIComponent(name)}`;
  const pod = await connection
    .json({ path, limitMs: LOOK_MS }, call)
    .then(({ value }) => value as Pod)
    .catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    });
  if (pod === undefined) return "has no pod any more";
  const container = pod.status?.containerStatuses?.find((each) => each.name === CONTAINER);
  if (container?.state?.terminated !== undefined) return "has ended";
  const startedAt = container?.state?.running?.startedAt ?? pod.status?.startTime;
  const isAnother = startedAt !== undefined && Date.parse(startedAt) > Date.parse(since);
  return isAnother ? `was started anew at ${startedAt}` : undefined;
}
