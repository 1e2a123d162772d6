import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { crc32 } from "node:zlib";
import { pinnedTools } from "../../../src/testing/pinned-tools.ts";

const PACKAGE = "registry.opentofu.org/hashicorp/time";
const pinned = join(pinnedTools().providers, PACKAGE);

/** The one version of the provider that is built for tests. */
export const [timeVersion = ""] = readdirSync(pinned);
export const [timePlatform = ""] = readdirSync(join(pinned, timeVersion));

/** The package's folder below any root, as host/namespace/type/version/platform. */
export const timePackage = join(PACKAGE, timeVersion, timePlatform);

/** A mirror that holds the provider as an archive, so that whoever installs it must unpack it. */
export function packedMirror(folder: string): string {
  const from = join(pinned, timeVersion, timePlatform);
  const entries = readdirSync(from).map((name) => ({
    name,
    content: readFileSync(join(from, name)),
  }));
  const name = `terraform-provider-time_${timeVersion}_${timePlatform}.zip`;
  const path = join(folder, PACKAGE, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, zipOf(entries));
  return folder;
}

/** A mirror that holds the provider unpacked: OpenTofu links to it. */
export function unpackedMirror(folder: string): string {
  cpSync(join(pinned, timeVersion), join(folder, PACKAGE, timeVersion), { recursive: true });
  return folder;
}

/** Configuration that makes this mirror the only place where providers come from. */
export function mirrorConfig(folder: string): string {
  return `provider_installation {\n  filesystem_mirror {\n    path = "${folder}"\n  }\n}\n`;
}

/** A module that uses the provider; `version` is a constraint. */
export function timeModule(version: string | undefined, more = ""): string {
  const constraint = version === undefined ? "" : `, version = "${version}"`;
  return `
terraform {
  required_providers {
    time = { source = "hashicorp/time"${constraint} }
  }
}
resource "time_static" "now" {}
${more}`;
}

/** An archive of programs, stored without compression. */
function zipOf(entries: readonly { name: string; content: Buffer }[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content } of entries) {
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(content.length, 14);
    common.writeUInt32LE(content.length, 18);
    common.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from("PK\u0003\u0004"), common, Buffer.from(name)]);
    const central = Buffer.alloc(14);
    // The upper half of the attributes is the mode that Unix programs give it.
    central.writeUInt32LE(0o100755 * 0x10000, 6);
    central.writeUInt32LE(offset, 10);
    const made = Buffer.from([0x14, 0x03]);
    directory.push(
      Buffer.concat([Buffer.from("PK\u0001\u0002"), made, common, central, Buffer.from(name)]),
    );
    parts.push(local, content);
    offset += local.length + content.length;
  }
  const table = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(table.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, table, Buffer.from("PK\u0005\u0006"), end]);
}
