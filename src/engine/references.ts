import { type KindName, keyOf, keyText } from "../api/kinds.ts";
import type { Terraform } from "../api/terraform.ts";
import { dependsOn } from "../domain/dependants.ts";
import { sourceRefOf } from "./gather.ts";
import { referencedInputs } from "./inputs.ts";

/** Which objects refer to which: the source, the dependencies, and where inputs come from. */
export class References {
  readonly #byTarget = new Map<string, Set<string>>();
  readonly #targetsOf = new Map<string, readonly string[]>();

  put(terraform: Terraform): void {
    const key = keyText(keyOf(terraform));
    this.remove(key);
    const targets = targetsOf(terraform);
    this.#targetsOf.set(key, targets);
    for (const target of targets) {
      const users = this.#byTarget.get(target) ?? new Set();
      this.#byTarget.set(target, users.add(key));
    }
  }

  remove(key: string): void {
    for (const target of this.#targetsOf.get(key) ?? []) {
      const users = this.#byTarget.get(target);
      users?.delete(key);
      if (users?.size === 0) this.#byTarget.delete(target);
    }
    this.#targetsOf.delete(key);
  }

  /** Keys of the objects that refer to this one. */
  usersOf(kind: KindName, key: string): string[] {
    return [...(this.#byTarget.get(`${kind}/${key}`) ?? [])];
  }
}

function targetsOf(terraform: Terraform): string[] {
  const source = sourceRefOf(terraform);
  return [
    `${source.kind}/${keyText(source)}`,
    ...dependsOn(terraform).map((key) => `Terraform/${key}`),
    ...referencedInputs(terraform).map((each) => `${each.kind}/${keyText(each)}`),
  ];
}
