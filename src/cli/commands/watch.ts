import { stringify } from "yaml";
import { type AnyObject, type KindName, keyOf, keyText } from "../../api/kinds.ts";
import { isStoreError } from "../../ports/object-store.ts";
import { type Context, keyIn } from "../context.ts";
import { target } from "../kinds.ts";
import { listView, shown } from "../views/objects.ts";
import { EXIT } from "../world.ts";
import type { GetFlags } from "./read.ts";

/**
 * nigari get -w: what there is, then every change, until Ctrl-C. Where changes were missed it lists
 * anew and tells the differences, so that what is on the screen is never older than it seems.
 */
export async function getWatch(
  context: Context,
  words: readonly string[],
  flags: GetFlags,
): Promise<number> {
  const { kind, name } = target(words);
  const key = name === undefined ? undefined : keyIn(context, name);
  const namespace = key?.namespace ?? (flags.allNamespaces ? undefined : context.flags.namespace);
  const where = namespace === undefined ? {} : { namespace };
  const screen = new Screen(context, kind, flags);
  const { store } = context.world;
  const signal = context.shell.interrupted;
  const wanted = (object: AnyObject) => key === undefined || keyOf(object).name === key.name;
  while (!signal.aborted) {
    const { items, resourceVersion } = await store.list(kind, where, context.call());
    screen.list(items.filter(wanted));
    try {
      for await (const event of store.watch(kind, { ...where, resourceVersion }, { signal })) {
        if (event.type === "BOOKMARK" || !wanted(event.object)) continue;
        if (event.type === "DELETED") screen.gone(event.object);
        else screen.changed(event.object);
      }
    } catch (error) {
      if (!isStoreError(error, "Expired")) throw error;
    }
  }
  return EXIT.ok;
}

/** What a person has been shown so far. */
class Screen {
  readonly #context: Context;
  readonly #kind: KindName;
  readonly #flags: GetFlags;
  readonly #known = new Map<string, AnyObject>();
  #begun = false;

  constructor(context: Context, kind: KindName, flags: GetFlags) {
    this.#context = context;
    this.#kind = kind;
    this.#flags = flags;
  }

  /** All there is: the first time as a table, later only what differs. */
  list(objects: readonly AnyObject[]): void {
    const now = new Set(objects.map(nameOf));
    for (const object of [...this.#known.values()]) if (!now.has(nameOf(object))) this.gone(object);
    const fresh = objects.filter(
      (each) => versionOf(this.#known.get(nameOf(each))) !== versionOf(each),
    );
    for (const object of fresh) this.changed(object);
  }

  changed(object: AnyObject): void {
    const name = nameOf(object);
    const type = this.#known.has(name) ? "MODIFIED" : "ADDED";
    // Last, so that its row is the last one.
    this.#known.delete(name);
    this.#known.set(name, object);
    if (this.#context.flags.output === "table") this.#row();
    else this.#tell(type, object);
  }

  /** Its columns are those of the table of all that is known. */
  #row(): void {
    const [head = "", ...rows] = this.#table().trimEnd().split("\n");
    const { out } = this.#context.shell;
    if (!this.#begun) out.write(`${head}\n`);
    this.#begun = true;
    out.write(`${rows.at(-1) ?? ""}\n`);
  }

  gone(object: AnyObject): void {
    this.#known.delete(nameOf(object));
    const { flags, shell } = this.#context;
    if (flags.output === "table") shell.out.write(`${object.metadata.name} is gone\n`);
    else this.#tell("DELETED", object);
  }

  /** One JSON object a line, or one YAML document each. */
  #tell(type: string, object: AnyObject): void {
    const event = { type, object: shown(object, this.#flags.reveal) };
    const { flags, shell } = this.#context;
    const text =
      flags.output === "json" ? `${JSON.stringify(event)}\n` : `---\n${stringify(event)}`;
    shell.out.write(text);
  }

  #table(): string {
    const { out, clock } = this.#context.shell;
    return listView(this.#kind, [...this.#known.values()], {
      nowMs: clock.now(),
      allNamespaces: this.#flags.allNamespaces,
      columns: out.isTerminal ? out.columns : Number.POSITIVE_INFINITY,
      colours: out.colours,
    });
  }
}

function nameOf(object: AnyObject): string {
  return keyText(keyOf(object));
}

function versionOf(object: AnyObject | undefined): string | undefined {
  return object?.metadata.resourceVersion;
}
