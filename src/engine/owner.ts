import { kinds } from "../api/kinds.ts";
import type { ObjectMeta } from "../api/meta.ts";
import type { Terraform } from "../api/terraform.ts";

type OwnerReference = NonNullable<ObjectMeta["ownerReferences"]>[number];

/** A reference that lets the object be collected with its Terraform. */
export function ownedBy(terraform: Terraform, controller: boolean): OwnerReference {
  return {
    apiVersion: kinds.Terraform.apiVersion,
    kind: "Terraform",
    name: terraform.metadata.name,
    uid: terraform.metadata.uid ?? "",
    ...(controller ? { controller } : {}),
  };
}

export function isOwnedBy(metadata: ObjectMeta, terraform: Terraform): boolean {
  return (metadata.ownerReferences ?? []).some(
    (owner) => owner.kind === "Terraform" && owner.uid === terraform.metadata.uid,
  );
}

/** Who an object belongs to, for people. */
export function ownerText(metadata: ObjectMeta): string {
  const owners = metadata.ownerReferences ?? [];
  const owner = owners.find((each) => each.controller === true) ?? owners[0];
  return owner === undefined ? "whoever made it by hand" : `${owner.kind}/${owner.name}`;
}
