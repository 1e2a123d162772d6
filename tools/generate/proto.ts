import { spawnSync } from "node:child_process";
import { delimiter, join } from "node:path";

const root = join(import.meta.dirname, "../..");

/** What `buf generate` is told; it compiles by itself and asks no registry. */
const template = {
  version: "v2",
  clean: true,
  plugins: [
    {
      local: "protoc-gen-es",
      out: "src/protocol/generated",
      opt: ["target=ts", "import_extension=ts", "erasable_syntax=true"],
    },
  ],
};

/** Writes src/protocol/generated from proto/. */
export function generateProto(): void {
  const binaries = join(root, "node_modules/.bin");
  const run = spawnSync(
    process.execPath,
    [
      join(root, "node_modules/@bufbuild/buf/bin/buf"),
      "generate",
      "--template",
      JSON.stringify(template),
    ],
    {
      cwd: root,
      encoding: "utf8",
      env: { ...process.env, PATH: `${binaries}${delimiter}${process.env.PATH ?? ""}` },
    },
  );
  if (run.status !== 0) throw new Error(`buf generate failed: ${run.stderr || run.error}`);
}
