import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { asRoot } from "./mount.ts";

const SIZE_BYTES = 512 << 20;
/** Nothing is written to the disk by the kernel's own clock while a test lasts. */
const COMMIT_S = 600;

/**
 * A disk whose power can be cut: an ext4 file system in a file, below a loop device. What was not
 * synced lies in the kernel's memory and not in the file, so that a copy of the file is the disk as
 * it is found when the power comes back. Needs the right to mount.
 */
export class PowerDisk {
  readonly #folder: string;
  #image: string;
  #cuts = 0;

  /** `folder` is where the file system is mounted; the images lie beside it. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#image = `${folder}.img`;
    mkdirSync(dirname(folder), { recursive: true });
    writeFileSync(this.#image, "", { mode: 0o600 });
    truncateSync(this.#image, SIZE_BYTES);
    execFileSync("mkfs.ext4", ["-q", "-F", this.#image], { stdio: "pipe" });
    this.#mount();
  }

  /** Keeps what is on the disk at this moment. Who writes must stand still meanwhile. */
  cut(): void {
    this.#cuts += 1;
    const copy = `${this.#folder}.${this.#cuts}.img`;
    execFileSync("cp", ["--sparse=always", this.#image, copy]);
    rmSync(this.#image);
    this.#image = copy;
  }

  /** The disk as it was cut, in the place of the one that went on. Nobody may use that any more. */
  powerUp(): void {
    this.unmount();
    this.#mount();
  }

  unmount(): void {
    asRoot("umount", "-l", this.#folder);
  }

  #mount(): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    asRoot("mount", "-o", `loop,commit=${COMMIT_S}`, this.#image, this.#folder);
    const owner = `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`;
    asRoot("chown", owner, this.#folder);
    asRoot("chmod", "700", this.#folder);
  }
}
