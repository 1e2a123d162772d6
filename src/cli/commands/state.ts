import { keyOf } from "../../api/kinds.ts";
import { ACCEPT_STATE, REQUESTED_AT } from "../../api/names.ts";
import type { StateId, StatePush } from "../../ports/state.ts";
import { type Context, change, keyIn, mustGet, wordIn } from "../context.ts";
import { ageSince } from "../views/status.ts";
import { table } from "../views/table.ts";
import { CliError, EXIT } from "../world.ts";
import { noEngine } from "./act.ts";
import { print } from "./read.ts";

/** nigari state list [NAME] */
export async function stateList(
  context: Context,
  name: string | undefined,
  flags: { readonly workspace: string | undefined },
): Promise<number> {
  if (name !== undefined) return versionsOf(context, await idOf(context, name, flags.workspace));
  const states = await context.world.state.list(context.call());
  if (context.flags.output !== "table") {
    print(context, states);
    return EXIT.ok;
  }
  const now = context.shell.clock.now();
  const rows = states.map((each) => [
    `${each.namespace}/${each.name}`,
    each.workspace,
    String(each.serial),
    each.lock === undefined ? "" : `${each.lock.operation} ${each.lock.id}`,
    each.rescued.map(({ id }) => id).join(","),
    ageSince(each.updatedAt, now),
  ]);
  context.shell.out.write(
    table(["OBJECT", "WORKSPACE", "SERIAL", "LOCK", "KEPT ASIDE", "WRITTEN"], rows),
  );
  return EXIT.ok;
}

/** nigari state history NAME: every version that is kept, newest first. */
export async function stateHistory(
  context: Context,
  name: string,
  flags: { readonly workspace: string | undefined },
): Promise<number> {
  return versionsOf(context, await idOf(context, name, flags.workspace));
}

async function versionsOf(context: Context, id: StateId): Promise<number> {
  const versions = await context.world.state.versions(id, context.call());
  if (versions.length === 0) throw noState(id);
  if (context.flags.output !== "table") {
    print(context, versions);
    return EXIT.ok;
  }
  const now = context.shell.clock.now();
  const rows = versions.map((each) => [
    each.id,
    String(each.serial),
    each.resources === undefined ? "?" : String(each.resources),
    KEPT[each.kept],
    each.runId ?? "by hand",
    String(each.sizeBytes),
    ageSince(each.at, now),
  ]);
  context.shell.out.write(
    table(["ID", "SERIAL", "RESOURCES", "KEPT", "WRITTEN BY", "BYTES", "AGE"], rows),
  );
  return EXIT.ok;
}

const KEPT = { current: "current", history: "history", aside: "ASIDE" } as const;

export interface StateFlags {
  readonly workspace: string | undefined;
  readonly version: string | undefined;
}

/** A person names an object; its workspace is the one in which its state lies. */
async function idOf(
  context: Context,
  name: string,
  workspace: string | undefined,
): Promise<StateId> {
  const key = keyIn(context, name);
  if (workspace !== undefined) return { ...key, workspace };
  const object = await context.world.store.get({ kind: "Terraform", ...key }, context.call());
  return { ...key, workspace: object?.spec.workspace ?? "default" };
}

function noState({ namespace, name, workspace }: StateId): CliError {
  return new CliError(
    EXIT.notFound,
    `No state of ${namespace}/${name} (workspace ${workspace}); "nigari state list" shows all`,
  );
}

/** nigari state show NAME: the state's JSON. It holds secrets, and the person asked for it. */
export async function stateShow(
  context: Context,
  name: string,
  flags: StateFlags,
): Promise<number> {
  const id = await idOf(context, name, flags.workspace);
  const content = await context.world.state.show(id, flags.version, context.call());
  if (content === undefined) {
    if (flags.version === undefined) throw noState(id);
    throw new CliError(
      EXIT.notFound,
      `No version ${flags.version} is kept; "nigari state list ${name}" shows those that are`,
    );
  }
  const text = new TextDecoder().decode(content);
  context.shell.out.write(text.endsWith("\n") ? text : `${text}\n`);
  return EXIT.ok;
}

export interface PushFlags {
  readonly workspace: string | undefined;
  readonly accept: string | undefined;
  readonly drop: string | undefined;
  readonly force: boolean;
}

/** nigari state push NAME [FILE] [--accept ID | --drop ID] */
export async function statePush(
  context: Context,
  name: string,
  file: string | undefined,
  flags: PushFlags,
): Promise<number> {
  const id = await idOf(context, name, flags.workspace);
  if (flags.drop !== undefined) {
    await context.world.state.drop(id, flags.drop, context.call());
    context.shell.out.write(`Dropped ${flags.drop} of ${name}\n`);
    return EXIT.ok;
  }
  const push = await pushOf(context, file, flags);
  if (push.from === "content" && !push.force) await mustBeKnown(context, id);
  const after = await context.world.state.push(id, push, context.call());
  context.shell.out.write(`State of ${name} is now serial ${after.serial}\n`);
  return EXIT.ok;
}

/** A wrong word for a name would become a state that nobody ever looks at. */
async function mustBeKnown(context: Context, id: StateId): Promise<void> {
  const { namespace, name, workspace } = id;
  const ref = { kind: "Terraform", namespace, name } as const;
  const object = await context.world.store.get(ref, context.call());
  if ((object?.spec.workspace ?? "default") === workspace && object !== undefined) return;
  if ((await context.world.state.versions(id, context.call())).length > 0) return;
  throw new CliError(
    EXIT.notFound,
    `Terraform ${namespace}/${name} with workspace ${workspace} not found, and no state of it is ` +
      "kept; correct the name or --workspace, or use --force to keep this state beforehand",
  );
}

/** nigari state rollback NAME VERSION */
export async function stateRollback(
  context: Context,
  name: string,
  version: string,
  flags: { readonly workspace: string | undefined; readonly force: boolean },
): Promise<number> {
  const id = await idOf(context, name, flags.workspace);
  const to = { version, force: flags.force };
  const after = await context.world.state.rollback(id, to, context.call());
  context.shell.out.write(
    `State of ${name} is ${version} once more, as serial ${after.serial}; ` +
      `"nigari reconcile ${name}" shows how it differs from the world\n`,
  );
  return EXIT.ok;
}

/** nigari state unlock NAME [LOCK] */
export async function stateUnlock(
  context: Context,
  name: string,
  lockId: string | undefined,
  flags: { readonly workspace: string | undefined },
): Promise<number> {
  const { unlocker } = context.world;
  if (unlocker === undefined) {
    throw new CliError(
      EXIT.unreachable,
      "No engine runs, and only one can tell whether a lock's holder lives; start it with " +
        '"nigari up", which releases the locks of its own dead runs by itself',
    );
  }
  const id = await idOf(context, name, flags.workspace);
  const lock = await unlocker.unlock(id, lockId, context.call());
  context.shell.out.write(`Released lock ${lock.id} of ${name}, held by dead run ${lock.runId}\n`);
  return EXIT.ok;
}

/** nigari state accept NAME: a person's word that the state in question is the right one. */
export async function stateAccept(context: Context, name: string): Promise<number> {
  const word = wordIn(context, keyOf(await mustGet(context, "Terraform", name)));
  let accepted = "";
  await change(context, name, (object) => {
    const asked = object.status?.stateInQuestion;
    if (asked === undefined) {
      throw new CliError(
        EXIT.failed,
        `No state of ${word} is in question; "nigari describe ${word}" says what it waits for`,
      );
    }
    accepted = asked;
    const at = new Date(context.shell.clock.now()).toISOString();
    const words = { [ACCEPT_STATE]: asked, [REQUESTED_AT]: at };
    object.metadata.annotations = { ...object.metadata.annotations, ...words };
  });
  context.shell.out.write(`Accepted the state of ${word}: ${accepted}\n`);
  if (!context.world.engineRuns) {
    context.shell.out.error(`${noEngine(context.world)}\n`);
  }
  return EXIT.ok;
}

async function pushOf(
  context: Context,
  file: string | undefined,
  { accept, force }: PushFlags,
): Promise<StatePush> {
  if (accept !== undefined) return { from: "rescued", id: accept, force };
  if (file !== undefined) {
    return { from: "content", content: await context.shell.readFile(file), force };
  }
  throw new CliError(
    EXIT.usage,
    "What shall be pushed? Name a file (or - for standard input), or --accept a version kept aside",
  );
}
