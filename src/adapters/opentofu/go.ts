import { CommandError, runCommand } from "../../processes/command.ts";
import { isAtLeast } from "./version.ts";

/** The build cannot be done here; the message says what to install or set. */
export class BuildError extends Error {
  override readonly name = "BuildError";
}

const MEND = "or set NIGARI_TOFU to an OpenTofu you have";
const ASK_LIMIT_MS = 60_000;

/**
 * Makes sure that `go` is on PATH and new enough, before a build spends minutes to find out. A Go
 * older than the pin will do if it may fetch the newer one by itself (GOTOOLCHAIN, Go 1.21+).
 */
export async function checkGo(
  need: { readonly title: string; readonly goVersion: string },
  env: Readonly<Record<string, string>>,
  call: { readonly signal: AbortSignal },
): Promise<void> {
  const ask = async (args: string[], more: Record<string, string>) => {
    const signal = AbortSignal.any([call.signal, AbortSignal.timeout(ASK_LIMIT_MS)]);
    const result = await runCommand(
      { file: "go", args, env: { ...env, ...more }, cwd: "/" },
      { signal },
    );
    if (result.code !== 0) {
      throw new BuildError(
        `Program "go" failed at "go ${args.join(" ")}": ${result.stderr.trim()}; ` +
          `reinstall Go (https://go.dev/dl), ${MEND}`,
      );
    }
    return result.stdout.toString().trim();
  };
  let have: string;
  try {
    have = (await ask(["env", "GOVERSION"], { GOTOOLCHAIN: "local" })).replace(/^go/, "");
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== "NotFound") throw error;
    throw new BuildError(
      `Go is needed to build ${need.title} and is not on PATH; ` +
        `install Go ${need.goVersion} or newer (https://go.dev/dl), ${MEND}`,
      { cause: error },
    );
  }
  if (isAtLeast(have, need.goVersion)) return;
  const fetches = isAtLeast(have, "1.21") && (await ask(["env", "GOTOOLCHAIN"], {})) !== "local";
  if (fetches) return;
  throw new BuildError(
    `Go ${have} is too old to build ${need.title}; ` +
      `install Go ${need.goVersion} or newer (https://go.dev/dl), ${MEND}`,
  );
}
