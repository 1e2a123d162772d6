import { join } from "node:path";
import { foreignImages, ourImages, pauseImage } from "./contents.ts";
import { buildImages, type Image } from "./image.ts";

/** Archives by name: what every cluster needs, what of ours runs in it, and users' own images. */
const archives: Readonly<Record<"pause" | "ours" | "foreign", () => Image[]>> = {
  pause: () => [pauseImage()],
  ours: ourImages,
  foreign: foreignImages,
};

/** Builds one in a folder and gives its path. */
export function buildArchive(name: keyof typeof archives, folder: string): string {
  const file = join(folder, `${name}.tar`);
  buildImages(archives[name](), file);
  return file;
}
