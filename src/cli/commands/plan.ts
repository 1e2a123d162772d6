import { gunzipSync } from "node:zlib";
import type { Secret } from "../../api/core.ts";
import { type Context, keyIn, mustGet } from "../context.ts";
import { CliError, EXIT } from "../world.ts";

const PLAN_NAME = "infra.contrib.fluxcd.io/plan-full-name";
const PLAN_CHUNK = "infra.contrib.fluxcd.io/plan-chunk";
const TEXT_BYTES_MAX = 64 * 1024 * 1024;

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
  const pieces = items
    .filter(({ metadata: { annotations } }) => {
      return annotations?.[PLAN_NAME] === `${bare}.txt` && annotations.savedPlan === pending;
    })
    .sort((a, b) => chunkOf(a) - chunkOf(b));
  if (pieces.length === 0) {
    throw new CliError(
      EXIT.incomplete,
      `The plan ${pending} is not stored in a readable form; "nigari reconcile ${name}" plans anew`,
    );
  }
  const packed = Buffer.concat(pieces.map(({ data }) => Buffer.from(data?.tfplan ?? "", "base64")));
  const text = gunzipSync(packed, { maxOutputLength: TEXT_BYTES_MAX }).toString("utf8");
  const { out } = context.shell;
  out.write(`${text.trimEnd()}\n`);
  out.write(`\nApprove exactly this plan:  nigari approve ${name} ${pending}\n`);
  return EXIT.ok;
}

function chunkOf({ metadata }: Secret): number {
  return Number(metadata.annotations?.[PLAN_CHUNK] ?? "0");
}
