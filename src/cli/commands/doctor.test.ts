import { describe, expect, test } from "vitest";
import type { Evidence } from "../../evidence/model.ts";
import { Scene } from "../../evidence/scene.ts";
import { quietShell } from "../../testing/fakes/shell.ts";
import { CliError } from "../world.ts";
import { collect, type DoctorFlags, doctor, type EvidenceTools, type Saved } from "./doctor.ts";

/** Tools that note what they are asked, on a cluster and a dump of their own. */
function stage(saved: Partial<Saved> = {}) {
  const asked: string[] = [];
  const found = (name: string): Evidence =>
    new Scene("2026-07-03T06:10:00Z")
      .terraform(`ops/${name}`, { spec: { suspend: true } })
      .evidence();
  const tools: EvidenceTools = {
    loadBundle: async (path) => {
      asked.push(`load ${path}`);
      return found("saved");
    },
    readCluster: async ({ context }) => {
      asked.push(`read ${context}`);
      return found("live");
    },
    saveCluster: async ({ context }, path) => {
      asked.push(`save ${context} ${path}`);
      return { files: [{ path: "manifest.json", count: 1 }], lacks: [], calls: 30, ...saved };
    },
  };
  const shell = quietShell();
  return { shell, asked, parts: { shell, evidence: async () => tools } };
}
const flags = (more: Partial<DoctorFlags>): DoctorFlags => ({
  ...{ bundle: undefined, save: undefined, kubeconfig: undefined, context: "c" },
  ...{ asOf: undefined, output: "text", all: false, ...more },
});

describe("doctor", () => {
  test("reads the cluster unless a dump is named", async () => {
    const { shell, asked, parts } = stage();
    await doctor(parts, flags({}));
    expect(asked).toEqual(["read c"]);
    expect(shell.printed.out).toContain("ops/live is suspended");
    expect(shell.printed.out).toContain("As of 2026-07-03T06:10:00Z (by the cluster's clock)");
  });

  test("judges a dump without asking any cluster", async () => {
    const { shell, asked, parts } = stage();
    await doctor(parts, flags({ bundle: "x.tgz" }));
    expect(asked).toEqual(["load x.tgz"]);
    expect(shell.printed.out).toContain("ops/saved is suspended");
    expect(shell.printed.out).toContain("As of 2026-07-03T06:10:00Z (by the dump)");
  });

  test("keeps what it judged if told to", async () => {
    const { asked, parts } = stage();
    await doctor(parts, flags({ save: "x.tgz" }));
    expect(asked).toEqual(["save c x.tgz", "load x.tgz"]);
    await expect(doctor(parts, flags({ save: "x", bundle: "y" }))).rejects.toThrow(CliError);
  });

  test("refuses a time that is none", async () => {
    await expect(doctor(stage().parts, flags({ asOf: "noon" }))).rejects.toThrow(
      '--as-of "noon" is no time',
    );
  });
});

describe("collect", () => {
  const lack = { what: "events", detail: "403", command: undefined };

  test("says what it took and what it lacks", async () => {
    const { shell, parts } = stage({ lacks: [{ ...lack, why: "not-permitted" }] });
    const code = await collect(parts, "d.tgz", { kubeconfig: undefined, context: undefined });
    expect(code).toBe(2);
    expect(shell.printed.out).toBe(
      "d.tgz: 1 file, 30 requests\nlacks events (not-permitted): 403\n",
    );
  });

  test("is content where only that is missing which is not there", async () => {
    const { parts } = stage({ lacks: [{ ...lack, why: "absent" }] });
    expect(await collect(parts, "d.tgz", { kubeconfig: undefined, context: undefined })).toBe(0);
  });
});
