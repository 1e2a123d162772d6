import { mkdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import type { StartOrder } from "../protocol/messages.ts";
import type { RunFolder } from "../protocol/run-folder.ts";
import { fill } from "../template/fill.ts";
import { parseTemplate, TemplateError } from "../template/parse.ts";
import { backendConfigText } from "./arguments.ts";
import { StageFailure } from "./failure.ts";

export interface LaidOut {
  /** Variables that make OpenTofu find what was laid out. */
  readonly env: Readonly<Record<string, string>>;
  /** For -backend-config; undefined: there is nothing to tell. */
  readonly backendConfigFile: string | undefined;
}

export interface Place {
  readonly folder: RunFolder;
  /** Folder of the root module. */
  readonly cwd: string;
}

/** Writes what a run is given besides its artifact, each file for its owner alone. */
export async function layOut(order: StartOrder, { folder, cwd }: Place): Promise<LaidOut> {
  const env: Record<string, string> = {};
  await rm(folder.home, { recursive: true, force: true });
  for (const file of order.files) {
    if (file.location === "home") await mkdir(folder.home, { recursive: true, mode: 0o700 });
    await writeMapped(file.location === "home" ? folder.home : cwd, file);
  }
  // Programs find the mapped files where they look; the home of whoever started us is left alone.
  if (order.files.some(({ location }) => location === "home")) env.HOME = folder.home;
  if (order.cliConfig !== undefined) {
    await writeFresh(folder.cliConfig, order.cliConfig);
    env.TF_CLI_CONFIG_FILE = folder.cliConfig;
  }
  // After the mapped files, which must not stand in the place of these.
  await writeFresh(join(cwd, "generated.auto.tfvars.json"), checkedVariables(order.variables));
  await fillTemplate(cwd, order.variables);
  if (order.backend !== undefined) {
    await writeFresh(join(cwd, "backend_override.tf"), order.backend);
  }
  if (Object.keys(order.backendConfig).length === 0) return { env, backendConfigFile: undefined };
  await writeFresh(folder.backendConfig, backendConfigText(order.backendConfig));
  return { env, backendConfigFile: folder.backendConfig };
}

/** A link in the artifact may lead elsewhere in it, and never out of the base folder. */
async function writeMapped(base: string, file: StartOrder["files"][number]): Promise<void> {
  const refused = () =>
    new StageFailure("init", `spec.fileMappings: "${file.path}" leads out of its base folder`);
  const root = await realpath(base);
  let folder = root;
  for (const part of dirname(file.path).split("/")) {
    if (part === "..") throw refused();
    const next = join(folder, part);
    await mkdir(next, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
    folder = await realpath(next);
    if (folder !== root && !folder.startsWith(root + sep)) throw refused();
  }
  const name = file.path.split("/").at(-1) ?? "";
  if (name === "" || name === "." || name === "..") throw refused();
  await writeFresh(join(folder, name), file.content);
}

/** A root module may be a template of the variables, as tofu-controller has it: main.tf.tpl. */
async function fillTemplate(cwd: string, variables: string): Promise<void> {
  const text = await readFile(join(cwd, "main.tf.tpl"), "utf8").catch(() => undefined);
  if (text === undefined) return;
  const data = JSON.parse(checkedVariables(variables)) as Record<string, unknown>;
  try {
    const nodes = parseTemplate(text, { open: "{{", close: "}}" });
    await writeFresh(join(cwd, "main.tf"), fill(nodes, { ...data, Values: data.values ?? {} }));
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    throw new StageFailure("init", `main.tf.tpl: ${error.message}`, {
      reason: "TemplateGenerationFailed",
    });
  }
}

function checkedVariables(text: string): string {
  if (text === "") return "{}";
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  // The text itself, for its numbers may have more digits than ours.
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return text;
  throw new StageFailure("init", "The variables are not a JSON object", {
    reason: "VarsGenerationFailed",
  });
}

/** In the place of whatever the source has there, be it a link to somewhere else. */
async function writeFresh(path: string, content: string | Uint8Array): Promise<void> {
  await rm(path, { force: true });
  await writeFile(path, content, { mode: 0o600, flag: "wx" });
}

/**
 * Fails if the state would lie in the run's own folder, and be gone with it: where neither spec nor
 * module names a backend, and where a local one has no absolute path.
 */
export async function refuseLostState(cwd: string): Promise<void> {
  const text = await readFile(join(cwd, ".terraform/terraform.tfstate"), "utf8").catch(() => "{}");
  const { backend } = JSON.parse(text) as {
    backend?: { type?: string; config?: { path?: string | null; workspace_dir?: string | null } };
  };
  const path = backend?.config?.path ?? "";
  const inside = !isAbsolute(path) || !relative(cwd, path).startsWith("..");
  if (backend?.type !== undefined && (backend.type !== "local" || !inside)) return;
  const found = backend?.type === undefined ? "names no backend" : "has a local backend";
  throw new StageFailure(
    "init",
    `The module ${found}, so its state would lie in the run's folder and be lost with it; ` +
      "give the backend a place outside, or remove spec.backendConfig to have Nigari keep it",
  );
}
