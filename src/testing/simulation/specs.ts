import { TerraformSpec } from "../../api/terraform.ts";
import { fieldsInTheWay } from "../../domain/fields.ts";
import type { Random } from "../../ports/clock.ts";
import { isStoreError } from "../../ports/object-store.ts";
import { seededRandom } from "../fakes/clock.ts";
import { Engines } from "./engines.ts";
import { configMapOf, secretOf, terraformOf } from "./objects.ts";
import { type Violation, Watch } from "./oracles.ts";
import { between, pick } from "./scenario.ts";
import { World } from "./world.ts";

/** Specs made up from the kind's schema: whatever people write, an object says how it stands. */

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

const durations = ["15s", "1m", "10m", "1h30m", "0s", "soon"];
const names = ["input", "other", "absent", "a"];
const texts = [
  "",
  "one",
  "äöü 世界",
  "two\nlines",
  ['"quoted" $', "{a} %{b} template"].join(""),
  "x".repeat(300),
];

/** Values that mean something, by the end of the field's path. */
const meant: readonly (readonly [RegExp, readonly Json[]])[] = [
  [/^interval$/, ["1m", "10m", "1h", "10m", "10m", "0s"]],
  [/timeout$/i, ["1s", "5s", "0s"]],
  [/^approvePlan$/, ["auto", "auto", "", "disable", "plan-main-0123456789", "replan-1"]],
  [/^sourceRef\.name$/, ["code", "code", "code", "absent"]],
  [/^sourceRef\.kind$/, ["GitRepository", "GitRepository", "OCIRepository"]],
  [/^sourceRef\.namespace$/, ["default", "default", "elsewhere"]],
  [/namespace$/, ["default", "elsewhere"]],
  [/^dependsOn\[\]\.name$/, ["other", "absent", "a"]],
  [/(varsFrom|backendConfigsFrom)\[\]\.name$|secretRef\.name$|SecretRef\.name$/, names],
  [/KeyRef\.(name|key)$/, ["input", "word", "absent"]],
  [/Keys\[\]$|\.keys\[\]$/, ["word", "word:renamed", "absent", "a:b:c", ":"]],
  [/outputs\[\]$/, ["address", "address:place", "absent"]],
  [/workspace$/, ["default", "blue"]],
  [/path$/, ["", "./module", "../outside", "a/b"]],
  [/url$/, ["http://127.0.0.1:1/", "no address"]],
  [/address$/, ["127.0.0.1:1", "nowhere"]],
];

/** A spec that uses about a third of all fields, and always the one that the seed stands for. */
export function specOfSeed(seed: number): TerraformSpec {
  const random = seededRandom(seed);
  const properties = Object.entries(propertiesOf(TerraformSpec as unknown as Described));
  const [must = ""] = properties[Math.abs(seed) % properties.length] ?? [];
  const spec: Record<string, Json> = {};
  for (const [name, schema] of properties) {
    const needed = name === must || name === "interval" || name === "sourceRef";
    const value = madeOf(schema, name, random);
    if (!needed && random.next() > 0.3) continue;
    spec[name] = value;
    // Most objects do not use what is not obeyed, or nothing else would ever be seen.
    const refused = fieldsInTheWay(spec as unknown as TerraformSpec).length > 0;
    if (refused && name !== must && random.next() < 0.95) delete spec[name];
  }
  return spec as unknown as TerraformSpec;
}

interface Described {
  readonly type?: string;
  readonly enum?: readonly Json[];
  readonly format?: string;
  readonly items?: Described;
  readonly properties?: Readonly<Record<string, Described>>;
  readonly patternProperties?: object;
  readonly required?: readonly string[];
}

function propertiesOf(schema: Described): Readonly<Record<string, Described>> {
  return schema.properties ?? {};
}

function madeOf(schema: Described, path: string, random: Random): Json {
  const known = meant.find(([end]) => end.test(path))?.[1];
  if (known !== undefined) return one(known, random);
  if (schema.enum !== undefined) return one(schema.enum, random);
  switch (schema.type) {
    case "boolean":
      return random.next() < 0.5;
    case "integer":
      return one([0, 1, 2, 10, -1, 2_147_483_647], random);
    case "string":
      return one(schema.format === undefined ? texts : durations, random);
    case "array": {
      const { items } = schema;
      if (items === undefined) return [];
      const count = Math.floor(between(random, 0, 3));
      return Array.from({ length: count }, () => madeOf(items, `${path}[]`, random));
    }
    case "object":
      return objectOf(schema, path, random);
    default:
      return one(["text", 7, true, null, [1, "two"], { nested: { deep: [] } }], random);
  }
}

function objectOf(schema: Described, path: string, random: Random): Json {
  if (schema.patternProperties !== undefined) return { "example.com/name": "value" };
  const entries = Object.entries(schema.properties ?? {}).flatMap(([name, part]) => {
    const value = madeOf(part, `${path}.${name}`, random);
    const kept = schema.required?.includes(name) === true || random.next() < 0.6;
    return kept ? [[name, value] as const] : [];
  });
  return Object.fromEntries(entries);
}

function one(from: readonly Json[], random: Random): Json {
  return pick(from, random) ?? null;
}

export interface SpecResult {
  readonly seed: number;
  readonly spec: TerraformSpec;
  /** The store refuses it, with this message. */
  readonly refused: string | undefined;
  /** Ready, as it says in the end. */
  readonly ready: string;
  readonly violations: readonly Violation[];
}

const LIVED_MS = 45_000;

/** Lets an object with the seed's spec live for a while, be changed, and be deleted. */
export async function trySpec(seed: number): Promise<SpecResult> {
  const spec = specOfSeed(seed);
  const world = new World({ seed });
  const engines = new Engines(world, false);
  const watch = new Watch(world, engines);
  await world.apply(secretOf("input", { word: "word" }));
  await world.apply(configMapOf("input", { word: "word" }));
  await world.source("code");
  await world.apply(terraformOf({ approvePlan: "auto" }, "other"));
  let refused: string | undefined;
  try {
    await world.apply(terraformOf(spec, "a"));
  } catch (error) {
    if (!isStoreError(error, "Invalid")) throw error;
    refused = error.message;
  }
  engines.start();
  const ready = await readyAfter(world, watch);
  if (refused === undefined) {
    await world.remove("Terraform", "a");
    await readyAfter(world, watch);
    if (ready === "") watch.say("parked-with-reason", "a says nothing of itself");
  }
  const [bug] = world.bugs;
  if (bug !== undefined) watch.say("no-bug", bug);
  return { seed, spec, refused, ready, violations: watch.violations };
}

async function readyAfter(world: World, watch: Watch): Promise<string> {
  for (let ms = 0; ms < LIVED_MS; ms += 5_000) {
    await world.clock.advance(5_000);
    const { items } = await world.store.list("Terraform", {}, world.call());
    watch.look(items);
  }
  const object = await world.get("Terraform", "a");
  const ready = object?.status?.conditions?.find(({ type }) => type === "Ready");
  return ready === undefined ? "" : `${ready.status} ${ready.reason}: ${ready.message}`;
}
