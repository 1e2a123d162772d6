import { resolve } from "node:path";
import type { Diagnostic } from "../../api/diagnostic.ts";
import type { FieldPath } from "../../api/field-path.ts";
import { type AnyObject, type KindName, kinds } from "../../api/kinds.ts";
import { isKindName, objectName, problemsIn, withoutNulls } from "../../objects/validate.ts";
import { mapOf } from "../../objects/validity.ts";
import { classify } from "./classify.ts";
import { type ParsedDocument, parseDocuments } from "./documents.ts";

/** A text to be read. */
export interface ManifestText {
  /** How messages call it. */
  readonly file: string;
  readonly content: Uint8Array | string;
  /** Absolute; where paths that begin with "." start. Undefined: such paths are refused. */
  readonly folder?: string;
  /**
   * Found while looking through a folder, not named by a person: then a text that is no manifest
   * is left out instead of being refused.
   */
  readonly found?: boolean;
}

export interface ManifestReport {
  /** Valid objects, in the order they were read, each with its namespace. */
  readonly objects: AnyObject[];
  readonly warnings: Diagnostic[];
  readonly errors: Diagnostic[];
  /** The `file` of the text that each object stands in. */
  readonly files: ReadonlyMap<AnyObject, string>;
  /** Texts that were found, and hold something that is no manifest, or nothing. */
  readonly unclear: string[];
}

/** A text larger than this is refused; the largest object that may be stored fits in. */
export const TEXT_BYTES_MAX = 2 * 1024 * 1024;
/** After so many errors the rest of a text is not read: it is something else than manifests. */
const ERRORS_MAX = 50;

/**
 * Reads objects from YAML or JSON texts with any number of documents and Lists. What is wrong is
 * in the report; it never throws. `namespace` is for objects that name none.
 */
export function readManifests(
  texts: readonly ManifestText[],
  namespace = "default",
): ManifestReport {
  const reader = new Reader(namespace);
  for (const text of texts) reader.read(text);
  return reader.report();
}

/** Where an entry stands: the place of a path inside it. */
type Locate = (path: FieldPath, onKey?: boolean) => Partial<Diagnostic>;

class Reader {
  readonly #namespace: string;
  readonly #objects: AnyObject[] = [];
  readonly #diagnostics: Diagnostic[] = [];
  #errors = 0;
  readonly #first = new Map<string, Partial<Diagnostic>>();
  readonly #files = new Map<AnyObject, string>();
  readonly #unclear = new Set<string>();
  readonly #skipped = new Map<string, { place: Partial<Diagnostic>; why: string; count: number }>();

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  report(): ManifestReport {
    const skipped = [...this.#skipped].map(([what, { place, why, count }]): Diagnostic => {
      const times = count === 1 ? "" : ` (${count} objects)`;
      return { severity: "warning", summary: `${what}: skipped, ${why}${times}`, ...place };
    });
    const all = [...this.#diagnostics, ...skipped];
    return {
      objects: this.#objects,
      warnings: all.filter(({ severity }) => severity === "warning"),
      errors: all.filter(({ severity }) => severity === "error"),
      files: this.#files,
      unclear: [...this.#unclear],
    };
  }

  read(source: ManifestText): void {
    const { file } = source;
    const text = decode(source.content);
    if ("fault" in text) {
      this.#tell("error", `The file ${text.fault}`, { file });
      return;
    }
    if (source.found === true && !looksLikeManifest(text.text)) {
      this.#unclear.add(file);
      return;
    }
    const before = this.#errors;
    const documents = parseDocuments(text.text);
    if (documents.length === 0) this.#unclear.add(file);
    for (const [index, document] of documents.entries()) {
      if (this.#errors - before >= ERRORS_MAX) {
        this.#tell("error", "The file has more faults than these; mend them first", { file });
        return;
      }
      this.#document(document, source, index + 1);
    }
  }

  #document(document: ParsedDocument, source: ManifestText, number: number): void {
    const { file } = source;
    if ("problem" in document) {
      const { text, line, column } = document.problem;
      this.#tell("error", `Document ${number}: ${text}`, { file, line, column });
      return;
    }
    const locate: Locate = (path, onKey = false) => ({ file, ...document.locate(path, onKey) });
    this.#entry(document.value, { source, locate, name: `Document ${number}`, depth: 0 });
  }

  #entry(value: unknown, at: Entry): void {
    const found = classify(value);
    switch (found.is) {
      case "list":
        this.#list(found.items, at);
        return;
      case "foreign":
        this.#skip(found.what, found.why, at);
        return;
      case "wrong": {
        if (at.source.found === true && !mentionsOurs(value)) {
          this.#unclear.add(at.source.file);
          return;
        }
        const path = found.field === undefined ? [] : [found.field];
        this.#tell("error", `${at.name}: ${found.text}`, at.locate(path));
        return;
      }
      case "object": {
        const { kind, warning } = found;
        if (warning !== undefined) {
          const name = objectName(kind, mapOf(value).metadata);
          this.#tell("warning", `${name}: ${warning}`, at.locate(["apiVersion"]));
        }
        this.#object(kind, { ...mapOf(value), apiVersion: kinds[kind].apiVersion }, at);
      }
    }
  }

  #list(items: readonly unknown[], at: Entry): void {
    const before = this.#errors;
    if (at.depth > 0) {
      this.#tell("error", `${at.name}: a List inside a List is not read`, at.locate([]));
      return;
    }
    for (const [index, item] of items.entries()) {
      if (this.#errors - before >= ERRORS_MAX) {
        this.#tell(
          "error",
          `${at.name}: has more faults than these; mend them first`,
          at.locate([]),
        );
        return;
      }
      const locate: Locate = (path, onKey) => at.locate(["items", index, ...path], onKey);
      const name = `${at.name}, items[${index}]`;
      this.#entry(item, { ...at, locate, name, depth: at.depth + 1 });
    }
  }

  #object(kind: KindName, read: Record<string, unknown>, at: Entry): void {
    const object = this.#withoutStored(kind, this.#placed(read), at);
    const name = objectName(kind, object.metadata);
    this.#resolveUrl(kind, object, at);
    const problems = problemsIn(kind, object);
    for (const { severity, text, path, onKey = false } of problems) {
      this.#tell(severity, `${name}: ${text}`, at.locate(path, onKey));
    }
    if (problems.some(({ severity }) => severity === "error")) return;
    const first = this.#first.get(name);
    if (first !== undefined) {
      const place = [first.file, first.line].join(":");
      const text = `${name}: is defined twice, first at ${place}; remove one`;
      this.#tell("error", text, at.locate([]));
      return;
    }
    this.#first.set(name, at.locate([]));
    const made = withoutNulls(object, problems) as AnyObject;
    this.#files.set(made, at.source.file);
    this.#objects.push(made);
  }

  /** With the namespace that is meant where none is named. */
  #placed(object: Record<string, unknown>): Record<string, unknown> {
    const { metadata } = object;
    if (typeof metadata !== "object" || metadata === null || Array.isArray(metadata)) return object;
    const { namespace = this.#namespace, ...rest } = mapOf(metadata);
    return { ...object, metadata: { ...rest, namespace: namespace ?? this.#namespace } };
  }

  /** Without what only the store decides, as objects have that were written out of one. */
  #withoutStored(kind: KindName, object: Record<string, unknown>, at: Entry) {
    const metadata = mapOf(object.metadata);
    const fields = STORED.filter((field) => Object.hasOwn(metadata, field));
    const status = kinds[kind].hasStatus && object.status !== undefined;
    if (fields.length === 0 && !status) return object;
    const names = [...fields.map((field) => `metadata.${field}`), ...(status ? ["status"] : [])];
    const path = fields[0] === undefined ? ["status"] : ["metadata", fields[0]];
    const verb = names.length === 1 ? "is" : "are";
    const text = `${names.join(", ")} ${verb} set by the store and ignored`;
    this.#tell("warning", `${objectName(kind, metadata)}: ${text}`, at.locate(path, true));
    const { status: _, ...rest } = object;
    const kept = Object.entries(metadata).filter(([key]) => !STORED.includes(key));
    return { ...(status ? rest : object), metadata: Object.fromEntries(kept) };
  }

  /** A path that begins with "." means the folder of the manifest. */
  #resolveUrl(kind: KindName, object: Record<string, unknown>, { source }: Entry): void {
    const spec = mapOf(object.spec);
    if (kind !== "GitRepository" || typeof spec.url !== "string") return;
    const path = spec.url.replace(/^file:\/\/(?=\.)/, "");
    if (source.folder === undefined || !/^\.{1,2}(\/|$)/.test(path)) return;
    object.spec = { ...spec, url: resolve(source.folder, path) };
  }

  #skip(what: string, why: string, at: Entry): void {
    const before = this.#skipped.get(what);
    if (before === undefined) this.#skipped.set(what, { place: at.locate([]), why, count: 1 });
    else before.count += 1;
  }

  #tell(severity: Diagnostic["severity"], summary: string, place: Partial<Diagnostic>): void {
    if (severity === "error") this.#errors += 1;
    this.#diagnostics.push({ severity, summary, ...place });
  }
}

interface Entry {
  readonly source: ManifestText;
  readonly locate: Locate;
  readonly name: string;
  /** How many Lists it lies in. */
  readonly depth: number;
}

const STORED: readonly string[] = [
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "selfLink",
  "managedFields",
  // They hold uids of the store the object comes from; here it would count as orphaned.
  "ownerReferences",
];

function decode(content: Uint8Array | string): { text: string } | { fault: string } {
  const bytes = typeof content === "string" ? Buffer.byteLength(content) : content.length;
  if (bytes > TEXT_BYTES_MAX) {
    return { fault: `has ${bytes} bytes; at most ${TEXT_BYTES_MAX} are read, so split it` };
  }
  if (typeof content === "string") return { text: content };
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(content) };
  } catch {
    return { fault: "is not UTF-8 text; save it as UTF-8" };
  }
}

/** Cheap, so that a folder may hold anything. */
function looksLikeManifest(text: string): boolean {
  return /^[\s{,-]*["']?(?:apiVersion|kind)["']?\s*:/m.test(text);
}

/** Whether a document that is no object was probably meant for us. */
function mentionsOurs(value: unknown): boolean {
  const { kind, apiVersion } = mapOf(value);
  return isKindName(kind) || typeof apiVersion === "string";
}
