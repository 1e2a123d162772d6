import { gunzipSync } from "node:zlib";
import { type Context, keyIn, mustGet } from "../context.ts";
import { CliError, EXIT } from "../world.ts";

/** Key of the plan Secret that holds the plan as people read it, gzipped. */
export const READABLE_KEY = "tfplan.txt";
const PLAN_NAME = "infra.contrib.fluxcd.io/plan-full-name";

/** nigari plan show NAME: the pending plan, as tofu shows it (sensitive values hidden by tofu). */
export async function planShow(context: Context, name: string): Promise<number> {
  const object = await mustGet(context, "Terraform", name);
  const pending = object.status?.plan?.pending ?? "";
  if (pending === "") {
    throw new CliError(
      EXIT.failed,
      `No plan is pending for ${name}; "nigari describe ${name}" says why`,
    );
  }
  const { namespace, name: bare } = keyIn(context, name);
  const { items } = await context.world.store.list("Secret", { namespace }, context.call());
  const secret = items.find(
    ({ metadata, data }) =>
      metadata.annotations?.[PLAN_NAME] === bare &&
      metadata.annotations.savedPlan === pending &&
      data?.[READABLE_KEY] !== undefined,
  );
  const text = secret?.data?.[READABLE_KEY];
  if (text === undefined) {
    throw new CliError(
      EXIT.incomplete,
      `The plan ${pending} is not stored in a readable form; "nigari reconcile ${name}" plans anew`,
    );
  }
  const { out } = context.shell;
  out.write(`${gunzipSync(Buffer.from(text, "base64")).toString("utf8").trimEnd()}\n`);
  out.write(`\nApprove exactly this plan:  nigari approve ${name} ${pending}\n`);
  return EXIT.ok;
}
