import { BOOT_ID, FENCED, NODE, OBJECT, OPERATION, RUN_LABEL } from "../../api/cluster-names.ts";
import type { ClusterObject } from "../../ports/cluster.ts";
import { isStoreError } from "../../ports/object-store.ts";
import { inForm } from "../commands/read.ts";
import { table } from "../views/table.ts";
import { CliError, EXIT } from "../world.ts";
import { condition, listAt, textAt } from "./fields.ts";
import type { ClusterContext } from "./parts.ts";

/** A run of which nobody has proof that it ended, on the node that is asked about. */
export interface WaitingRun {
  readonly runId: string;
  /** `namespace/name` of its Terraform object. */
  readonly object: string;
  readonly operation: string;
  readonly pod: string | undefined;
  /** That of the node at the runner's last sign of life, where it is known. */
  readonly bootId: string | undefined;
}

/** How long a node that is no more stands as an object, so that the controller sees it. */
const STANDS_MS = 30_000;
const LOOK_MS = 1_000;

/**
 * nigari fence NODE [--confirm]: a person vouches that nothing of this start of the node lives any
 * more. That is the proof for which runs on it wait; a wrong word lets an apply run twice.
 */
export async function fence(
  context: ClusterContext,
  name: string,
  { confirm }: { readonly confirm: boolean },
): Promise<number> {
  const { admin, call } = context;
  const node = await admin.get("Node", { name }, call());
  const runs = await waitingRuns(context, name, textAt(node, "status", "nodeInfo", "bootID"));
  if (node === undefined && runs.length === 0) {
    throw new CliError(
      EXIT.notFound,
      `Node ${name} not found, and no run waits for one of that name; "kubectl get nodes" lists ` +
        "what there is",
    );
  }
  const facts = factsOf(name, node, runs);
  if (facts.ready === "True") {
    throw new CliError(
      EXIT.failed,
      `Node ${name} is Ready, so what runs on it may write; there is nothing to vouch for. If it ` +
        "was just switched off, wait until the cluster says that it is not Ready",
    );
  }
  if (confirm) await vouch(context, facts, node === undefined);
  tell(context, facts, confirm);
  return EXIT.ok;
}

interface Facts {
  readonly node: string;
  readonly bootId: string;
  /** Status of the condition Ready; "gone": the cluster does not know the node any more. */
  readonly ready: string;
  readonly since: string | undefined;
  readonly runs: readonly WaitingRun[];
}

function factsOf(
  name: string,
  node: ClusterObject | undefined,
  runs: readonly WaitingRun[],
): Facts {
  if (node === undefined) {
    const ids = new Set(runs.map(({ bootId = "" }) => bootId));
    const [bootId = ""] = ids;
    return { node: name, bootId, ready: "gone", since: undefined, runs };
  }
  const ready = condition(node, "Ready");
  const since = textAt(ready, "lastTransitionTime");
  return {
    node: name,
    bootId: textAt(node, "status", "nodeInfo", "bootID"),
    ready: textAt(ready, "status") || "Unknown",
    since: since === "" ? undefined : since,
    runs,
  };
}

/** Runs whose pod is on the node and has not ended, and those whose pod is gone without a word. */
async function waitingRuns(
  { admin, call, shell }: ClusterContext,
  node: string,
  bootId: string,
): Promise<WaitingRun[]> {
  const pods = await admin.list("Pod", { labels: RUN_LABEL }, call());
  const secrets = await admin
    .list("Secret", { labels: RUN_LABEL, metadataOnly: true }, call())
    .catch((error: unknown) => {
      if (!isStoreError(error, "Forbidden")) throw error;
      shell.out.error(`Runs whose pod is gone are not seen: ${error.message}\n`);
      return [];
    });
  const runs = new Map<string, WaitingRun>();
  for (const secret of secrets) {
    if (secret.metadata.annotations?.[NODE] === node) runs.set(...runOf(secret, undefined));
  }
  for (const pod of pods) {
    if (textAt(pod, "spec", "nodeName") !== node) continue;
    const [runId, run] = runOf(pod, pod.metadata.name);
    if (hasEnded(pod)) runs.delete(runId);
    else runs.set(runId, { ...run, bootId: runs.get(runId)?.bootId });
  }
  // One of an earlier start of the node has its proof already.
  const open = [...runs.values()].filter(
    (each) => each.bootId === undefined || bootId === "" || each.bootId === bootId,
  );
  return open.sort((a, b) => (a.object < b.object ? -1 : 1));
}

function runOf({ metadata }: ClusterObject, pod: string | undefined): [string, WaitingRun] {
  const { namespace = "default", labels, annotations } = metadata;
  const runId = labels?.[RUN_LABEL] ?? "";
  const object = `${namespace}/${annotations?.[OBJECT] ?? "?"}`;
  const operation = annotations?.[OPERATION] ?? "run";
  return [runId, { runId, object, operation, pod, bootId: annotations?.[BOOT_ID] }];
}

/** By the kubelet's word on its container; a pod's phase is no proof. */
function hasEnded(pod: ClusterObject): boolean {
  return listAt(pod, "status", "containerStatuses").some(
    (each) =>
      textAt(each, "name") === "tf-runner" &&
      typeof each === "object" &&
      each !== null &&
      (each as { state?: { terminated?: unknown } }).state?.terminated !== undefined,
  );
}

async function vouch(context: ClusterContext, facts: Facts, isGone: boolean): Promise<void> {
  const { admin, call } = context;
  const { node: name, bootId } = facts;
  if (!isGone) {
    await admin.patch(
      "Node",
      { name },
      { metadata: { annotations: { [FENCED]: bootId } } },
      call(),
    );
    return;
  }
  // There is nothing to write it on, so an object stands for the node until it was read.
  const [first = "", ...others] = new Set(facts.runs.map((run) => run.bootId ?? ""));
  const made = await admin.create("Node", standIn(name, first), call());
  try {
    await untilFreed(context, facts, first);
    for (const each of others) {
      const metadata = { annotations: { [FENCED]: each } };
      await admin.patch("Node", { name }, { metadata }, call());
      await untilFreed(context, facts, each);
    }
  } finally {
    await admin.delete("Node", { name, uid: made.metadata.uid ?? "" }, call());
  }
}

function standIn(name: string, bootId: string): ClusterObject {
  return {
    ...{ apiVersion: "v1", kind: "Node" },
    metadata: { name, annotations: { [FENCED]: bootId } },
    // Nothing is placed on it meanwhile.
    spec: { unschedulable: true, taints: [{ key: FENCED, effect: "NoExecute" }] },
  };
}

async function untilFreed(
  { admin, shell, call }: ClusterContext,
  facts: Facts,
  bootId: string,
): Promise<void> {
  const untilMs = shell.clock.monotonic() + STANDS_MS;
  const those = facts.runs.filter((run) => (run.bootId ?? "") === bootId);
  const waited = new Set(those.map(({ runId }) => runId));
  while (shell.clock.monotonic() < untilMs && !shell.interrupted.aborted) {
    await shell.clock.sleep(LOOK_MS, shell.interrupted);
    const objects = await admin.list("Terraform", {}, call());
    if (!objects.some((each) => waited.has(textAt(each, "status", "run", "id")))) return;
  }
}

function tell({ shell, output }: ClusterContext, facts: Facts, done: boolean): void {
  const { out } = shell;
  if (output !== "table") {
    out.write(inForm(output, { ...facts, fenced: done }));
    return;
  }
  const { node, bootId, ready, since, runs } = facts;
  const state =
    ready === "gone" ? "is not known to the cluster any more" : `is not Ready (${ready})`;
  out.write(`Node ${node} ${state}${since === undefined ? "" : ` since ${since}`}.\n`);
  out.write(`Boot id of that start: ${bootId === "" ? "not known" : bootId}\n`);
  if (runs.length === 0) out.write("No run waits for a proof of its end.\n");
  else out.write(table(["OBJECT", "RUN", "OPERATION", "THEN"], runs.map(row)));
  if (done) {
    out.write("Vouched for: these runs count as ended, and the controller goes on with each.\n");
    return;
  }
  out.write(
    "\nNothing was done. Switch the machine off first, or see that it is off: if it lives, an " +
      `apply would be run twice. Then: nigari fence ${node} --confirm\n`,
  );
}

function row({ object, runId, operation }: WaitingRun): string[] {
  const then = operation === "apply" ? "its result is collected" : "a new attempt starts";
  return [object, runId, operation, then];
}
