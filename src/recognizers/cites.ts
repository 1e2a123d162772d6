import type { LogLine } from "../evidence/model.ts";
import type { CallView } from "../evidence/parked.ts";
import type { NodeView, PodView } from "../evidence/pods.ts";
import { redactText } from "../evidence/redaction.ts";
import type { TerraformView } from "../evidence/terraforms.ts";
import type { WorkersView } from "../evidence/workers.ts";
import type { Cite } from "./define.ts";
import { clock, span, stamp } from "./words.ts";

/** Citations in one form, so that a reader can look each claim up. */

export function citeReady(object: TerraformView): Cite {
  const { ready } = object;
  const since = ready?.sinceMs === undefined ? "" : ` since ${stamp(ready.sinceMs)}`;
  const message = oneLine(ready?.message ?? "", 100);
  const says = `${object.ref} Ready=${ready?.status ?? "absent"} "${message}"${since}`;
  return { says, place: object.place };
}

export function citePod(pod: PodView, says?: string): Cite {
  return { says: says ?? `Pod ${pod.key} is ${pod.phase}`, place: pod.place };
}

export function citeNode(node: NodeView): Cite {
  const since = node.readySinceMs === undefined ? "" : ` since ${stamp(node.readySinceMs)}`;
  return { says: `Node ${node.name} Ready=${node.ready}${since}`, place: node.place };
}

export function citeLine(line: LogLine, before = ""): Cite {
  const error = line.error === undefined ? "" : `: ${line.error}`;
  const says = `${before}${stamp(line.atMs)} "${oneLine(line.message + error, 160)}"`;
  return { says, place: line.place };
}

export function citeWorkers(workers: WorkersView): Cite {
  const longest =
    workers.longestMs === undefined ? "" : `, the longest pass runs for ${span(workers.longestMs)}`;
  const says = `${workers.active} of ${workers.maximum} workers are active${longest}`;
  return { says, place: workers.place };
}

export function citeLeader({ leader }: CallView): Cite[] {
  if (leader === undefined) return [];
  const { pod, startedMs } = leader.controller;
  const since = startedMs === undefined ? "" : `, which began at ${clock(startedMs)}`;
  const how = leader.by === "lease" ? "holds the leader Lease" : "leads";
  const place = leader.lease?.place ?? pod.place;
  return [{ says: `${pod.key} ${how}${since}`, place }];
}

/**
 * Text of evidence on one line: cut, without what a terminal could take for a command, and without
 * what may be a secret.
 */
export function oneLine(text: string, limit: number): string {
  const plain = redactText(
    text
      .slice(0, LOOK_CHARACTERS)
      .replace(/\p{Cc}+/gu, " ")
      .trim(),
  );
  return plain.length > limit ? `${plain.slice(0, limit - 1)}…` : plain;
}

const LOOK_CHARACTERS = 4_000;
