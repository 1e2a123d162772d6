import type { KindName, ObjectKey, ObjectOf } from "../api/kinds.ts";
import type { Terraform } from "../api/terraform.ts";
import type { Call } from "../ports/call.ts";
import { isStoreError } from "../ports/object-store.ts";
import { CliError, EXIT, type PlaceFlags, type Shell, type World } from "./world.ts";

/** Flags that every verb takes, as they were typed. */
export interface CommonFlags extends PlaceFlags {
  readonly namespace: string | undefined;
  readonly output: "table" | "json" | "yaml";
}

/** The same, with what was left out filled in. */
export interface VerbFlags {
  readonly namespace: string;
  readonly output: CommonFlags["output"];
}

/** What a verb gets: the shell, its flags, the world it works on, and a bound on each call. */
export interface Context {
  readonly shell: Shell;
  readonly flags: VerbFlags;
  readonly world: World;
  /** A call of at most 10 s that Ctrl-C ends. */
  call(): Call;
}

const CALL_LIMIT_MS = 10_000;

/** Opens the world, runs the verb, closes it. */
export async function withWorld<T>(
  shell: Shell,
  flags: CommonFlags,
  verb: (context: Context) => Promise<T>,
): Promise<T> {
  const call = (): Call => ({
    signal: shell.clock.deadline("The request", CALL_LIMIT_MS, shell.interrupted),
  });
  const { dataDir, kubeconfig, context, output } = flags;
  const world = await shell.connect({ dataDir, kubeconfig, context }, call());
  const namespace = flags.namespace ?? world.namespace ?? "default";
  try {
    if (world.saysVia === true) shell.out.error(`On ${world.via}, namespace ${namespace}\n`);
    return await verb({ shell, flags: { namespace, output }, world, call });
  } finally {
    await world.close();
  }
}

/** Reads one object, or says that there is none and how to see which there are. */
export async function mustGet<K extends KindName>(
  context: Context,
  kind: K,
  name: string,
): Promise<ObjectOf<K>> {
  const key = keyIn(context, name);
  const found = await context.world.store.get({ kind, ...key }, context.call());
  if (found !== undefined) return found;
  throw new CliError(
    EXIT.notFound,
    `${kind} ${key.namespace}/${key.name} not found; "nigari get ${kind.toLowerCase()} -A" ` +
      "lists what there is",
  );
}

export function keyIn(context: Context, name: string): ObjectKey {
  const slash = name.indexOf("/");
  return slash > 0
    ? { namespace: name.slice(0, slash), name: name.slice(slash + 1) }
    : { namespace: context.flags.namespace, name };
}

/**
 * The word for an object in a command that is proposed: with its namespace, unless that is the one
 * that is meant where none is named.
 */
export function wordFor({ namespace, name }: ObjectKey, home = "default"): string {
  return namespace === home ? name : `${namespace}/${name}`;
}

/** The same for what a verb works on. */
export function wordIn({ world }: Context, key: ObjectKey): string {
  return wordFor(key, world.namespace);
}

const ATTEMPTS = 5;

/** Read, change, write, again on a conflict: a person's change must not lose to a status write. */
export async function change(
  context: Context,
  name: string,
  edit: (object: Terraform) => void,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const object = structuredClone(await mustGet(context, "Terraform", name));
    edit(object);
    try {
      await context.world.store.update(object, "main", context.call());
      return;
    } catch (error) {
      if (!isStoreError(error, "Conflict") || attempt === ATTEMPTS) throw error;
    }
  }
}
