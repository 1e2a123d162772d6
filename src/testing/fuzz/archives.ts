import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { Header } from "tar";
import { extractArtifact } from "../../runner/artifact.ts";
import { StageFailure } from "../../runner/failure.ts";
import { areaOf, nasty, wrong } from "./area.ts";

const LIMITS = { entries: 50, bytes: 1 << 20 };
const TIME_MS = 5_000;

const paths = fc.oneof(
  fc.constantFrom("a", "a/b", "a/b/../c", "./a", "a/", "link", "link/a", "../a", "/tmp/a", "a//b"),
  nasty.filter((text) => text.length < 90),
);
const types = fc.constantFrom(
  ...(["File", "Directory", "SymbolicLink", "Link", "CharacterDevice", "BlockDevice"] as const),
  ...(["FIFO", "OldFile", "ContiguousFile", "GNUDumpDir", "GlobalExtendedHeader"] as const),
);
const entry = fc.record(
  {
    path: paths,
    type: types,
    linkpath: fc.oneof(paths, fc.constantFrom("..", "../..", "link", ".", "/")),
    text: fc.string({ maxLength: 600 }),
    /** Where the header lies about the size. */
    size: fc.constantFrom(0, 1, 511, 513, 1 << 30, 2 ** 40),
    mode: fc.constantFrom(0, 0o644, 0o777, 0o4755),
  },
  { requiredKeys: ["path", "type", "text"] },
);

const archive = fc.record({
  entries: fc.array(entry, { maxLength: 8 }),
  /** Bytes at the end that are missing, or zeros without end behind it. */
  cut: fc.oneof(fc.constant(0), fc.nat({ max: 600 })),
  zeros: fc.oneof(
    { weight: 24, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.constant(64 << 20) },
  ),
  flips: fc.array(fc.tuple(fc.nat({ max: 4_000 }), fc.nat({ max: 255 })), { maxLength: 3 }),
  isPlain: fc.boolean(),
});
type Archive = typeof archive extends fc.Arbitrary<infer T> ? T : never;

function bytesOf({ entries, cut, zeros, flips, isPlain }: Archive): Buffer {
  const blocks = entries.flatMap(({ text, size, ...fields }) => {
    const content = Buffer.from(text);
    const header = Buffer.alloc(512);
    const facts = { mode: 0o644, mtime: new Date(0), ...fields, size: size ?? content.length };
    try {
      new Header(facts).encode(header);
    } catch {
      // What no header can hold.
      return [];
    }
    const padded = Buffer.alloc(Math.ceil(content.length / 512) * 512);
    content.copy(padded);
    return [header, padded];
  });
  const whole = Buffer.concat([...blocks, Buffer.alloc(1_024), Buffer.alloc(zeros)]);
  const packed = isPlain ? whole : gzipSync(whole, { level: 1 });
  const bytes = Buffer.from(packed.subarray(0, Math.max(0, packed.length - cut)));
  for (const [at, value] of flips) if (at < bytes.length) bytes[at] = value;
  return bytes;
}

/** Whatever it holds: taken whole or refused with a word, and nothing outside of its folder. */
export const archiveArea = areaOf("archives", 150, async () => {
  const scratch = mkdtempSync(join(tmpdir(), "nigari-fuzz-archive-"));
  const outside = join(scratch, "outside");
  writeFileSync(outside, "untouched");
  let count = 0;
  return {
    input: archive,
    async check(made) {
      count += 1;
      const folder = join(scratch, String(count));
      mkdirSync(folder);
      const [file, work] = [join(folder, "archive"), join(folder, "work")];
      writeFileSync(file, bytesOf(made));
      const begun = performance.now();
      try {
        await extractArtifact(file, work, { limits: LIMITS });
      } catch (error) {
        if (!(error instanceof StageFailure)) throw error;
        if (!/^The artifact (is refused|cannot be unpacked): ./.test(error.message)) {
          wrong(`No words: ${error.message}`);
        }
      }
      if (performance.now() - begun > TIME_MS) wrong("It took too long");
      if (readFileSync(outside, "utf8") !== "untouched") wrong("A file outside was written");
      if (readdirSync(folder).some((name) => name !== "archive" && name !== "work")) {
        wrong(`Something lies beside: ${readdirSync(folder)}`);
      }
      mustStayInside(work);
      rmSync(folder, { recursive: true, force: true });
    },
    async close() {
      rmSync(scratch, { recursive: true, force: true });
    },
  };
});

function mustStayInside(work: string): void {
  if (!existsSync(work)) return;
  const root = realpathSync(work);
  for (const found of readdirSync(work, { recursive: true, withFileTypes: true })) {
    if (found.isFile() || found.isDirectory()) continue;
    const path = join(found.parentPath, found.name);
    if (!found.isSymbolicLink()) wrong(`${path} is neither file, folder nor link`);
    try {
      const target = realpathSync(path);
      if (target !== root && !target.startsWith(root + sep)) wrong(`${path} leads to ${target}`);
    } catch {
      // It leads nowhere.
    }
  }
}
