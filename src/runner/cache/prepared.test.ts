import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import type { StartOrder } from "../../protocol/messages.ts";
import { bareOrder } from "../../testing/real-runner.ts";
import { type InitPlace, PreparedFolders, preparedKey } from "./prepared.ts";
import { ProviderStore } from "./providers.ts";

const scratch = mkdtempSync(join(tmpdir(), "nigari-prepared-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const NAME = "registry.opentofu.org/hashicorp/time/1.2.3/linux_amd64";
let root = "";
let count = 0;
beforeEach(() => {
  count += 1;
  root = join(scratch, `${count}`);
  mkdirSync(root);
});

function write(path: string, text: string): string {
  const whole = join(root, path);
  mkdirSync(dirname(whole), { recursive: true });
  writeFileSync(whole, text);
  return whole;
}

describe("the name of a prepared folder", () => {
  interface World {
    readonly order: StartOrder;
    readonly place: InitPlace;
  }
  function world(): World {
    const program = write("tofu", "a program");
    const config = write("cli.tfrc", "plugin_cache_may_break = true");
    mkdirSync(join(root, "work"), { recursive: true });
    const env = { TF_CLI_CONFIG_FILE: config, TF_HTTP_PASSWORD: "of run 1", PATH: "/bin" };
    const order = { ...bareOrder, artifactDigest: "aa", backend: "terraform {}", path: "live" };
    return { order, place: { cwd: join(root, "work"), env, program } };
  }
  const keyOf = ({ order, place }: World) => preparedKey(order, place);
  const ordered = (change: Partial<StartOrder>) => (from: World) => ({
    ...from,
    order: { ...from.order, ...change },
  });
  const inEnv = (env: Record<string, string>) => (from: World) => ({
    ...from,
    place: { ...from.place, env: { ...from.place.env, ...env } },
  });
  const content = Buffer.from("x");

  const others: Record<string, (from: World) => World> = {
    "the artifact": ordered({ artifactDigest: "bb" }),
    "the path": ordered({ path: "test" }),
    "the backend": ordered({ backend: "terraform { }" }),
    "whether the state must lie outside": ordered({ backendRequired: true }),
    "whether init upgrades": ordered({ upgrade: true }),
    "variables, from which sources of modules may be made": ordered({ variables: '{"a":1}' }),
    "a mapped file": ordered({ files: [{ location: "home", path: "x", content }] }),
    "a setting of OpenTofu": inEnv({ TF_PLUGIN_CACHE_DIR: "/else" }),
    "another CLI configuration": (from) => {
      return inEnv({ TF_CLI_CONFIG_FILE: write("other.tfrc", "") })(from);
    },
    "a CLI configuration that was edited": (from) => {
      write("cli.tfrc", "edited = true");
      return from;
    },
    "another OpenTofu": (from) => {
      return { ...from, place: { ...from.place, program: write("tofu2", "a program") } };
    },
    "an OpenTofu that was replaced": (from) => {
      write("tofu", "a newer program");
      return from;
    },
  };
  test.each(Object.entries(others))("is another with %s", async (_what, change) => {
    const from = world();
    const before = await keyOf(from);
    expect(before).toMatch(/^[0-9a-f]{64}$/);
    expect(await keyOf(change(from))).not.toBe(before);
  });

  const alike: Record<string, (from: World) => World> = {
    "another run's access to the state": inEnv({ TF_HTTP_PASSWORD: "of run 2" }),
    "a path written in another way": ordered({ path: "./live/" }),
    "an environment that init does not read": inEnv({ PATH: "/usr/bin" }),
    "another plan": ordered({ targets: ["a.b"], destroy: true, lock: false }),
  };
  test.each(Object.entries(alike))("is the same with %s", async (_what, change) => {
    const from = world();
    expect(await keyOf(change(from))).toBe(await keyOf(from));
  });

  test("is none where it would keep secrets, or where the source brings its own", async () => {
    const from = world();
    expect(await keyOf(ordered({ backendConfig: { key: "secret" } })(from))).toBeUndefined();
    mkdirSync(join(root, "work/.terraform"));
    expect(await keyOf(from)).toBeUndefined();
  });
});

describe("what is kept", () => {
  const LOCK = `provider "registry.opentofu.org/hashicorp/time" {
  version     = "1.2.3"
  constraints = "1.2.3"
}
`;
  const init = { upgrade: true, lockBefore: "" };

  /** A folder as init leaves it, the package in a store, and what keeps both. */
  async function made(more: Record<string, string> = {}, lock = LOCK) {
    write(`run/plugins/${NAME}/provider`, "the provider's program");
    write("run/work/.terraform.lock.hcl", lock);
    write("run/work/.terraform/terraform.tfstate", "{}");
    for (const [path, text] of Object.entries(more)) write(`run/work/${path}`, text);
    const at = join(root, "run/work/.terraform/providers", NAME);
    mkdirSync(dirname(at), { recursive: true });
    symlinkSync(join(root, "run/plugins", NAME), at);
    const store = new ProviderStore(join(root, "cache/providers"));
    await store.adopt(join(root, "run/plugins"));
    const folders = new PreparedFolders(join(root, "cache/prepared"), store);
    await folders.keep("k", join(root, "run/work"), init);
    rmSync(join(root, "run"), { recursive: true });
    mkdirSync(join(root, "next"));
    return folders;
  }
  const next = () => join(root, "next");
  const program = () => join(next(), ".terraform/providers", NAME, "provider");

  test("is put back whole, and outlives the cache", async () => {
    const folders = await made();
    expect(await folders.restore("k", next(), "plan")).toBe(true);
    rmSync(join(root, "cache"), { recursive: true });
    expect(readFileSync(program(), "utf8")).toBe("the provider's program");
    expect(readFileSync(join(next(), ".terraform.lock.hcl"), "utf8")).toBe(LOCK);
    expect(existsSync(join(next(), ".terraform/terraform.tfstate"))).toBe(true);
  });

  test("is put back though another run gave the same package first", async () => {
    write(`first/${NAME}/provider`, "the provider's program");
    utimesSync(join(root, "first", NAME, "provider"), 1, 1);
    const store = new ProviderStore(join(root, "cache/providers"));
    await store.adopt(join(root, "first"));
    const folders = await made();
    expect(await folders.restore("k", next(), "plan")).toBe(true);
    expect(statSync(program()).mtimeMs).toBe(1_000);
  });

  test("is offered whole or not at all", async () => {
    write(`first/${NAME}/a`, "one part");
    write(`first/${NAME}/provider`, "another");
    const store = new ProviderStore(join(root, "cache/providers"));
    await store.adopt(join(root, "first"));
    const plugins = join(root, "plugins");
    await store.seed(plugins, "");
    expect(readdirSync(join(plugins, NAME))).toEqual(["a", "provider"]);
    // What hinders the second link takes the first one with it.
    rmSync(plugins, { recursive: true });
    write(`plugins/${NAME}/provider`, "in the way");
    await store.seed(plugins, "");
    expect(existsSync(join(plugins, NAME))).toBe(false);
  });

  test("a package that the lock file would refuse is not offered", async () => {
    write(`first/${NAME}/provider`, "the provider's program");
    const store = new ProviderStore(join(root, "cache/providers"));
    await store.adopt(join(root, "first"));
    const hash = (await store.find(NAME))?.hash;
    const locked = (hashes: string) =>
      `provider "registry.opentofu.org/hashicorp/time" {\n  version = "1.2.3"\n` +
      `  hashes = [\n    "${hashes}",\n  ]\n}\n`;
    await store.seed(join(root, "refused"), locked("h1:another="));
    await store.seed(join(root, "taken"), locked(hash ?? ""));
    await store.seed(join(root, "other"), locked("h1:another=").replace("1.2.3", "1.2.4"));
    expect(["refused", "taken", "other"].map((each) => existsSync(join(root, each, NAME)))).toEqual(
      [false, true, true],
    );
  });

  const cached = (path: string) => join(root, "cache", path);
  const wanting: Record<string, () => void> = {
    "another name": () => rmSync(cached("prepared/k"), { recursive: true }),
    "a provider that was touched": () => {
      writeFileSync(cached(`providers/${NAME}/package/provider`), "the provider's Program");
    },
    "a provider that was cut off": () => {
      writeFileSync(cached(`providers/${NAME}/package/provider`), "");
    },
    "a provider that was cleared away": () => {
      rmSync(cached("providers"), { recursive: true });
    },
    "a folder that is half there": () => rmSync(cached("prepared/k/meta.json")),
    "a description that is half there": () => {
      writeFileSync(cached("prepared/k/meta.json"), '{"stable":true,');
    },
  };
  test.each(Object.entries(wanting))("is not used with %s", async (_what, break_) => {
    const folders = await made();
    break_();
    expect(await folders.restore("k", next(), "plan")).toBe(false);
    expect(readdirSync(next())).toEqual([]);
  });

  const modules = (source: string) => ({
    ".terraform/modules/modules.json": JSON.stringify({
      Modules: [
        { Key: "", Source: "", Dir: "." },
        { Key: "a", Source: source, Dir: "a" },
      ],
    }),
  });
  const sha = "0123456789abcdef0123456789abcdef01234567";
  const cases: Record<string, { more?: Record<string, string>; lock?: string; stable: boolean }> = {
    "a folder of the source": { more: modules("./a"), stable: true },
    "a commit": { more: modules(`git::https://x.example/a.git?ref=${sha}`), stable: true },
    "a branch": { more: modules("git::https://x.example/a.git?ref=main"), stable: false },
    "a registry": { more: modules("registry.opentofu.org/a/b/c"), stable: false },
    "any version": { lock: LOCK.replace('"1.2.3"\n}', '">= 1"\n}'), stable: false },
    "no provider at all": { lock: "", stable: true },
  };
  test.each(Object.entries(cases))(
    "serves a plan only if init would come to the same: %s",
    async (_what, { more, lock, stable }) => {
      const folders = await made(more, lock);
      expect(await folders.restore("k", next(), "plan")).toBe(stable);
      rmSync(next(), { recursive: true });
      mkdirSync(next());
      expect(await folders.restore("k", next(), "apply")).toBe(true);
      if (more !== undefined) {
        expect(existsSync(join(next(), ".terraform/modules/modules.json"))).toBe(true);
      }
    },
  );
});
