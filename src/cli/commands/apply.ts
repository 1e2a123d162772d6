import { type Diagnostic, diagnosticText } from "../../api/diagnostic.ts";
import { type KindName, keyOf } from "../../api/kinds.ts";
import { describeRef } from "../../ports/object-store.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../world.ts";
import { print } from "./read.ts";

/** nigari apply -f FILE|FOLDER|-: nothing is written if any manifest is wrong. */
export async function apply(context: Context, paths: readonly string[]): Promise<number> {
  const { shell, world, flags } = context;
  const { objects, diagnostics } = await shell.readManifests(
    paths,
    flags.namespace,
    context.call(),
  );
  for (const each of diagnostics) shell.out.error(`${diagnosticText(each)}\n`);
  if (diagnostics.some(isError)) {
    shell.out.error("nigari: nothing was applied\n");
    return EXIT.failed;
  }
  if (objects.length === 0) shell.out.error(`No objects in ${paths.join(", ")}\n`);
  const outcomes: { kind: KindName; namespace: string; name: string; outcome: string }[] = [];
  for (const object of objects) {
    const outcome = await shell.applyObject(world.store, object, context.call());
    const ref = { kind: object.kind, ...keyOf(object) };
    outcomes.push({ ...ref, outcome });
    if (flags.output === "table") shell.out.write(`${describeRef(ref)} ${outcome}\n`);
  }
  if (flags.output !== "table") print(context, outcomes);
  return EXIT.ok;
}

function isError({ severity }: Diagnostic): boolean {
  return severity === "error";
}
