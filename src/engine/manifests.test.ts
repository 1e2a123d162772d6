import { beforeEach, describe, expect, test } from "vitest";
import { StoreFaults } from "../adapters/memory/faults.ts";
import { memoryObjectStore } from "../adapters/memory/object-store.ts";
import type { ConfigMap, Secret } from "../api/core.ts";
import type { Diagnostic } from "../api/diagnostic.ts";
import type { AnyObject } from "../api/kinds.ts";
import type { Terraform } from "../api/terraform.ts";
import { noLog } from "../ports/log.ts";
import type { Manifests } from "../ports/manifests.ts";
import { describeRef, type ObjectStore } from "../ports/object-store.ts";
import { seededRandom, VirtualClock } from "../testing/fakes/clock.ts";
import { ManifestSync, type SyncReport } from "./manifests.ts";

const call = { signal: new AbortController().signal };
let clock: VirtualClock;
let faults: StoreFaults;
let store: ObjectStore;
let found: Manifests | Error;
let told: SyncReport[];
let looks: number;
beforeEach(() => {
  clock = new VirtualClock();
  faults = new StoreFaults();
  store = memoryObjectStore({ clock, random: seededRandom(1), faults });
  found = { version: "1", objects: [], diagnostics: [] };
  told = [];
  looks = 0;
});

function newSync(prune = false, owner = "me"): ManifestSync {
  const source = {
    async read() {
      looks += 1;
      if (found instanceof Error) throw found;
      return found;
    },
  };
  const onReport = (report: SyncReport) => told.push(report);
  const pollMs = 1_000;
  return new ManifestSync({ source, store, clock, log: noLog, owner, prune, pollMs, onReport });
}
const terraform = (name: string, spec: Partial<Terraform["spec"]> = {}): Terraform => ({
  apiVersion: "infra.contrib.fluxcd.io/v1alpha2",
  kind: "Terraform",
  metadata: { name, namespace: "default" },
  spec: { interval: "5m", sourceRef: { kind: "GitRepository", name: "infra" }, ...spec },
});
const map = (name: string): ConfigMap => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default" },
});
const secret = (name: string): Secret => ({ ...map(name), kind: "Secret" });
function hold(objects: AnyObject[], ...diagnostics: Diagnostic[]): void {
  found = { version: "1", objects, diagnostics };
}
const names = (refs: readonly { kind: string; namespace: string; name: string }[]) =>
  refs.map(describeRef);
async function stored(): Promise<string[]> {
  const kinds = ["Secret", "ConfigMap", "Terraform"] as const;
  const lists = await Promise.all(kinds.map((kind) => store.list(kind, {}, call)));
  return lists.flatMap(({ items }) =>
    items.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
  );
}
const bad: Diagnostic = { severity: "error", summary: "Document 1: is nonsense", file: "x.yaml" };

test("what others refer to is applied first", async () => {
  hold([terraform("web"), map("vars"), secret("token")]);
  const { changed } = await newSync().look(call);
  expect(changed.map(({ ref, applied }) => `${applied} ${ref.kind}`)).toEqual([
    "created Secret",
    "created ConfigMap",
    "created Terraform",
  ]);
});

test("a look that finds nothing new writes and tells nothing", async () => {
  hold([terraform("web"), map("vars")], { severity: "warning", summary: "Odd" });
  const sync = newSync();
  await sync.look(call);
  const before = (await store.list("Terraform", {}, call)).resourceVersion;
  await sync.look(call);
  await newSync().look(call);
  expect((await store.list("Terraform", {}, call)).resourceVersion).toBe(before);
  expect(told.slice(0, -1)).toHaveLength(1);
});

test("an object that somebody deleted is made anew", async () => {
  hold([map("vars")]);
  const sync = newSync();
  await sync.look(call);
  await store.delete({ kind: "ConfigMap", namespace: "default", name: "vars" }, {}, call);
  expect((await sync.look(call)).changed).toMatchObject([{ applied: "created" }]);
});

describe("what is bad", () => {
  test("a manifest that the store refuses is told, and the others are applied", async () => {
    hold([map("Bad Name"), terraform("web")]);
    const { diagnostics } = await newSync().look(call);
    expect(await stored()).toEqual(["Terraform web"]);
    expect(diagnostics).toHaveLength(1);
    expect(diagnostics[0]?.summary).toContain("ConfigMap/default/Bad Name: metadata.name");
  });

  test("of a manifest that went bad the last good object stays, even with prune", async () => {
    const sync = newSync(true);
    hold([terraform("web"), map("vars")]);
    await sync.look(call);
    hold([map("vars")], bad);
    for (let minute = 0; minute < 3; minute++) {
      const report = await sync.look(call);
      expect(report.vanished).toEqual([]);
      expect(report.diagnostics).toEqual([bad]);
      await clock.advance(60_000);
    }
    expect(await stored()).toEqual(["ConfigMap vars", "Terraform web"]);
  });

  test("a source that cannot be read is told once, and nothing is lost", async () => {
    const sync = newSync(true);
    hold([map("vars")]);
    await sync.look(call);
    found = new Error("Folder /x does not exist");
    await sync.look(call);
    await sync.look(call);
    expect(await stored()).toEqual(["ConfigMap vars"]);
    expect(told.map(({ diagnostics }) => diagnostics.map(({ summary }) => summary))).toEqual([
      [],
      ["Folder /x does not exist"],
    ]);
  });

  test("a store that fails for a while is told, and what it missed comes later", async () => {
    const sync = newSync();
    hold([map("vars")]);
    faults.unavailable = true;
    expect((await sync.look(call)).diagnostics.length).toBeGreaterThan(0);
    faults.unavailable = false;
    expect((await sync.look(call)).changed).toMatchObject([{ applied: "created" }]);
  });
});

describe("what has vanished", () => {
  test("is told and stays, without prune", async () => {
    const sync = newSync();
    hold([terraform("web"), map("vars")]);
    await sync.look(call);
    hold([map("vars")]);
    for (let minute = 0; minute < 3; minute++) {
      expect(names((await sync.look(call)).vanished)).toEqual(["Terraform/default/web"]);
      await clock.advance(60_000);
    }
    expect(await stored()).toEqual(["ConfigMap vars", "Terraform web"]);
    expect(told, "once").toHaveLength(2);
  });

  test("is known to an engine that was started anew", async () => {
    hold([terraform("web"), map("vars")]);
    await newSync().look(call);
    hold([map("vars")]);
    expect(names((await newSync().look(call)).vanished)).toEqual(["Terraform/default/web"]);
  });

  test("is deleted with prune once it was away for a while, not in the first moment", async () => {
    const sync = newSync(true);
    hold([terraform("web"), map("vars")]);
    await sync.look(call);
    hold([map("vars")]);
    expect(names((await sync.look(call)).vanished)).toEqual(["Terraform/default/web"]);
    await clock.advance(5_000);
    hold([terraform("web"), map("vars")]);
    await sync.look(call);
    hold([map("vars")]);
    await sync.look(call);
    await clock.advance(6_000);
    expect((await sync.look(call)).pruned, "its time began anew").toEqual([]);
    await clock.advance(5_000);
    expect(names((await sync.look(call)).pruned)).toEqual(["Terraform/default/web"]);
    expect(await stored()).toEqual(["ConfigMap vars"]);
  });

  test("keeps sources and Secrets until the Terraforms that may need them are gone", async () => {
    const sync = newSync(true);
    hold([terraform("web"), secret("token"), map("stays")]);
    await sync.look(call);
    const web = { kind: "Terraform", namespace: "default", name: "web" } as const;
    const held = await store.get(web, call);
    if (held === undefined) throw new Error("It is not there");
    held.metadata.finalizers = ["a.test/x"];
    const kept = await store.update(held, "main", call);
    hold([map("stays")]);
    await sync.look(call);
    await clock.advance(11_000);
    expect(names((await sync.look(call)).pruned)).toEqual(["Terraform/default/web"]);
    await clock.advance(60_000);
    expect((await sync.look(call)).pruned).toEqual([]);
    const leaving = (await store.get(web, call)) ?? kept;
    await store.update(
      { ...leaving, metadata: { ...leaving.metadata, finalizers: [] } },
      "main",
      call,
    );
    expect(names((await sync.look(call)).pruned)).toEqual(["Secret/default/token"]);
  });

  test("is never all there was: an empty source deletes nothing", async () => {
    const sync = newSync(true);
    hold([terraform("web")]);
    await sync.look(call);
    hold([]);
    await sync.look(call);
    await clock.advance(60_000);
    expect((await sync.look(call)).pruned).toEqual([]);
    expect(await stored()).toEqual(["Terraform web"]);
  });

  describe("a manifest overwritten by something that is none", () => {
    const place = (object: AnyObject, file: string) => new Map([[object, file]]);
    const web = terraform("web");
    const overwritten = { version: "2", objects: [map("stays")], diagnostics: [], unclear: ["w"] };

    test("has not vanished: it is told by name, and its object stays", async () => {
      found = {
        version: "1",
        objects: [web, map("stays")],
        diagnostics: [],
        files: place(web, "w"),
      };
      await newSync(true).look(call);
      found = overwritten;
      // Another engine than the one that applied it.
      const sync = newSync(true);
      for (let minute = 0; minute < 3; minute++) {
        const report = await sync.look(call);
        expect(report).toMatchObject({ vanished: [], pruned: [] });
        expect(report.diagnostics).toEqual([
          {
            severity: "error",
            file: "w",
            summary: expect.stringMatching(/^Terraform\/default\/web: .* is no manifest; .* kept/),
          },
        ]);
        await clock.advance(60_000);
      }
      expect(await stored()).toEqual(["ConfigMap stays", "Terraform web"]);
      found = { ...overwritten, unclear: [] };
      await sync.look(call);
      await clock.advance(11_000);
      expect(names((await sync.look(call)).pruned)).toEqual(["Terraform/default/web"]);
    });

    test("counts by the file that the object stood in last", async () => {
      found = {
        version: "1",
        objects: [web, map("stays")],
        diagnostics: [],
        files: place(web, "w"),
      };
      const sync = newSync(true);
      await sync.look(call);
      found = { ...found, files: place(web, "elsewhere") };
      await sync.look(call);
      found = overwritten;
      await sync.look(call);
      await clock.advance(11_000);
      expect(names((await sync.look(call)).pruned)).toEqual(["Terraform/default/web"]);
    });
  });

  test("of other owners and of people is not touched", async () => {
    hold([map("theirs")]);
    await newSync(true, "other").look(call);
    await store.create(map("mine"), call);
    hold([map("ours")]);
    const sync = newSync(true);
    await sync.look(call);
    await clock.advance(60_000);
    expect((await sync.look(call)).vanished).toEqual([]);
    expect(await stored()).toEqual(["ConfigMap mine", "ConfigMap ours", "ConfigMap theirs"]);
  });
});

test("the log tells each thing once, with its place, and not at every look", async () => {
  const lines: string[] = [];
  const keep = (level: string) => (message: string, fields?: object) => {
    lines.push(`${level} ${message}${fields === undefined ? "" : ` ${JSON.stringify(fields)}`}`);
  };
  const log = { debug: () => {}, info: keep("info"), warn: keep("warn"), error: keep("error") };
  hold([map("a")]);
  const source = { read: async () => found as Manifests };
  const sync = new ManifestSync({
    ...{ source, store, clock, log },
    ...{ owner: "me", prune: false, pollMs: 1_000 },
  });
  await sync.look(call);
  hold([], { severity: "warning", summary: "Skipped", file: "x.yaml", line: 3, column: 5 });
  await sync.look(call);
  await sync.look(call);
  expect(lines).toEqual([
    'info Manifest applied {"object":"ConfigMap/default/a","outcome":"created"}',
    "warn x.yaml:3:5: Skipped",
    "warn Manifests have vanished; nothing is deleted without --prune " +
      '{"objects":"ConfigMap/default/a"}',
  ]);
});

test("run looks again and again until its signal", async () => {
  hold([map("vars")]);
  const stop = new AbortController();
  const running = newSync().run(stop.signal);
  await clock.advance(3_500);
  expect(looks).toBe(4);
  stop.abort();
  await running;
});
