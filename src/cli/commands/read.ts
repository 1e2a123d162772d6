import { stringify } from "yaml";
import type { Event } from "../../api/core.ts";
import { type AnyObject, type KindName, keyOf } from "../../api/kinds.ts";
import type { LogLine } from "../../ports/runs.ts";
import { type CommonFlags, type Context, keyIn, mustGet } from "../context.ts";
import { target } from "../kinds.ts";
import { describeView, eventsView } from "../views/describe.ts";
import { listView, shown } from "../views/objects.ts";
import { EXIT } from "../world.ts";

export interface GetFlags {
  readonly allNamespaces: boolean;
  readonly reveal: boolean;
}

/** nigari get [KIND] [NAME] */
export async function get(
  context: Context,
  words: readonly string[],
  flags: GetFlags,
): Promise<number> {
  const { kind, name } = target(words);
  const objects = await select(context, kind, name, flags.allNamespaces);
  const { out } = context.shell;
  if (context.flags.output !== "table") {
    const copies = objects.map((object) => shown(object, flags.reveal));
    const whole =
      name === undefined ? { apiVersion: "v1", kind: "List", items: copies } : copies[0];
    print(context, whole);
    return EXIT.ok;
  }
  if (objects.length === 0) {
    const where = flags.allNamespaces ? "" : ` in namespace ${context.flags.namespace}`;
    out.error(`No ${kind} found${where}; -A looks in all namespaces\n`);
    return EXIT.ok;
  }
  out.write(
    listView(kind, objects, {
      nowMs: context.shell.clock.now(),
      allNamespaces: flags.allNamespaces,
      columns: out.isTerminal ? out.columns : Number.POSITIVE_INFINITY,
      colours: out.colours,
    }),
  );
  return EXIT.ok;
}

/** Prints a value in the form asked for by -o. */
export function print(context: Context, value: unknown): void {
  context.shell.out.write(inForm(context.flags.output, value));
}

/** A value as JSON or YAML. */
export function inForm(form: CommonFlags["output"], value: unknown): string {
  return form === "json" ? `${JSON.stringify(value, null, 2)}\n` : stringify(value);
}

async function select(
  context: Context,
  kind: KindName,
  name: string | undefined,
  allNamespaces: boolean,
): Promise<AnyObject[]> {
  if (name !== undefined) return [await mustGet(context, kind, name)];
  const where = allNamespaces ? {} : { namespace: context.flags.namespace };
  const { items } = await context.world.store.list(kind, where, context.call());
  return [...items].sort((a, b) => text(a).localeCompare(text(b)));
}

const text = (object: AnyObject) => `${keyOf(object).namespace}/${keyOf(object).name}`;

/** nigari describe NAME */
export async function describe(context: Context, name: string): Promise<number> {
  const object = await mustGet(context, "Terraform", name);
  const events = await eventsOf(context, keyIn(context, name).namespace, object.metadata.uid);
  const live = await context.world.live(keyIn(context, name), context.call());
  if (context.flags.output !== "table") {
    print(context, { object: shown(object, false), live, events });
    return EXIT.ok;
  }
  context.shell.out.write(
    describeView({
      object,
      live,
      events,
      nowMs: context.shell.clock.now(),
      engineRuns: context.world.engineRuns,
      home: context.world.namespace,
      columns: context.shell.out.columns,
    }),
  );
  return EXIT.ok;
}

async function eventsOf(
  context: Context,
  namespace: string | undefined,
  uid: string | undefined,
): Promise<Event[]> {
  const where = namespace === undefined ? {} : { namespace };
  const { items } = await context.world.store.list("Event", where, context.call());
  return items.filter((event) => uid === undefined || event.involvedObject.uid === uid);
}

/** nigari events [NAME] */
export async function events(
  context: Context,
  name: string | undefined,
  flags: { allNamespaces: boolean },
): Promise<number> {
  const found =
    name === undefined
      ? await eventsOf(
          context,
          flags.allNamespaces ? undefined : context.flags.namespace,
          undefined,
        )
      : await eventsOfName(context, name);
  if (context.flags.output !== "table") print(context, found);
  else if (found.length === 0) context.shell.out.error("No events\n");
  else context.shell.out.write(eventsView(found, { nowMs: context.shell.clock.now() }));
  return EXIT.ok;
}

/** One JSON object a line, or one YAML document each, so that a stream of them can be read. */
function lineIn(form: CommonFlags["output"], line: LogLine): string {
  if (form === "json") return `${JSON.stringify(line)}\n`;
  if (form === "yaml") return `---\n${stringify(line)}`;
  return `${line.at} ${line.stage.padEnd(9)} ${line.text}\n`;
}

function noLines(name: string, run: string | undefined): string {
  return run === undefined
    ? `No run of ${name} has left log lines yet`
    : `No log lines of run ${run} of ${name}; without --run all that are kept are shown`;
}

/** Of the object, or of those that had its name: what happened outlives whom it happened to. */
async function eventsOfName(context: Context, name: string): Promise<Event[]> {
  const key = keyIn(context, name);
  const all = await eventsOf(context, key.namespace, undefined);
  const named = all.filter(({ involvedObject }) => involvedObject.name === key.name);
  const object = await context.world.store.get({ kind: "Terraform", ...key }, context.call());
  if (object === undefined) {
    if (named.length === 0) await mustGet(context, "Terraform", name);
    return named;
  }
  return named.filter(({ involvedObject }) => involvedObject.uid === object.metadata.uid);
}

export interface LogFlags {
  readonly follow: boolean;
  readonly tail: number | undefined;
  readonly run: string | undefined;
}

/** nigari logs NAME [-f]: the masked lines of its runs. */
export async function logs(context: Context, name: string, flags: LogFlags): Promise<number> {
  await mustGet(context, "Terraform", name);
  const options = {
    ...(flags.run === undefined ? {} : { runId: flags.run }),
    ...(flags.tail === undefined ? {} : { tail: flags.tail }),
  };
  const key = keyIn(context, name);
  const { out, interrupted } = context.shell;
  const write = (line: LogLine) => out.write(lineIn(context.flags.output, line));
  if (!flags.follow || !context.world.engineRuns) {
    const lines = await context.world.logs.read(key, options, context.call());
    for (const line of lines) write(line);
    if (lines.length === 0) out.error(`${noLines(name, flags.run)}\n`);
    if (flags.follow) out.error("No engine runs, so no more lines come\n");
    return EXIT.ok;
  }
  // Following has no end of its own: Ctrl-C is its bound.
  for await (const line of context.world.logs.follow(key, options, { signal: interrupted })) {
    write(line);
  }
  return EXIT.ok;
}
