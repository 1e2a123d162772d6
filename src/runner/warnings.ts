import { readdir } from "node:fs/promises";
import { listOf, recordOf } from "./results.ts";

// What hinders no run and still is seldom meant: OpenTofu calls all of it "no changes".

/** Links named at most; a source with more of them says the same. */
export const LINKS_NAMED = 5;

export function linkLeftOut(link: string): string {
  return `${JSON.stringify(link)} leads out of the artifact and was left out of it`;
}

export function noModule(path: string): string {
  return (
    `spec.path "${path}" holds no file of OpenTofu (*.tf, *.tofu, main.tf.tpl), so the plan is ` +
    "of an empty module"
  );
}

export function noTarget(target: string): string {
  return `spec.targets: the module has no "${target}", so nothing is planned for it`;
}

/** Whether OpenTofu finds anything to read in a folder. */
export async function holdsModule(folder: string): Promise<boolean> {
  const names = await readdir(folder);
  return names.some((name) => /\.(?:tf|tofu)(?:\.json)?$/.test(name) || name === "main.tf.tpl");
}

/** Targets that name nothing in the configuration that a plan's JSON tells of. */
export function targetsOfNothing(planJson: unknown, targets: readonly string[]): string[] {
  const root = recordOf(recordOf(recordOf(planJson).configuration).root_module);
  return targets.filter((target) => !isIn(root, withoutKeys(target)));
}

/** Keys of instances say nothing of whether there is such a resource. */
function withoutKeys(target: string): string {
  return target.replaceAll(/\[(?:"(?:[^"\\]|\\.)*"|[^\]]*)\]/g, "");
}

function isIn(module: Record<string, unknown>, address: string): boolean {
  const [, name, rest = ""] = /^module\.([^.]+)(?:\.(.+))?$/.exec(address) ?? [];
  if (name === undefined) {
    return listOf(module.resources).some((each) => recordOf(each).address === address);
  }
  const called = recordOf(module.module_calls)[name];
  if (called === undefined) return false;
  return rest === "" || isIn(recordOf(recordOf(called).module), rest);
}
