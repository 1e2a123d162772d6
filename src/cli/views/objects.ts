import type { AnyObject, KindName } from "../../api/kinds.ts";
import { CONDITION } from "../../api/names.ts";
import type { Terraform } from "../../api/terraform.ts";
import { ageSince, conditionOf, statusWord } from "./status.ts";
import { type Colour, cut, paint, table } from "./table.ts";

export interface ListView {
  readonly nowMs: number;
  readonly allNamespaces: boolean;
  readonly columns: number;
  readonly colours: boolean;
}

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
  return table(
    [...(namespaced ? ["NAMESPACE"] : []), "NAME", ...heads, "AGE"],
    objects.map((object) => [
      ...(namespaced ? [object.metadata.namespace ?? ""] : []),
      object.metadata.name,
      ...row(object),
      ageSince(object.metadata.creationTimestamp, view.nowMs),
    ]),
  );
}

interface Columns {
  readonly heads: readonly string[];
  readonly row: (object: AnyObject) => readonly string[];
}

function columnsOf(kind: KindName, view: ListView): Columns {
  if (kind === "Terraform") {
    return {
      heads: ["READY", "STATUS", "PLAN", "MESSAGE"],
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
  const room = Math.max(30, view.columns - 75);
  return [
    ready?.status ?? "Unknown",
    paint(view.colours, MOOD[mood] ?? "dim", word),
    object.status?.plan?.pending ?? "",
    cut((ready?.message ?? "").split("\n")[0] ?? "", room),
  ];
}

/** A copy for people and files: no managedFields; values of Secrets hidden unless asked for. */
export function shown(object: AnyObject, reveal: boolean): AnyObject {
  const copy = structuredClone(object);
  delete copy.metadata.managedFields;
  if (copy.kind === "Secret" && !reveal) {
    for (const part of [copy.data, copy.stringData]) {
      for (const key of Object.keys(part ?? {})) if (part !== undefined) part[key] = "***";
    }
  }
  return copy;
}
