import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { findWorkspaceRead } from "./workspace-reads.ts";

const scratch = mkdtempSync(join(tmpdir(), "nigari-reads-"));
afterAll(() => rmSync(scratch, { recursive: true }));

async function find(files: Record<string, string>) {
  const folder = mkdtempSync(join(scratch, "module-"));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const found = await findWorkspaceRead(folder);
  return found && `${found.file}:${found.line} ${found.expression}`;
}

describe("found", () => {
  const cases: Record<string, { text: string; at: string }> = {
    "in an expression": {
      text: 'locals {\n  a = 1\n  name = terraform.workspace == "prod" ? 1 : 0\n}\n',
      at: "main.tf:3 terraform.workspace",
    },
    "by OpenTofu's own name": {
      text: "locals {\n  name = tofu.workspace\n}\n",
      at: "main.tf:2 tofu.workspace",
    },
    "in a template": {
      text: `locals {\n  name = "x-\${terraform.workspace}-y"\n}\n`,
      at: "main.tf:2 terraform.workspace",
    },
    "in a template in a template": {
      text: `a = "\${upper("b-\${ { x = "}" }.x }-\${tofu.workspace}")}"\n`,
      at: "main.tf:1 tofu.workspace",
    },
    "in a directive": {
      text: 'a = "%{ if terraform.workspace == "x" }y%{ endif }"\n',
      at: "main.tf:1 terraform.workspace",
    },
    "in a heredoc": {
      text: `a = <<-EOT\n  # text\n  \${terraform.workspace}\n  EOT\n`,
      at: "main.tf:3 terraform.workspace",
    },
    "behind comments and strings of every kind": {
      text: [
        "# terraform.workspace",
        "// terraform.workspace",
        "/* terraform.workspace",
        "   tofu.workspace */",
        'a = "quote \\" # not a comment"',
        "b = <<EOT",
        "terraform.workspace // text",
        "EOT",
        "c = terraform.workspace",
      ].join("\n"),
      at: "main.tf:9 terraform.workspace",
    },
  };
  test.each(Object.entries(cases))("%s", async (_, { text, at }) => {
    expect(await find({ "main.tf": text })).toBe(at);
  });

  test("in a file for OpenTofu alone, and in JSON", async () => {
    expect(await find({ "a.tofu": "a = tofu.workspace" })).toBe("a.tofu:1 tofu.workspace");
    const json = `{\n "locals": {"a": "\${terraform.workspace}"}\n}`;
    expect(await find({ "a.tf.json": json })).toBe("a.tf.json:2 terraform.workspace");
  });

  test("in a module that init has found, wherever it lies", async () => {
    const list = {
      Modules: [
        { Key: "", Source: "", Dir: "." },
        { Key: "near", Source: "./near", Dir: "near" },
        { Key: "far", Source: "registry/far", Dir: ".terraform/modules/far" },
      ],
    };
    const files = {
      "main.tf": 'module "far" { source = "registry/far" }',
      "near/main.tf": "a = 1",
      "unused/main.tf": "a = terraform.workspace",
      ".terraform/modules/modules.json": JSON.stringify(list),
      ".terraform/modules/far/x.tf": "a = terraform.workspace",
    };
    expect(await find(files)).toBe(".terraform/modules/far/x.tf:1 terraform.workspace");
  });
});

describe("not found", () => {
  const texts: Record<string, string> = {
    "where there is none": "a = 1\n",
    "in a comment at the end of a line": "a = 1 # terraform.workspace",
    "in a description": 'description = "Reads terraform.workspace no more"',
    "in an escaped template": `a = "$\${terraform.workspace}"`,
    "in an escaped directive": 'a = "%%{terraform.workspace}"',
    "in names that only look alike": "a = terraform.workspace_name + my_terraform.workspace",
    "in an attribute of something else": "a = data.x.terraform.workspace",
  };
  test.each(Object.entries(texts))("%s", async (_, text) => {
    expect(await find({ "main.tf": text })).toBeUndefined();
  });

  test("in files that are no code", async () => {
    expect(await find({ "main.tf": "a = 1", "README.md": "terraform.workspace" })).toBeUndefined();
  });
});
