// npm run build: bundles the programs into dist/, for the npm package: Node strips types from no
// file below node_modules, and one file starts faster than a thousand.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type BuildOptions, build, type Metafile } from "esbuild";

const root = join(import.meta.dirname, "..");
const target = join(root, "dist");
/** Everything is made here and put in place at once: whoever uses dist/ meanwhile is not hurt. */
const making = join(root, `dist.making-${process.pid}`);

// Packages in CommonJS ask for these; an ES module has them not.
const banner = [
  'import { createRequire as __createRequire } from "node:module";',
  "const require = __createRequire(import.meta.url);",
  "const __filename = import.meta.filename;",
  "const __dirname = import.meta.dirname;",
].join("\n");

const common: BuildOptions = {
  absWorkingDir: root,
  bundle: true,
  platform: "node",
  target: "node24",
  format: "esm",
  metafile: true,
  legalComments: "none",
  charset: "utf8",
  logLevel: "warning",
  banner: { js: banner },
  outdir: making,
};

const metafiles = [
  // Split, so that what a command imports when it runs is not read for the others.
  await bundle("cli", { splitting: true, chunkNames: "parts/[name]-[hash]" }),
  // One file: it may be copied elsewhere by itself, and a test reads its list of inputs.
  await bundle("runner", {}),
  // In an image there is no package.json to ask.
  await bundle("runner-pod", { define: { "process.env.NIGARI_BUILD_VERSION": version() } }),
  await bundle("controller", {}),
].filter((each) => each !== undefined);
writeFileSync(join(making, "THIRD-PARTY-LICENSES.txt"), licences(metafiles));
putInPlace();

async function bundle(program: string, more: BuildOptions): Promise<Metafile | undefined> {
  const entry = `src/main/${program}.ts`;
  if (!existsSync(join(root, entry))) return undefined;
  const { metafile } = await build({ ...common, ...more, entryPoints: { [program]: entry } });
  if (metafile === undefined) throw new Error(`Bundling ${program} gave no list of inputs`);
  mkdirSync(join(making, "meta"), { recursive: true });
  writeFileSync(join(making, "meta", `${program}.json`), JSON.stringify(metafile));
  return metafile;
}

function version(): string {
  return JSON.stringify(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version);
}

/** The licences of all packages that went into the bundles, as most of them ask for. */
function licences(from: Metafile[]): string {
  const folders = from.flatMap(({ inputs }) =>
    Object.keys(inputs).flatMap(
      (path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? [],
    ),
  );
  const texts = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(
      readFileSync(join(root, folder, "package.json"), "utf8"),
    );
    const file = ["LICENSE", "LICENSE.md", "license", "LICENCE", "LICENSE.txt"]
      .map((each) => join(root, folder, each))
      .find(existsSync);
    const text =
      file === undefined ? "(no licence text in the package)" : readFileSync(file, "utf8");
    return `${name} ${version} (${license})\n\n${text.trim()}\n`;
  });
  const rule = `\n${"-".repeat(80)}\n\n`;
  return `Packages contained in the programs of this folder\n\n${texts.join(rule)}`;
}

function putInPlace(): void {
  const old = `${target}.old-${process.pid}`;
  if (existsSync(target)) renameSync(target, old);
  renameSync(making, target);
  rmSync(old, { recursive: true, force: true });
}
