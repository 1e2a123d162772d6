import {
  type AnyObject,
  type KindName,
  keyOf,
  keyText,
  type ObjectOf,
  type ObjectRef,
} from "../../api/kinds.ts";
import {
  type ListOptions,
  type ObjectList,
  type ObjectStore,
  StoreError,
} from "../../ports/object-store.ts";

/** Objects in a map: enough to test what reads and writes a few of them. No watch. */
export class TinyStore implements ObjectStore {
  #version = 0;
  readonly #objects = new Map<string, AnyObject>();

  constructor(objects: readonly AnyObject[] = []) {
    for (const object of objects) this.put(object);
  }
  put(object: AnyObject): void {
    this.#version += 1;
    const metadata = { ...object.metadata, resourceVersion: String(this.#version) };
    this.#objects.set(idOf(object), structuredClone({ ...object, metadata }) as AnyObject);
  }
  async get<K extends KindName>(ref: ObjectRef<K>): Promise<ObjectOf<K> | undefined> {
    const found = this.#objects.get(`${ref.kind}/${keyText(ref)}`);
    return structuredClone(found) as ObjectOf<K> | undefined;
  }
  async list<K extends KindName>(kind: K, where: ListOptions): Promise<ObjectList<K>> {
    const items = [...this.#objects.values()].filter(
      (each) =>
        each.kind === kind &&
        (where.namespace === undefined || each.metadata.namespace === where.namespace) &&
        Object.entries(where.labels ?? {}).every(([k, v]) => each.metadata.labels?.[k] === v),
    );
    return {
      resourceVersion: String(this.#version),
      items: structuredClone(items) as ObjectOf<K>[],
    };
  }
  async create<T extends AnyObject>(object: T): Promise<ObjectOf<T["kind"]>> {
    const id = idOf(object);
    if (this.#objects.has(id)) throw new StoreError("AlreadyExists", `${id} exists`);
    this.put(object);
    return structuredClone(this.#objects.get(id)) as ObjectOf<T["kind"]>;
  }
  async update<T extends AnyObject>(object: T): Promise<ObjectOf<T["kind"]>> {
    const id = idOf(object);
    const stored = this.#objects.get(id);
    if (stored?.metadata.resourceVersion !== object.metadata.resourceVersion) {
      throw new StoreError("Conflict", `${id} has changed`);
    }
    this.put(object);
    return structuredClone(this.#objects.get(id)) as ObjectOf<T["kind"]>;
  }
  async delete(ref: ObjectRef): Promise<void> {
    const id = `${ref.kind}/${keyText(ref)}`;
    if (!this.#objects.delete(id)) throw new StoreError("NotFound", `${id} does not exist`);
  }
  async *watch(): AsyncIterable<never> {}
}

function idOf(object: AnyObject): string {
  return `${object.kind}/${keyText(keyOf(object))}`;
}
