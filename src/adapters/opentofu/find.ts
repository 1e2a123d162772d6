import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import type { Call } from "../../ports/call.ts";
import { runCommand } from "../../processes/command.ts";
import { type MakeOptions, makeProgram } from "./make.ts";
import { openTofu } from "./programs.ts";
import { isAtLeast } from "./version.ts";

export interface FoundOpenTofu {
  /** Absolute. */
  readonly path: string;
  /** "1.12.6". */
  readonly version: string;
  readonly product: "opentofu" | "terraform";
  readonly how: "NIGARI_TOFU" | "tofu on PATH" | "terraform on PATH" | "built";
}

export interface FindOptions extends MakeOptions {
  /** Folder of package.json, which holds the pins. */
  readonly root: string;
}

/** There is no OpenTofu, and none can be made. The message says what was tried and the mend. */
export class NoOpenTofu extends Error {
  override readonly name = "NoOpenTofu";
}

const TERRAFORM_LEAST = "1.5";
const ASK_LIMIT_MS = 10_000;

/**
 * The OpenTofu to work with: NIGARI_TOFU, else `tofu` on PATH, else `terraform` (1.5 or newer) on
 * PATH, else the pinned one, built now if it is not there. A candidate counts only once it has
 * said its version. Fails with NoOpenTofu.
 */
export async function findOpenTofu(options: FindOptions, call: Call): Promise<FoundOpenTofu> {
  const { env } = options;
  if (env.NIGARI_TOFU) return named(env.NIGARI_TOFU, env, call);

  const passedOver: string[] = [];
  for (const name of ["tofu", "terraform"] as const) {
    const path = await onPath(name, env.PATH);
    if (path === undefined) continue;
    const answer = await identify(path, env, call);
    if ("trouble" in answer) passedOver.push(answer.trouble);
    else return { path, ...answer, how: `${name} on PATH` };
  }
  try {
    const program = await openTofu(options.root);
    const path = await makeProgram(program, options, call);
    const answer = await identify(path, env, call);
    if (!("trouble" in answer)) return { path, ...answer, how: "built" };
    passedOver.push(answer.trouble);
    throw new Error("The OpenTofu that was built does not run");
  } catch (error) {
    call.signal.throwIfAborted();
    const why = error instanceof Error ? error.message : String(error);
    const before = passedOver.map((trouble) => `${trouble}\n`).join("");
    throw new NoOpenTofu(`No OpenTofu to work with. ${before}${why}`, { cause: error });
  }
}

async function named(value: string, env: FindOptions["env"], call: Call): Promise<FoundOpenTofu> {
  const path = value.includes("/") ? resolve(value) : await onPath(value, env.PATH);
  const mend = "correct it, or unset it to have one found or built";
  if (path === undefined) {
    throw new NoOpenTofu(`NIGARI_TOFU names "${value}", which is not on PATH; ${mend}`);
  }
  const answer = await identify(path, env, call);
  if ("trouble" in answer) throw new NoOpenTofu(`NIGARI_TOFU: ${answer.trouble}; ${mend}`);
  return { path, ...answer, how: "NIGARI_TOFU" };
}

/** The first executable file of that name, as a shell finds it. */
async function onPath(name: string, path: string | undefined): Promise<string | undefined> {
  for (const folder of (path ?? "").split(delimiter).filter((each) => each !== "")) {
    const candidate = resolve(join(folder, name));
    const isThere = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return candidate;
  }
  return undefined;
}

type Answer =
  | Pick<FoundOpenTofu, "version" | "product">
  /** Why it cannot be used; names its path. */
  | { readonly trouble: string };

/** Asks a program for its name and version; JSON has the version alone, so the plain text it is. */
async function identify(path: string, env: FindOptions["env"], call: Call): Promise<Answer> {
  const signal = AbortSignal.any([call.signal, AbortSignal.timeout(ASK_LIMIT_MS)]);
  // Bare surroundings: no CLI configuration to warn about, no question home for newer releases.
  const child = { PATH: env.PATH ?? "", HOME: env.HOME ?? "/", CHECKPOINT_DISABLE: "1" };
  let text: string;
  try {
    const result = await runCommand(
      { file: path, args: ["version"], cwd: "/", env: child },
      { signal },
    );
    text = result.stdout.toString();
    if (result.code !== 0) {
      const why = result.stderr.trim().split("\n")[0] ?? "";
      return { trouble: `${path} does not tell its version (exit code ${result.code}): ${why}` };
    }
  } catch (error) {
    call.signal.throwIfAborted();
    return { trouble: `${path} does not run: ${error instanceof Error ? error.message : error}` };
  }
  const match = /^(OpenTofu|Terraform) v(\S+)/.exec(text);
  if (match === null) return { trouble: `${path} is neither OpenTofu nor Terraform` };
  const [, product, version = ""] = match;
  if (product === "Terraform" && !isAtLeast(version, TERRAFORM_LEAST)) {
    return { trouble: `${path} is Terraform ${version}, older than ${TERRAFORM_LEAST}` };
  }
  return { product: product === "OpenTofu" ? "opentofu" : "terraform", version };
}
