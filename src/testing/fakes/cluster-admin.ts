import type {
  ClusterAdmin,
  ClusterKey,
  ClusterKind,
  ClusterObject,
  ClusterQuery,
  Right,
} from "../../ports/cluster.ts";
import { StoreError } from "../../ports/object-store.ts";

export type FakeObject = ClusterObject & { readonly kind: ClusterKind };

/** A cluster in memory. What is denied is refused as an API server does. */
export class FakeClusterAdmin implements ClusterAdmin {
  readonly name = "cluster fake (10.0.0.1)";
  readonly namespace = "default";
  objects: FakeObject[];
  /** `verb Kind` of what nobody may do. */
  readonly denied = new Set<string>();
  /** Every change, as `verb Kind namespace/name`. */
  readonly changes: string[] = [];
  /** Told before each list, so that a test can play the controller. */
  onList: (kind: ClusterKind) => void = () => {};
  #now: number;
  #uids = 0;

  constructor(objects: readonly FakeObject[] = [], now = "2026-01-01T00:00:00Z") {
    this.objects = objects.map((each) => this.#whole(each));
    this.#now = Date.parse(now);
  }

  nowMs(): number {
    return this.#now;
  }

  async list(kind: ClusterKind, where: ClusterQuery): Promise<ClusterObject[]> {
    this.#allow("list", kind);
    this.onList(kind);
    const { namespace, labels = "", fields = "" } = where;
    return this.objects.filter(
      ({ kind: own, metadata }) =>
        own === kind &&
        (namespace === undefined || metadata.namespace === namespace) &&
        selects(labels, metadata.labels ?? {}) &&
        selects(fields, { "metadata.name": metadata.name }),
    );
  }

  async get(kind: ClusterKind, key: ClusterKey): Promise<ClusterObject | undefined> {
    this.#allow("get", kind);
    return this.find(kind, key);
  }

  async create(kind: ClusterKind, object: ClusterObject): Promise<ClusterObject> {
    this.#change("create", kind, object.metadata);
    const made = this.#whole({ ...object, kind });
    this.objects.push(made);
    return made;
  }

  async patch(kind: ClusterKind, key: ClusterKey, fields: object): Promise<void> {
    this.#change("patch", kind, key);
    const found = this.find(kind, key);
    if (found === undefined) throw new StoreError("NotFound", `${kind} ${key.name}: not found`);
    const next = merged(found, fields) as FakeObject;
    this.objects = this.objects.map((each) => (each === found ? next : each));
  }

  async delete(kind: ClusterKind, key: ClusterKey & { readonly uid: string }): Promise<void> {
    this.#change("delete", kind, key);
    this.objects = this.objects.filter((each) => each !== this.find(kind, key));
  }

  async mayI({ verb, kind }: Right): Promise<boolean> {
    return !this.denied.has(`${verb} ${kind}`);
  }

  find(kind: ClusterKind, { namespace, name }: ClusterKey): FakeObject | undefined {
    return this.objects.find(
      (each) =>
        each.kind === kind &&
        each.metadata.name === name &&
        (namespace === undefined || each.metadata.namespace === namespace),
    );
  }

  #whole(object: FakeObject): FakeObject {
    this.#uids += 1;
    return { ...object, metadata: { uid: `uid-${this.#uids}`, ...object.metadata } };
  }

  #change(verb: string, kind: ClusterKind, { namespace, name }: ClusterKey): void {
    this.#allow(verb, kind);
    this.changes.push(`${verb} ${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`);
  }

  #allow(verb: string, kind: ClusterKind): void {
    if (!this.denied.has(`${verb} ${kind}`)) return;
    throw new StoreError("Forbidden", `${kind}: User "u" cannot ${verb} it`);
  }
}

/** `a=b,c`: equal, and there. */
function selects(selector: string, values: Readonly<Record<string, string>>): boolean {
  const parts = selector.split(",").filter((each) => each !== "");
  return parts.every((each) => {
    const [key = "", value] = each.split("=");
    return value === undefined ? key in values : values[key] === value;
  });
}

function merged(into: unknown, fields: unknown): unknown {
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) return fields;
  const next: Record<string, unknown> = { ...(into as object) };
  for (const [key, value] of Object.entries(fields)) {
    if (value === null) delete next[key];
    else next[key] = merged(next[key], value);
  }
  return next;
}
