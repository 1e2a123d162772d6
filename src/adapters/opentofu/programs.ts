import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** A program that is built from a Go module pinned in this repository. */
export interface GoProgram {
  /** As people say it: "OpenTofu 1.12.6". */
  readonly title: string;
  /** File name of its stamp. */
  readonly id: string;
  readonly version: string;
  /** The Go release that go.mod asks for. */
  readonly goVersion: string;
  /** Folder of go.mod and go.sum. */
  readonly moduleFolder: string;
  readonly package: string;
  readonly linkerFlags: string;
  /** Where it goes, relative to the tools folder. */
  readonly target: string;
  /** Changes with anything that changes the program. */
  readonly stamp: string;
}

/** The machine the programs are for, in Go's words. */
export interface GoPlatform {
  readonly os: string;
  readonly arch: string;
}

/**
 * Where built programs are kept: NIGARI_TOOLS if set, else `.tools` of a checkout, else the data
 * directory (an installed package may not be writable, and goes away with every update).
 */
export function toolsFolder(at: {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folder of package.json. */
  readonly root: string;
  readonly dataDir?: string | undefined;
}): string {
  if (at.env.NIGARI_TOOLS) return at.env.NIGARI_TOOLS;
  const isCheckout = existsSync(join(at.root, "src"));
  return isCheckout || at.dataDir === undefined
    ? join(at.root, ".tools")
    : join(at.dataDir, "tools");
}

export function thisPlatform(): GoPlatform {
  return { os: process.platform, arch: process.arch === "x64" ? "amd64" : process.arch };
}

/** OpenTofu as pinned in `<root>/tools/go.mod`. */
export async function openTofu(root: string, platform = thisPlatform()): Promise<GoProgram> {
  return pinnedProgram({
    id: "tofu",
    name: "OpenTofu",
    moduleFolder: join(root, "tools"),
    module: "github.com/opentofu/opentofu",
    package: "github.com/opentofu/opentofu/cmd/tofu",
    // Without "dev=no" it calls itself a development build.
    linkerFlags: "-s -w -X github.com/opentofu/opentofu/version.dev=no",
    target: () => "bin/tofu",
    platform,
  });
}

/** Provider `time`, laid out as a filesystem mirror below `providers/`. */
export async function providerTime(root: string, platform = thisPlatform()): Promise<GoProgram> {
  const { os, arch } = platform;
  return pinnedProgram({
    id: "provider-time",
    name: "provider time",
    moduleFolder: join(root, "tools/provider-time"),
    module: "github.com/hashicorp/terraform-provider-time",
    package: "github.com/hashicorp/terraform-provider-time",
    linkerFlags: "-s -w",
    target: (version) =>
      `providers/registry.opentofu.org/hashicorp/time/${version}/${os}_${arch}/` +
      `terraform-provider-time_v${version}`,
    platform,
  });
}

/** A Go program as a go.mod in this repository pins it. */
export interface Pin {
  readonly id: string;
  readonly name: string;
  readonly moduleFolder: string;
  readonly module: string;
  readonly package: string;
  readonly linkerFlags: string;
  readonly target: (version: string) => string;
  readonly platform: GoPlatform;
}

/** Reads the pin. Fails if the go.mod names no version of the module. */
export async function pinnedProgram(pin: Pin): Promise<GoProgram> {
  const modFile = join(pin.moduleFolder, "go.mod");
  const mod = await readFile(modFile, "utf8");
  const sum = await readFile(join(pin.moduleFolder, "go.sum"), "utf8");
  const version = wordAfter(mod, `${pin.module} v`);
  const goVersion = wordAfter(mod, "\ngo ");
  if (version === undefined || goVersion === undefined) {
    throw new Error(`File ${modFile} pins no version of ${pin.module}, or names no Go release`);
  }
  const stamp = createHash("sha256")
    .update(JSON.stringify([mod, sum, pin.package, pin.linkerFlags, pin.platform]))
    .digest("hex");
  return {
    title: `${pin.name} ${version}`,
    id: pin.id,
    version,
    goVersion,
    moduleFolder: pin.moduleFolder,
    package: pin.package,
    linkerFlags: pin.linkerFlags,
    target: pin.target(version),
    stamp,
  };
}

function wordAfter(text: string, marker: string): string | undefined {
  const start = text.indexOf(marker);
  if (start < 0) return undefined;
  return /^[\w.-]+/.exec(text.slice(start + marker.length))?.[0];
}
