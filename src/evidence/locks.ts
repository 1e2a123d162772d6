import type { LeaseView } from "./controllers.ts";
import { text } from "./fields.ts";
import type { Place } from "./model.ts";
import type { TerraformView } from "./terraforms.ts";

/** A state lock that somebody holds. */
export interface LockView {
  readonly id: string;
  /** `Apply`, `Plan`, …; undefined if the lock does not say. */
  readonly operation: string | undefined;
  /** `user@host`. */
  readonly who: string | undefined;
  /** The host part of who: of a runner the name of its pod. */
  readonly host: string | undefined;
  readonly createdMs: number | undefined;
  readonly namespace: string;
  /** `namespace/name` of the Terraform objects whose state it locks. */
  readonly objects: readonly string[];
  /** Somebody was refused for it, by the status. */
  readonly refused: boolean;
  /** Where it was seen: the Lease itself, or only a refusal. */
  readonly by: "lease" | "refusal";
  /** Its Lease, which would say whether it was released since the refusal, could not be read. */
  readonly leaseUnread: boolean;
  readonly place: Place;
}

/** Locks held now: of the Kubernetes backend by Lease, of others by what a refused pass says. */
export function locksOf(
  leases: readonly LeaseView[] | undefined,
  terraforms: readonly TerraformView[],
): LockView[] {
  const byLease = (leases ?? []).flatMap((lease) => lockOfLease(lease, terraforms));
  const known = new Set(byLease.map((each) => each.id));
  const byRefusal = terraforms.flatMap((object) => {
    const lock = lockOfRefusal(object);
    if (lock === undefined || known.has(lock.id)) return [];
    return [{ ...lock, leaseUnread: leases === undefined && !object.ownBackend }];
  });
  if (leases === undefined) return byRefusal;
  // A lock of the Kubernetes backend that has no Lease any more was released since.
  const released = byRefusal.filter(
    (lock) => !leases.some((lease) => lease.key === leaseKey(lock.objects[0], terraforms)),
  );
  return [...byLease, ...released];
}

function leaseKey(key: string | undefined, terraforms: readonly TerraformView[]) {
  const object = terraforms.find((each) => each.key === key);
  if (object === undefined) return undefined;
  return `${object.namespace}/lock-tfstate-${object.workspace}-${object.secretSuffix}`;
}

function lockOfLease(lease: LeaseView, terraforms: readonly TerraformView[]): LockView[] {
  if (!lease.name.startsWith("lock-tfstate-") || lease.holder === undefined) return [];
  const info = parsed(lease.annotations["app.terraform.io/lock-info"]);
  const suffix = lease.labels.tfstateSecretSuffix;
  const workspace = lease.labels.tfstateWorkspace;
  const objects = terraforms.filter(
    (each) =>
      each.namespace === lease.namespace &&
      (suffix === undefined
        ? lease.name === `lock-tfstate-${each.workspace}-${each.secretSuffix}`
        : each.secretSuffix === suffix && each.workspace === (workspace ?? "default")),
  );
  const id = text(info.ID) ?? lease.holder;
  return [
    {
      id,
      ...whoOf(text(info.Who)),
      operation: operationOf(text(info.Operation)),
      createdMs: createdMs(text(info.Created)),
      namespace: lease.namespace,
      objects: objects.map((each) => each.key),
      refused: objects.some((each) => refusedFor(each, id)),
      ...{ by: "lease", leaseUnread: false },
      place: lease.place,
    },
  ];
}

/** The "Lock Info" block in Ready's message, while the refusal is what holds the object up. */
function lockOfRefusal(object: TerraformView): Omit<LockView, "leaseUnread"> | undefined {
  const message = object.ready?.status === "False" ? object.ready.message : "";
  const info = /Lock Info:([\s\S]*)$/.exec(message)?.[1];
  const id = /\bID:\s+(\S+)/.exec(info ?? "")?.[1];
  if (info === undefined || id === undefined) return undefined;
  const value = (name: string) => new RegExp(`\\b${name}:[ \\t]+(\\S[^\\n]*)`).exec(info)?.[1];
  return {
    id,
    ...whoOf(value("Who")),
    operation: operationOf(value("Operation")),
    createdMs: createdMs(value("Created")),
    namespace: object.namespace,
    objects: [object.key],
    refused: true,
    by: "refusal",
    place: object.place,
  };
}

function refusedFor(object: TerraformView, id: string): boolean {
  if (object.ready?.status === "False" && object.ready.message.includes(id)) return true;
  return object.stateLocked?.status === "True" && object.stateLocked.message.includes(id);
}

function whoOf(who: string | undefined): Pick<LockView, "who" | "host"> {
  const host = who?.includes("@") === true ? who.slice(who.lastIndexOf("@") + 1) : undefined;
  return { who, host };
}

const operationOf = (text: string | undefined) => text?.trim().replace(/^OperationType/, "");

/** Go writes `2026-11-30 10:29:34.33 +0000 UTC`, JSON the RFC 3339 form. */
function createdMs(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const go = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?) ([+-]\d\d)(\d\d)/.exec(value);
  const ms = Date.parse(go === null ? value : `${go[1]}T${go[2]}${go[3]}:${go[4]}`);
  return Number.isNaN(ms) ? undefined : ms;
}

function parsed(value: string | undefined): Record<string, unknown> {
  try {
    const found: unknown = JSON.parse(value ?? "");
    return typeof found === "object" && found !== null ? (found as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
