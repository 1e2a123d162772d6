import { randomBytes } from "node:crypto";
import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join, posix, resolve } from "node:path";
import { create } from "tar";
import type { EvidenceSink } from "../../ports/evidence.ts";

/**
 * Collects evidence into an archive (`.tar.gz`, `.tgz`, `.tar`) or else a folder. It appears under
 * its name whole or not at all, for its user alone; an archive of that name is replaced, a folder
 * must not be there.
 */
export async function createArchive(path: string): Promise<
  EvidenceSink & {
    /** Puts it in its place. Nothing may be put after this. */
    finish(): Promise<void>;
    /** Leaves nothing behind. */
    drop(): Promise<void>;
  }
> {
  const target = resolve(path);
  const isArchive = /\.(tar|tgz|tar\.gz)$/.test(target);
  const prefix = `.${basename(target)}.making-`;
  const folder = join(dirname(target), prefix + randomBytes(4).toString("hex"));
  await mkdir(folder, { mode: 0o700 });
  return {
    async put({ path: name, bytes }) {
      const clean = posix.normalize(name);
      if (clean.startsWith("..") || clean.startsWith("/")) throw new Error(`Bad name ${name}`);
      await mkdir(dirname(join(folder, clean)), { recursive: true, mode: 0o700 });
      const file = await open(join(folder, clean), "wx", 0o600);
      try {
        for await (const piece of bytes) await file.writeFile(piece);
      } finally {
        await file.close();
      }
    },
    async finish() {
      if (!isArchive) return rename(folder, target);
      const made = `${folder}.tar`;
      try {
        await create(
          {
            ...{ cwd: folder, file: made, portable: true, mode: 0o600 },
            gzip: !target.endsWith(".tar"),
          },
          (await readdir(folder)).sort(),
        );
        await rename(made, target);
      } finally {
        await rm(made, { force: true });
        await rm(folder, { recursive: true, force: true });
      }
    },
    drop: () => rm(folder, { recursive: true, force: true }),
  };
}
