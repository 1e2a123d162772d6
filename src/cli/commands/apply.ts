import { type Diagnostic, diagnosticText } from "../../api/diagnostic.ts";
import { keyOf } from "../../api/kinds.ts";
import { describeRef } from "../../ports/object-store.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../world.ts";

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
  for (const object of objects) {
    const outcome = await shell.applyObject(world.store, object, context.call());
    const name = describeRef({ kind: object.kind, ...keyOf(object) });
    shell.out.write(`${name} ${outcome}\n`);
  }
  return EXIT.ok;
}

function isError({ severity }: Diagnostic): boolean {
  return severity === "error";
}
