import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { toolsFolder } from "../adapters/opentofu/programs.ts";

export interface PinnedTools {
  /** The pinned OpenTofu, absolute. */
  readonly tofu: string;
  /** Filesystem mirror that holds provider `time`. */
  readonly providers: string;
  /**
   * Text of a CLI configuration by which `tofu init` takes every provider from the mirror and
   * never asks a registry. For TF_CLI_CONFIG_FILE.
   */
  readonly cliConfig: string;
}

/** What tests on real parts work with, whatever the machine has on PATH. */
export function pinnedTools(): PinnedTools {
  const root = join(import.meta.dirname, "../..");
  const folder = toolsFolder({ env: process.env, root });
  const tofu = join(folder, "bin/tofu");
  const providers = join(folder, "providers");
  if (!existsSync(tofu) || !existsSync(providers) || readdirSync(providers).length === 0) {
    throw new Error(`Folder ${folder} lacks OpenTofu or provider time; run "npm run tools"`);
  }
  return {
    tofu,
    providers,
    cliConfig: `provider_installation {
  filesystem_mirror {
    path = ${JSON.stringify(providers)}
  }
}
`,
  };
}
