import { createHash } from "node:crypto";
import { mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { type ImageFile, type ImageFiles, type Layer, writeLayer } from "./layer.ts";

export interface Image {
  /** With a domain that has a dot, and a tag: "nigari.test/runner:1". */
  readonly name: string;
  /** One or more layers, each over the ones before it; what changes seldom first. */
  readonly layers: readonly ImageFiles[];
  readonly entrypoint: readonly string[];
  /** "65532:65532"; root if left out. */
  readonly user?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly workingFolder?: string;
}

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64" };

/**
 * Writes images as one archive in OCI's image layout, from files of this machine alone: no builder,
 * no registry. `ctr images import` and others take it. A layer that several images share, as one
 * and the same object, is written once.
 */
export function buildImages(images: readonly Image[], archive: string): void {
  const work = `${archive}.making-${process.pid}`;
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true, mode: 0o700 });
  try {
    const layers = new Map<ImageFiles, Layer>();
    for (const files of images.flatMap((image) => image.layers)) {
      if (layers.has(files)) continue;
      layers.set(files, writeLayer(files, join(work, `layer-${layers.size}`)));
    }
    const files: Record<string, ImageFile> = {
      "oci-layout": { text: JSON.stringify({ imageLayoutVersion: "1.0.0" }) },
    };
    for (const { digest, path } of layers.values()) files[blob(digest)] = { from: path };
    const manifests = images.map((image) => {
      const own = image.layers.flatMap((each) => layers.get(each) ?? []);
      const config = document(configOf(image, own));
      const manifest = document(manifestOf(config, own));
      for (const { text, digest } of [config, manifest]) files[blob(digest)] = { text };
      return { name: image.name, manifest };
    });
    files["index.json"] = { text: JSON.stringify(indexOf(manifests)) };
    writeLayer(files, join(work, "archive"));
    mkdirSync(dirname(archive), { recursive: true });
    renameSync(join(work, "archive"), archive);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function blob(digest: string): string {
  return `blobs/sha256/${digest}`;
}

interface Document {
  readonly text: string;
  readonly digest: string;
}

function document(value: object): Document {
  const text = JSON.stringify(value);
  return { text, digest: createHash("sha256").update(text).digest("hex") };
}

function configOf(image: Image, layers: readonly Layer[]): object {
  return {
    architecture: ARCHITECTURES[process.arch] ?? process.arch,
    os: "linux",
    config: {
      Entrypoint: image.entrypoint,
      Env: Object.entries(image.env ?? {}).map(([name, value]) => `${name}=${value}`),
      ...(image.user === undefined ? {} : { User: image.user }),
      ...(image.workingFolder === undefined ? {} : { WorkingDir: image.workingFolder }),
    },
    rootfs: { type: "layers", diff_ids: layers.map(({ digest }) => `sha256:${digest}`) },
  };
}

function manifestOf(config: Document, layers: readonly Layer[]): object {
  const oci = "application/vnd.oci.image";
  return {
    schemaVersion: 2,
    mediaType: `${oci}.manifest.v1+json`,
    config: descriptor(`${oci}.config.v1+json`, config),
    layers: layers.map(({ digest, sizeBytes }) => ({
      ...{ mediaType: `${oci}.layer.v1.tar`, digest: `sha256:${digest}`, size: sizeBytes },
    })),
  };
}

function indexOf(
  images: readonly { readonly name: string; readonly manifest: Document }[],
): object {
  const oci = "application/vnd.oci.image";
  const manifests = images.map(({ name, manifest }) => ({
    ...descriptor(`${oci}.manifest.v1+json`, manifest),
    annotations: {
      "io.containerd.image.name": name,
      "org.opencontainers.image.ref.name": name.slice(name.lastIndexOf(":") + 1),
    },
  }));
  return { schemaVersion: 2, mediaType: `${oci}.index.v1+json`, manifests };
}

function descriptor(mediaType: string, { text, digest }: Document): object {
  return { mediaType, digest: `sha256:${digest}`, size: Buffer.byteLength(text) };
}
