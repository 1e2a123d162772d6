import type { Gap } from "./model.ts";

/**
 * The manifest of an archive of our own: when it was taken, what it has, and what could not be
 * read and why. It lies at the root as `manifest.json`.
 */
export interface Manifest {
  readonly kind: typeof MANIFEST_KIND;
  readonly version: 1;
  /** RFC 3339. */
  readonly takenAt: string;
  /** Kinds that were listed, the empty ones too. */
  readonly kinds: readonly string[];
  readonly dropsRecorded: boolean;
  readonly lacks: readonly Gap[];
  /** When each file was read, by its path. */
  readonly readAtMs: ReadonlyMap<string, number>;
}

export const MANIFEST_KIND = "NigariEvidence";

/** A manifest, or undefined if this is none that can be read. */
export function readManifest(value: unknown): Manifest | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const record = value as Record<string, unknown>;
  const takenAt = record.takenAt;
  if (record.kind !== MANIFEST_KIND || typeof takenAt !== "string") return undefined;
  if (Number.isNaN(Date.parse(takenAt))) return undefined;
  return {
    kind: MANIFEST_KIND,
    version: 1,
    takenAt,
    kinds: strings(record.kinds),
    dropsRecorded: record.dropsRecorded === true,
    lacks: Array.isArray(record.lacks) ? record.lacks.flatMap(gapOf) : [],
    readAtMs: new Map(Array.isArray(record.has) ? record.has.flatMap(readOf) : []),
  };
}

function readOf(value: unknown): [path: string, ms: number][] {
  if (typeof value !== "object" || value === null) return [];
  const { path, readAt } = value as Record<string, unknown>;
  const ms = typeof readAt === "string" ? Date.parse(readAt) : Number.NaN;
  return typeof path === "string" && !Number.isNaN(ms) ? [[path, ms]] : [];
}

const reasons = ["not-permitted", "timed-out", "absent", "damaged", "too-large"] as const;

function gapOf(value: unknown): Gap[] {
  if (typeof value !== "object" || value === null) return [];
  const { what, why, detail, command, kind, namespace } = value as Record<string, unknown>;
  const reason = reasons.find((each) => each === why);
  if (typeof what !== "string" || reason === undefined) return [];
  return [
    {
      what,
      ...(typeof kind === "string" ? { kind } : {}),
      ...(typeof namespace === "string" ? { namespace } : {}),
      why: reason,
      detail: typeof detail === "string" ? detail : "",
      command: typeof command === "string" ? command : undefined,
    },
  ];
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
