import { StringDecoder } from "node:string_decoder";
import { parseAllDocuments } from "yaml";
import { readHubbleDrop, readMonitorDrop } from "../../evidence/drop-text.ts";
import { GoroutineReader } from "../../evidence/goroutine-text.ts";
import { LogDigest } from "../../evidence/log-digest.ts";
import { type Manifest, readManifest } from "../../evidence/manifest.ts";
import { readSample } from "../../evidence/metrics-text.ts";
import type {
  Evidence,
  EvidenceObject,
  Gap,
  GoroutineDump,
  LogStream,
  MetricSample,
  MetricSet,
  PacketDrop,
  Place,
} from "../../evidence/model.ts";
import { newestTime, objectTime } from "../../evidence/newest.ts";
import type { EvidenceSink } from "../../ports/evidence.ts";
import { type BundleFile, eachFile } from "./files.ts";
import { JsonItems } from "./json-items.ts";
import { eachLine } from "./lines.ts";
import { type LogName, PodNames } from "./names.ts";
import { isTelling, kindByPath, listKind, objectsOf } from "./objects.ts";
import { peek } from "./peek.ts";
import { LogSections } from "./sections.ts";
import { fileKind, HEAD_CHARACTERS } from "./sniff.ts";

/**
 * Reads a saved dump (folder, tar, tar.gz or a single file) as evidence. Two passes: objects
 * first, for pods give logs their names; then everything that is text. Nothing is written, and
 * memory stays bounded however long the logs are. What cannot be read becomes a gap; only a path
 * that is no bundle at all is a BundleError.
 */
export async function loadBundle(path: string, signal: AbortSignal): Promise<Evidence> {
  const loader = new Loader();
  const first = await eachFile(path, (file) => loader.objects(file), signal);
  loader.nameLogs();
  const second = await eachFile(path, (file) => loader.text(file), signal);
  return loader.evidence([...first, ...second]);
}

/**
 * Takes evidence as it is collected, and gives it as `loadBundle` would from an archive of the same
 * files.
 */
export function createLoader(): EvidenceSink & { evidence(): Evidence } {
  const loader = new Loader();
  let named = false;
  return {
    async put({ path, origin, holds, bytes }) {
      const file = { path, origin, bytes };
      if (holds !== "text") return loader.objects(file);
      if (!named) loader.nameLogs();
      named = true;
      return loader.text(file);
    },
    evidence: () => loader.evidence([]),
  };
}

const YAML_LIMIT = 16 * 1024 * 1024;
const DROPS_MAX = 20_000;

interface Hints {
  readonly kind: string | undefined;
  readonly apiVersion: string | undefined;
}

class Loader {
  readonly #objects: EvidenceObject[] = [];
  readonly #kinds = new Set<string>();
  readonly #gaps: Gap[] = [];
  readonly #logs: LogStream[] = [];
  readonly #metrics: MetricSet[] = [];
  readonly #goroutines: GoroutineDump[] = [];
  readonly #drops: PacketDrop[] = [];
  readonly #origins = new Map<string, string>();
  #dropsRecorded = false;
  #names = new PodNames([], []);
  #manifest: Manifest | undefined;
  /** Where the manifest lies: it names its files from there. */
  #root = "";
  #dumpedAtMs: number | undefined;
  #nearMs: number | undefined;

  async objects(file: BundleFile): Promise<void> {
    this.#known(file);
    const { head, bytes } = await peek(file.bytes, HEAD_CHARACTERS);
    const kind = fileKind(file.path, head);
    if (kind === "objects-json") await this.#json(file.path, bytes);
    else if (kind === "objects-yaml") await this.#yaml(file.path, bytes);
    else if (kind === "time") this.#dumpedAtMs = Date.parse(head.trim());
    else for await (const _ of bytes) break;
  }

  /** From here on logs can be told by their pods. */
  nameLogs(): void {
    const pods = this.#objects.filter((object) => object.kind === "Pod");
    const namespaces = new Set(this.#objects.map((object) => object.metadata.namespace ?? ""));
    for (const object of this.#objects) {
      if (object.kind === "Namespace") namespaces.add(object.metadata.name);
    }
    namespaces.delete("");
    const known = pods.map((pod) => ({
      namespace: pod.metadata.namespace ?? "",
      name: pod.metadata.name,
      containers: containersOf(pod),
    }));
    this.#names = new PodNames(known, [...namespaces]);
    this.#nearMs = this.#takenMs() ?? newestOf(this.#objects);
  }

  async text(file: BundleFile): Promise<void> {
    this.#known(file);
    const { head, bytes } = await peek(file.bytes, HEAD_CHARACTERS);
    const kind = fileKind(file.path, head);
    if (kind === "log") await this.#log(file.path, bytes);
    else if (kind === "objects-json") await this.#marked(file.path, bytes);
    else if (kind === "metrics") await this.#metric(file.path, bytes);
    else if (kind === "goroutines") await this.#goroutine(file.path, bytes);
    else if (kind === "drops" || kind === "hubble") await this.#drop(file.path, bytes, kind);
    else for await (const _ of bytes) break;
  }

  evidence(damaged: readonly Gap[]): Evidence {
    const takenMs = this.#takenMs();
    const newestMs = newestTime(this.#objects, this.#logs);
    return {
      objects: this.#objects,
      kinds: [...this.#kinds].sort(),
      logs: this.#logs,
      metrics: this.#metrics,
      goroutines: this.#goroutines,
      drops: this.#drops,
      dropsRecorded: this.#dropsRecorded,
      gaps: unique([...damaged, ...this.#gaps, ...(this.#manifest?.lacks ?? [])]),
      taken:
        takenMs !== undefined
          ? { atMs: takenMs, from: "manifest" }
          : newestMs === undefined
            ? undefined
            : { atMs: newestMs, from: "newest-time" },
      readAtMs: new Map(
        [...(this.#manifest?.readAtMs ?? [])].map(([path, ms]) => [
          this.#place(this.#root + path).origin,
          ms,
        ]),
      ),
    };
  }

  #known({ path, origin }: BundleFile): void {
    if (origin !== undefined) this.#origins.set(path, origin);
  }

  #place(path: string): Place {
    return { origin: this.#origins.get(path) ?? path };
  }

  #takenMs(): number | undefined {
    return this.#manifest === undefined ? this.#dumpedAtMs : Date.parse(this.#manifest.takenAt);
  }

  async #json(path: string, bytes: AsyncIterable<Buffer>): Promise<void> {
    const hint = kindByPath(path);
    const items = new JsonItems(({ text, header }) => {
      const own = /"kind"\s*:\s*"([^"]+)"/.exec(header)?.[1];
      const kind = listKind(own) ?? hint;
      const apiVersion = /"apiVersion"\s*:\s*"([^"]+)"/.exec(header)?.[1];
      if (text === undefined) this.#take({ items: [] }, { kind, apiVersion }, path);
      else this.#takeText(text, { kind, apiVersion }, path);
    });
    const sections = new LogSections((text) => items.push(text));
    const decoder = new StringDecoder("utf8");
    try {
      for await (const chunk of bytes) sections.push(decoder.write(chunk));
    } finally {
      sections.end();
    }
    if (items.end()) this.#gap(path, "damaged", "The text breaks off inside a document");
    if (items.tooLarge > 0) this.#gap(path, "too-large", "A document is larger than any object");
  }

  #takeText(text: string, hint: Hints, path: string): void {
    let document: unknown;
    try {
      document = JSON.parse(text);
    } catch {
      this.#gap(path, "damaged", "A document is no JSON");
      return;
    }
    this.#take(document, hint, path);
  }

  #take(document: unknown, hint: Hints, path: string): void {
    const manifest = readManifest(document);
    if (manifest !== undefined) {
      this.#manifest ??= manifest;
      this.#root = path.slice(0, path.lastIndexOf("/") + 1);
      for (const kind of manifest.kinds) this.#kinds.add(kind);
      this.#dropsRecorded ||= manifest.dropsRecorded;
      return;
    }
    const found = objectsOf(document, hint, this.#place(path));
    for (const object of found.objects) if (isTelling(object)) this.#objects.push(object);
    for (const each of found.kinds) this.#kinds.add(each);
  }

  async #yaml(path: string, bytes: AsyncIterable<Buffer>): Promise<void> {
    const pieces: Buffer[] = [];
    let size = 0;
    for await (const chunk of bytes) {
      size += chunk.length;
      if (size > YAML_LIMIT) return this.#gap(path, "too-large", "YAML of more than 16 MiB");
      pieces.push(chunk);
    }
    const hint = { kind: kindByPath(path), apiVersion: undefined };
    const documents = parseAllDocuments(Buffer.concat(pieces).toString("utf8"), {
      logLevel: "silent",
      uniqueKeys: false,
    });
    for (const document of Array.isArray(documents) ? documents : [documents]) {
      if (document.errors.length > 0) this.#gap(path, "damaged", "A document is no whole YAML");
      this.#take(document.toJS({ maxAliasCount: 100 }), hint, path);
    }
  }

  async #log(path: string, bytes: AsyncIterable<Buffer>): Promise<void> {
    const name = this.#names.of(path);
    let digest: LogDigest | undefined = this.#digest(name, path);
    const { brokenOff } = await eachLine(bytes, (line) => {
      const mark = sectionMark(line);
      if (mark === undefined) digest?.add(line);
      else if (mark !== "end") digest = this.#section(digest, mark, path);
    });
    if (digest !== undefined) this.#keep(digest.finish(brokenOff));
  }

  /** In `kubectl cluster-info dump`, one after another, each log stands between marks. */
  #section(before: LogDigest | undefined, name: LogName, path: string): LogDigest {
    if (before !== undefined) this.#keep(before.finish(false));
    return this.#digest(name, path);
  }

  /** Logs that stand between marks in a file that else holds objects. */
  async #marked(path: string, bytes: AsyncIterable<Buffer>): Promise<void> {
    let digest: LogDigest | undefined;
    await eachLine(bytes, (line) => {
      const mark = sectionMark(line);
      if (mark === undefined) digest?.add(line);
      else {
        if (digest !== undefined) this.#keep(digest.finish(false));
        digest = mark === "end" ? undefined : this.#digest(mark, path);
      }
    });
    if (digest !== undefined) this.#keep(digest.finish(true));
  }

  #digest(name: LogName, origin: string): LogDigest {
    return new LogDigest({ ...name, ...this.#place(origin), nearMs: this.#nearMs });
  }

  #keep(log: LogStream): void {
    if (log.lineCount > 0) this.#logs.push(log);
  }

  async #metric(path: string, bytes: AsyncIterable<Buffer>): Promise<void> {
    const { namespace, name } = this.#names.of(path);
    const samples: MetricSample[] = [];
    await eachLine(bytes, (line) => {
      const sample = readSample(line);
      if (sample !== undefined) samples.push(sample);
    });
    this.#metrics.push({ namespace, pod: name, samples, place: this.#place(path) });
  }

  async #goroutine(path: string, bytes: AsyncIterable<Buffer>): Promise<void> {
    const { namespace, name } = this.#names.of(path);
    const reader = new GoroutineReader();
    await eachLine(bytes, (line) => reader.add(line));
    const stacks = reader.finish();
    this.#goroutines.push({ namespace, pod: name, stacks, place: this.#place(path) });
  }

  async #drop(path: string, bytes: AsyncIterable<Buffer>, kind: "drops" | "hubble"): Promise<void> {
    this.#dropsRecorded = true;
    let number = 0;
    await eachLine(bytes, (line) => {
      number += 1;
      if (this.#drops.length >= DROPS_MAX) return;
      const place = { origin: path, line: number };
      const drop =
        kind === "drops" ? readMonitorDrop(line, place) : readHubbleDrop(json(line), place);
      if (drop !== undefined) this.#drops.push(drop);
    });
  }

  #gap(what: string, why: Gap["why"], detail: string): void {
    this.#gaps.push({ what, why, detail, command: undefined });
  }
}

/** Both passes meet the same damage. */
function unique(gaps: readonly Gap[]): Gap[] {
  return [...new Map(gaps.map((gap) => [`${gap.what} ${gap.detail}`, gap])).values()];
}

function json(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

const SECTION = /^==== (START|END) logs for container (\S+) of pod (\S+)\/(\S+) ====/;

function sectionMark(line: string): LogName | "end" | undefined {
  if (!line.startsWith("==== ")) return undefined;
  const found = SECTION.exec(line);
  if (found === null) return undefined;
  const [, edge, container, namespace, name = ""] = found;
  return edge === "END" ? "end" : { namespace, name, container, previous: false };
}

function containersOf(pod: EvidenceObject): string[] {
  const spec = pod.spec as { containers?: { name?: string }[] } | undefined;
  return (spec?.containers ?? []).flatMap((each) => each.name ?? []);
}

function newestOf(objects: readonly EvidenceObject[]): number | undefined {
  let newest: number | undefined;
  for (const object of objects) {
    const ms = objectTime(object);
    if (ms !== undefined && (newest === undefined || ms > newest)) newest = ms;
  }
  return newest;
}
