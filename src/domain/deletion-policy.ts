import { DELETION_POLICY } from "../api/names.ts";
import type { Terraform } from "../api/terraform.ts";

/**
 * What a person has said, beside the spec, of the resources of an object that is deleted: "orphan"
 * leaves them. Undefined: nothing; any other text is a slip, and nothing is destroyed on one.
 */
export function deletionPolicy(terraform: Terraform): string | undefined {
  return terraform.metadata.annotations?.[DELETION_POLICY];
}

export function leavesResources(terraform: Terraform): boolean {
  return deletionPolicy(terraform) === "orphan";
}
