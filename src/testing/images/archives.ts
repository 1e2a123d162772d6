import { join } from "node:path";
import { foreignImage, ourImages, pauseImage } from "./contents.ts";
import { buildImages, type Image } from "./image.ts";

/** Archives by name: what every cluster needs, what of ours runs in it, and a user's own image. */
const archives: Readonly<Record<"pause" | "ours" | "foreign", () => Image[]>> = {
  pause: () => [pauseImage()],
  ours: ourImages,
  foreign: () => [foreignImage()],
};

/** Builds one in a folder and gives its path. */
export function buildArchive(name: keyof typeof archives, folder: string): string {
  const file = join(folder, `${name}.tar`);
  buildImages(archives[name](), file);
  return file;
}
