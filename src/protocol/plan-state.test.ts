import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateRawSync } from "node:zlib";
import { afterAll, describe, expect, test } from "vitest";
import { readPlannedOn, readPriorOutputs } from "./plan-state.ts";

const scratch = mkdtempSync(join(tmpdir(), "nigari-plans-"));
afterAll(() => rmSync(scratch, { recursive: true }));
let count = 0;
function written(content: Uint8Array): string {
  const path = join(scratch, `${++count}.plan`);
  writeFileSync(path, content);
  return path;
}

/** A ZIP file as Go writes one: sizes only in the directory, a comment at the end if there is. */
function zip(files: Record<string, string>, { deflate = true, comment = "" } = {}): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const [name, text] of Object.entries(files)) {
    const packed = deflate ? deflateRawSync(text) : Buffer.from(text);
    const local = Buffer.alloc(30);
    local.write("PK\x03\x04", "latin1");
    local.writeUInt16LE(8, 6);
    local.writeUInt16LE(deflate ? 8 : 0, 8);
    local.writeUInt16LE(name.length, 26);
    local.writeUInt16LE(3, 28);
    const head = Buffer.alloc(46);
    head.write("PK\x01\x02", "latin1");
    head.writeUInt16LE(deflate ? 8 : 0, 10);
    head.writeUInt32LE(packed.length, 20);
    head.writeUInt32LE(text.length, 24);
    head.writeUInt16LE(name.length, 28);
    head.writeUInt32LE(at, 42);
    directory.push(head, Buffer.from(name));
    const entry = [local, Buffer.from(name), Buffer.from("xxx"), packed, Buffer.alloc(16)];
    parts.push(...entry);
    at += entry.reduce((sum, { length }) => sum + length, 0);
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(at, 16);
  end.writeUInt16LE(comment.length, 20);
  return Buffer.concat([...parts, listed, end, Buffer.from(comment)]);
}

const state = (serial: number, lineage: string, resources: object[]) =>
  JSON.stringify({ version: 4, serial, lineage, resources });
const managed = { mode: "managed", instances: [{}] };
const files = {
  tfplan: "x",
  // Refresh found that the resource is gone; the state still has it.
  tfstate: state(7, "L", []),
  "tfstate-prev": state(0, "", [managed]),
};
const found = { state: "present", serial: 7, lineage: "L", resources: 1 };

function elsewhere(content: Buffer): Buffer {
  content.writeUInt32LE(0xff_ff_ff, content.length - 6);
  return content;
}

describe("the state that a plan was made on", () => {
  test.each([true, false])("is told by its file, deflated: %s", async (deflate) => {
    expect(await readPlannedOn(written(zip(files, { deflate })))).toEqual(found);
  });

  test("is told behind a comment too, and of a large state", async () => {
    const big = { ...files, "tfstate-prev": state(0, "", Array(20_000).fill(managed)) };
    const path = written(zip(big, { comment: "PK comment" }));
    expect(await readPlannedOn(path)).toEqual({ ...found, resources: 20_000 });
  });

  test("is none if it has no lineage", async () => {
    const path = written(zip({ ...files, tfstate: state(0, "", []) }));
    expect(await readPlannedOn(path)).toEqual({ state: "absent" });
  });

  const silent: [string, Uint8Array][] = [
    ["an encrypted plan", Buffer.from('{"encrypted_data":"…"}')],
    ["an empty file", Buffer.alloc(0)],
    ["a plan without a state", zip({ tfplan: "x" })],
    ["a state that is none", zip({ ...files, tfstate: "{" })],
    ["a file that is cut off", zip(files).subarray(40)],
    ["a file whose directory lies elsewhere", elsewhere(zip(files))],
    ["packed content that is damaged", zip({ tfstate: files.tfstate }).fill(0xff, 44, 60)],
  ];
  test.each(silent)("is not known of %s", async (_what, content) => {
    expect(await readPlannedOn(written(content))).toBeUndefined();
  });

  test("is not known of a file that is not there", async () => {
    expect(await readPlannedOn(join(scratch, "none"))).toBeUndefined();
  });
});

describe("the outputs that a plan was made on", () => {
  const outputs = { a: { value: "x", type: "string", sensitive: true } };
  const prior = (more: object) => JSON.stringify({ version: 4, outputs, ...more });

  test.each([true, false])(
    "are those of the state before refresh (deflated: %s)",
    async (deflate) => {
      const tfstate = JSON.stringify({ version: 4, outputs: {} });
      const path = written(zip({ tfplan: "x", tfstate, "tfstate-prev": prior({}) }, { deflate }));
      expect(JSON.parse((await readPriorOutputs(path)) ?? "")).toEqual(outputs);
    },
  );

  test("are left to OpenTofu where the state is large, or said to be small", async () => {
    const large = zip({ "tfstate-prev": prior({ resources: "x".repeat(5 << 20) }) });
    expect(await readPriorOutputs(written(large))).toBeUndefined();
    const size = Buffer.alloc(4);
    size.writeUInt32LE(prior({ resources: "x".repeat(5 << 20) }).length);
    const lie = Buffer.from(large);
    lie.writeUInt32LE(1, lie.lastIndexOf(size));
    expect(await readPriorOutputs(written(lie))).toBeUndefined();
  });

  test.each([
    ["no such file", "/nowhere/plan.bin"],
    ["an encrypted plan", written(Buffer.from('{"meta":{},"encrypted_data":"x"}'))],
    ["a plan without a state before", written(zip({ tfplan: "x" }))],
  ])("are not known of %s", async (_what, path) => {
    expect(await readPriorOutputs(path)).toBeUndefined();
  });
});
