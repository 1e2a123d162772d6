import { keyText } from "../../../api/kinds.ts";
import { inForm } from "../../commands/read.ts";
import { table, wrap } from "../../views/table.ts";
import { EXIT } from "../../world.ts";
import { condition, textAt } from "../fields.ts";
import type { Leading } from "../leading.ts";
import type { ClusterContext } from "../parts.ts";
import { type MigrationFacts, readMigration } from "./facts.ts";
import { type Finding, judgeMigration } from "./judge.ts";
import {
  type Leftovers,
  ownLeftovers,
  type Removal,
  removalText,
  upstreamLeftovers,
} from "./leftovers.ts";
import { keyIn, statusWriter } from "./objects.ts";
import { lackingRights } from "./rights.ts";

/**
 * nigari migrate check: what stands in the way of a takeover, and what to know before it. Nothing
 * is changed. Exit code 1: something blocks; 2: something could not be read.
 */
export async function migrateCheck(context: ClusterContext, ours: unknown): Promise<number> {
  const facts = await readMigration(context);
  const findings = [
    ...judgeMigration(facts, ours),
    ...(await lackingRights(context)).map(
      (rule): Finding => ({
        ...{ weight: "care", code: "right-missing", about: "You" },
        says: `may not ${rule}, which "nigari migrate finish" needs`,
        mend: "do that with an account that may",
      }),
    ),
  ];
  const { shell, output, admin } = context;
  const blocked = findings.filter(({ weight }) => weight === "blocks").length;
  if (output === "table") shell.out.write(checkText(facts, findings, shell.out.columns));
  else {
    const { leading, gaps, terraforms } = facts;
    const counts = { objects: terraforms.length, blocked };
    shell.out.write(inForm(output, { cluster: admin.name, leading, ...counts, findings, gaps }));
  }
  if (blocked > 0) return EXIT.failed;
  return facts.gaps.length > 0 ? EXIT.incomplete : EXIT.ok;
}

function checkText(facts: MigrationFacts, findings: readonly Finding[], columns: number): string {
  const heads = {
    blocks: "In the way: mend it first",
    care: "To know before",
    note: "Nothing to do",
  } as const;
  const parts = (["blocks", "care", "note"] as const).flatMap((weight) => {
    const those = findings.filter((each) => each.weight === weight);
    if (those.length === 0) return [];
    const lines = those.map(({ about, says, mend, code }) =>
      wrap(`${about} ${says}: ${mend} [${code}]`, columns, "  "),
    );
    return [`${heads[weight]}:\n${lines.join("\n")}\n`];
  });
  const gaps = facts.gaps.map(({ what, why }) => wrap(`${what}: ${why}`, columns, "  "));
  const unread = gaps.length === 0 ? [] : [`Could not be read:\n${gaps.join("\n")}\n`];
  const head = `${facts.terraforms.length} Terraform objects; ${leadingText(facts.leading)}.\n`;
  return [head, ...parts, ...unread].join("\n");
}

function leadingText(leading: Leading): string {
  switch (leading.is) {
    case "nigari":
    case "tofu-controller":
      return `${leading.is} leads (${leading.identity})`;
    case "nobody":
      return "no controller leads";
    case "unknown":
      return "who leads could not be read";
  }
}

/** nigari migrate status: whose each object is now. Exit code 1: not all are Nigari's. */
export async function migrateStatus(context: ClusterContext): Promise<number> {
  const facts = await readMigration(context);
  const { shell, output, admin } = context;
  const objects = facts.terraforms.map((each) => {
    const ready = condition(each, "Ready");
    return {
      ...keyIn(each),
      owner: ownerName(statusWriter(each)),
      ready: textAt(ready, "status") || "Unknown",
      reason: textAt(ready, "reason"),
      message: textAt(ready, "message").split("\n")[0] ?? "",
    };
  });
  const own = objects.filter(({ owner }) => owner === "nigari").length;
  if (output !== "table") {
    const { leading, gaps } = facts;
    shell.out.write(inForm(output, { cluster: admin.name, leading, own, objects, gaps }));
  } else {
    const rows = objects.map((each) => [keyText(each), each.owner, each.ready, each.reason]);
    shell.out.write(table(["OBJECT", "WHOSE", "READY", "REASON"], rows));
    shell.out.write(`${own} of ${objects.length} are Nigari's; ${leadingText(facts.leading)}.\n`);
  }
  if (facts.gaps.length > 0) return EXIT.incomplete;
  return own === objects.length ? EXIT.ok : EXIT.failed;
}

/** By the field manager that wrote the status last. */
function ownerName(manager: string | undefined): string {
  if (manager === undefined) return "nobody";
  if (manager.startsWith("nigari")) return "nigari";
  return manager === "tf-controller" ? "tofu-controller" : manager;
}

export interface RemovalFlags {
  readonly confirm: boolean;
}

/**
 * nigari migrate finish [--confirm]: removes what tofu-controller left, once it is stopped: TLS
 * Secrets, runner pods in which nothing can be applied any more, finalizers that nobody needs.
 */
export async function migrateFinish(context: ClusterContext, flags: RemovalFlags): Promise<number> {
  const facts = await readMigration(context);
  return removeAll(context, upstreamLeftovers(facts), { ...flags, verb: "finish" });
}

/**
 * nigari migrate back [--confirm]: takes away what would keep tofu-controller from taking over
 * again, once Nigari's controller is stopped. States, plans, outputs and objects stay as they are.
 */
export async function migrateBack(context: ClusterContext, flags: RemovalFlags): Promise<number> {
  const facts = await readMigration(context);
  return removeAll(context, ownLeftovers(facts), { ...flags, verb: "back" });
}

async function removeAll(
  context: ClusterContext,
  { refusals, remove, kept }: Leftovers,
  { confirm, verb }: RemovalFlags & { readonly verb: string },
): Promise<number> {
  const { shell, output, admin } = context;
  const may = refusals.length === 0;
  if (may && confirm) for (const each of remove) await carryOut(context, each);
  const done = may && confirm;
  if (output !== "table") {
    const what = { refusals, remove: remove.map(removalText), kept, done };
    shell.out.write(inForm(output, { cluster: admin.name, ...what }));
    return may ? EXIT.ok : EXIT.failed;
  }
  for (const each of remove) shell.out.write(`${done ? "done" : "would"}: ${removalText(each)}\n`);
  for (const { about, why } of kept) shell.out.write(`kept: ${about}, for ${why}\n`);
  for (const each of refusals) shell.out.error(`not now: ${each}\n`);
  if (!may) shell.out.error("Nothing was removed.\n");
  else if (remove.length === 0) shell.out.write("Nothing is left behind.\n");
  else if (!confirm) {
    shell.out.write(`\nNothing was removed. To do it: nigari migrate ${verb} --confirm\n`);
  }
  return may ? EXIT.ok : EXIT.failed;
}

async function carryOut({ admin, call }: ClusterContext, removal: Removal): Promise<void> {
  const { kind, object } = removal;
  const { namespace, name, uid = "", resourceVersion } = object.metadata;
  if (removal.does === "delete") {
    await admin.delete(kind, { namespace, name, uid }, call());
    return;
  }
  const finalizers = (object.metadata.finalizers ?? []).filter(
    (each) => !removal.finalizers.includes(each),
  );
  // With the version that was read: somebody may just add another.
  const metadata = { finalizers, resourceVersion };
  await admin.patch(kind, { namespace, name }, { metadata }, call());
}
