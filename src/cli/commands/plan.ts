import { gunzipSync } from "node:zlib";
import type { Secret } from "../../api/core.ts";
import { keyOf } from "../../api/kinds.ts";
import { type Context, mustGet, wordIn } from "../context.ts";
import { CliError, EXIT } from "../world.ts";
import { print } from "./read.ts";

const PLAN_NAME = "infra.contrib.fluxcd.io/plan-full-name";
const PLAN_CHUNK = "infra.contrib.fluxcd.io/plan-chunk";
const PLAN_LABEL = "infra.contrib.fluxcd.io/plan-name";
/** With ".txt" behind it, it still is a label's value. */
const NAME_MAX = 59;
const TEXT_BYTES_MAX = 64 * 1024 * 1024;

/** nigari plan show NAME: the pending plan, as tofu shows it (sensitive values hidden by tofu). */
export async function planShow(context: Context, name: string): Promise<number> {
  const object = await mustGet(context, "Terraform", name);
  const word = wordIn(context, keyOf(object));
  const plan = object.status?.plan;
  const pending = plan?.pending ?? "";
  if (pending === "") {
    throw new CliError(
      EXIT.failed,
      `No plan is pending for ${word}; "nigari describe ${word}" says why`,
    );
  }
  const { namespace, name: bare } = keyOf(object);
  // Of a longer name the label holds a digest; then all are looked through.
  const labels = bare.length <= NAME_MAX ? { [PLAN_LABEL]: `${bare}.txt` } : {};
  const where = { namespace, labels };
  const { items } = await context.world.store.list("Secret", where, context.call());
  const pieces = items
    .filter(({ metadata: { annotations, ownerReferences } }) => {
      const isItsOwn = ownerReferences?.some(({ uid }) => uid === object.metadata.uid) === true;
      const isText = annotations?.[PLAN_NAME] === `${bare}.txt`;
      return isItsOwn && isText && annotations?.savedPlan === pending;
    })
    .sort((a, b) => chunkOf(a) - chunkOf(b));
  if (pieces.length === 0) {
    throw new CliError(
      EXIT.incomplete,
      `The plan ${pending} is not stored in a readable form; "nigari reconcile ${word}" plans anew`,
    );
  }
  const packed = Buffer.concat(pieces.map(({ data }) => Buffer.from(data?.tfplan ?? "", "base64")));
  const text = gunzipSync(packed, { maxOutputLength: TEXT_BYTES_MAX }).toString("utf8");
  const { out } = context.shell;
  if (context.flags.output !== "table") {
    print(context, { namespace, name: bare, plan: pending, summary: plan?.summary, text });
    return EXIT.ok;
  }
  out.write(`${text.trimEnd()}\n`);
  out.write(`\nApprove exactly this plan:  nigari approve ${word} ${pending}\n`);
  return EXIT.ok;
}

function chunkOf({ metadata }: Secret): number {
  return Number(metadata.annotations?.[PLAN_CHUNK] ?? "0");
}
