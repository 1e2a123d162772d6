import type { Event } from "../../api/core.ts";
import type { AnyObject, KindName } from "../../api/kinds.ts";
import { CONDITION } from "../../api/names.ts";
import type { Terraform } from "../../api/terraform.ts";
import { ageSince, conditionOf, statusWord } from "./status.ts";
import { type Colour, paint, table } from "./table.ts";

export interface ListView {
  readonly nowMs: number;
  readonly allNamespaces: boolean;
  readonly columns: number;
  readonly colours: boolean;
}

const MESSAGE = "MESSAGE";

const MOOD: Record<string, Colour> = {
  good: "green",
  bad: "red",
  waiting: "yellow",
  moving: "cyan",
};

/** A list of objects of one kind, as a table. */
export function listView(kind: KindName, objects: readonly AnyObject[], view: ListView): string {
  const { heads, row } = columnsOf(kind, view);
  const namespaced = view.allNamespaces;
  // What may be long comes last, where it pushes nothing aside.
  const ordered = (cells: readonly string[], age: string) =>
    heads.at(-1) === MESSAGE ? [...cells.slice(0, -1), age, cells.at(-1) ?? ""] : [...cells, age];
  return table(
    [...(namespaced ? ["NAMESPACE"] : []), "NAME", ...ordered(heads, "AGE")],
    objects.map((object) => [
      ...(namespaced ? [object.metadata.namespace ?? ""] : []),
      object.metadata.name,
      ...ordered(row(object), ageSince(object.metadata.creationTimestamp, view.nowMs)),
    ]),
    { head: MESSAGE, columns: view.columns },
  );
}

interface Columns {
  readonly heads: readonly string[];
  readonly row: (object: AnyObject) => readonly string[];
}

function columnsOf(kind: KindName, view: ListView): Columns {
  if (kind === "Terraform") {
    return {
      heads: ["READY", "STATUS", "PLAN", MESSAGE],
      row: (object) => (object.kind === "Terraform" ? terraformRow(object, view) : []),
    };
  }
  if (kind === "GitRepository" || kind === "OCIRepository" || kind === "Bucket") {
    return {
      heads: ["READY", "REVISION"],
      row: (object) => {
        if (!("status" in object) || object.kind === "Terraform") return ["", ""];
        const ready = object.status?.conditions?.find((each) => each.type === CONDITION.ready);
        return [
          ready?.status ?? "Unknown",
          object.status?.artifact?.revision ?? ready?.message ?? "",
        ];
      },
    };
  }
  if (kind === "Event") {
    return {
      heads: ["TYPE", "REASON", "OBJECT", MESSAGE],
      row: (object) => (object.kind === "Event" ? eventRow(object) : []),
    };
  }
  if (kind === "Lease") {
    return {
      heads: ["HOLDER"],
      row: (object) => [object.kind === "Lease" ? (object.spec?.holderIdentity ?? "") : ""],
    };
  }
  return {
    heads: ["KEYS"],
    row: (object) => [
      "data" in object && object.data !== undefined ? Object.keys(object.data).join(",") : "",
    ],
  };
}

function terraformRow(object: Terraform, view: ListView): readonly string[] {
  const ready = conditionOf(object, CONDITION.ready);
  const { word, mood } = statusWord(object);
  return [
    ready?.status ?? "Unknown",
    paint(view.colours, MOOD[mood] ?? "dim", word),
    object.status?.plan?.pending ?? "",
    (ready?.message ?? "").split("\n")[0] ?? "",
  ];
}

function eventRow({ type, reason, count, involvedObject, message }: Event): readonly string[] {
  const times = (count ?? 1) > 1 ? ` (x${count})` : "";
  const object = `${involvedObject.kind}/${involvedObject.name}`;
  return [type ?? "", `${reason ?? ""}${times}`, object, (message ?? "").split("\n")[0] ?? ""];
}

/** A copy for people and files: no managedFields; values of Secrets hidden unless asked for. */
export function shown(object: AnyObject, reveal: boolean): AnyObject {
  const { apiVersion, kind, metadata, ...rest } = structuredClone(object);
  // The order in which people write them.
  const copy = { apiVersion, kind, metadata, ...rest } as AnyObject;
  delete copy.metadata.managedFields;
  if (copy.kind === "Secret" && !reveal) {
    for (const part of [copy.data, copy.stringData]) {
      for (const key of Object.keys(part ?? {})) if (part !== undefined) part[key] = "***";
    }
  }
  return copy;
}
