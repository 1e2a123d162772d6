import type { StateId, StatePush } from "../../ports/state.ts";
import { type Context, keyIn } from "../context.ts";
import { ageSince } from "../views/status.ts";
import { table } from "../views/table.ts";
import { CliError, EXIT } from "../world.ts";
import { print } from "./read.ts";

/** nigari state list */
export async function stateList(context: Context): Promise<number> {
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

export interface StateFlags {
  readonly workspace: string;
  readonly version: string | undefined;
}

function idOf(context: Context, name: string, workspace: string): StateId {
  return { ...keyIn(context, name), workspace };
}

/** nigari state show NAME: the state's JSON. It holds secrets, and the person asked for it. */
export async function stateShow(
  context: Context,
  name: string,
  flags: StateFlags,
): Promise<number> {
  const id = idOf(context, name, flags.workspace);
  const content = await context.world.state.show(id, flags.version, context.call());
  if (content === undefined) {
    throw new CliError(EXIT.notFound, `No state of ${id.namespace}/${id.name} (${id.workspace})`);
  }
  context.shell.out.write(new TextDecoder().decode(content));
  return EXIT.ok;
}

export interface PushFlags {
  readonly workspace: string;
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
  const id = idOf(context, name, flags.workspace);
  if (flags.drop !== undefined) {
    await context.world.state.drop(id, flags.drop, context.call());
    context.shell.out.write(`Dropped ${flags.drop} of ${name}\n`);
    return EXIT.ok;
  }
  const push = await pushOf(context, file, flags);
  const after = await context.world.state.push(id, push, context.call());
  context.shell.out.write(`State of ${name} is now serial ${after.serial}\n`);
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
