import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { recognizers } from "../../recognizers/index.ts";
import { quietShell } from "../../testing/fakes/shell.ts";
import { CliError } from "../world.ts";
import { runbookCheck, runbookRender, runbookSync } from "./runbook.ts";

let root = "";
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "runbook-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const put = async (path: string, text: string) => {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
};
const read = (path: string) => readFile(join(root, path), "utf8");
const sync = async (check = false, folder?: string) => {
  const shell = quietShell();
  const code = await runbookSync(shell, { repo: root, root: folder, check });
  return { code, ...shell.printed };
};

describe("render and check", () => {
  test("a rendered folder holds every page and passes its check", async () => {
    const folder = join(root, "runbook");
    expect(await runbookCheck(quietShell(), folder)).toBe(1);
    await runbookRender(quietShell(), folder);
    expect(await runbookCheck(quietShell(), folder)).toBe(0);
    for (const { id } of recognizers) {
      expect(await read(`runbook/${id}.md`)).toContain(`# ${id}\n`);
    }
    expect((await stat(join(folder, "troubleshooting.md"))).mode & 0o777).toBe(0o644);
  });

  test("a page of a recognizer that is gone is removed, one by hand is not", async () => {
    const folder = join(root, "runbook");
    await runbookRender(quietShell(), folder);
    const [first] = recognizers;
    const page = await read(`runbook/${first?.id}.md`);
    await put("runbook/tofu/old.md", page);
    await put("runbook/own.md", "# Mine\n");
    const shell = quietShell();
    expect(await runbookCheck(shell, folder)).toBe(1);
    expect(shell.printed.err).toContain("tofu/old.md is left over");
    await runbookRender(quietShell(), folder);
    await expect(read("runbook/tofu/old.md")).rejects.toThrow();
    expect(await read("runbook/own.md")).toBe("# Mine\n");
  });

  test("an edited page fails the check, which names the mend", async () => {
    const folder = join(root, "runbook");
    await runbookRender(quietShell(), folder);
    await put("runbook/troubleshooting.md", "gone");
    const shell = quietShell();
    expect(await runbookCheck(shell, folder)).toBe(1);
    expect(shell.printed.err).toMatch(/troubleshooting\.md is old\n.*runbook render -o /);
  });
});

describe("sync", () => {
  test("puts the failures and a pointer into another repository, once and for all", async () => {
    await put("AGENTS.md", "# Ours\n\nread this\n");
    await put("docs/troubleshooting.md", "# Troubleshooting\n\n## Certificates\n\nours\n");
    expect((await sync(true)).code).toBe(1);
    expect(await read("AGENTS.md")).toBe("# Ours\n\nread this\n");
    expect((await sync()).code).toBe(0);
    const docs = await read("docs/troubleshooting.md");
    expect(docs.startsWith("# Troubleshooting\n\n## Certificates\n\nours\n\n<!-- nigari:")).toBe(
      true,
    );
    expect(docs).toContain("### tofu/reconcile-parked");
    const agents = await read("AGENTS.md");
    expect(agents.startsWith("# Ours\n\nread this\n\n<!-- nigari:pointer:begin")).toBe(true);
    expect(agents).toContain("[docs/troubleshooting.md](docs/troubleshooting.md)");
    expect(agents).toContain("`tofu/reconcile-parked`");
    expect((await sync(true)).code).toBe(0);
    expect((await sync()).out).toBe("Everything is as it should be\n");
    expect(await read("docs/troubleshooting.md")).toBe(docs);
  });

  test.each([
    ["in the folder itself", "cluster/AGENTS.md", "docs/troubleshooting.md"],
    ["at the top", "AGENTS.md", "cluster/docs/troubleshooting.md"],
  ])("with a root finds the AGENTS.md %s", async (_, file, link) => {
    await put(file, "# Ours\n");
    await mkdir(join(root, "cluster"), { recursive: true });
    expect((await sync(false, "cluster")).code).toBe(0);
    expect(await read(file)).toContain(`(${link})`);
    expect(await read("cluster/docs/troubleshooting.md")).toMatch(/^# Troubleshooting\n/);
  });

  test("without an AGENTS.md says so and makes none", async () => {
    const { code, err } = await sync();
    expect(code).toBe(0);
    expect(err).toContain("There is no AGENTS.md");
    await expect(read("AGENTS.md")).rejects.toThrow();
    expect((await sync(true)).code).toBe(0);
  });

  test("broken markers, a folder outside and a link that leads out are refused", async () => {
    await put("docs/troubleshooting.md", "<!-- nigari:runbook:begin -->\n");
    await expect(sync()).rejects.toThrow(CliError);
    await expect(sync()).rejects.toThrow("docs/troubleshooting.md: The marker in line 1 ");
    await expect(sync(false, "..")).rejects.toThrow("leads out of");
    await expect(sync(false, "nowhere")).rejects.toThrow("does not exist");
    const outside = await mkdtemp(join(tmpdir(), "outside-"));
    await rm(join(root, "docs"), { recursive: true });
    await symlink(outside, join(root, "docs"));
    await expect(sync()).rejects.toThrow("is a link that leads out of");
    await rm(outside, { recursive: true });
  });
});
