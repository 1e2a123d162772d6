import { chmodSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../../src/processes/command.ts";
import { allCases } from "../../src/recognizers/cases.ts";
import type { DiagnosisData } from "../../src/render/diagnosis-data.ts";
import { clusterOf, dumpOf } from "../../src/testing/doctor-worlds/dump.ts";
import { type FakeApiServer, startFakeApiServer } from "../../src/testing/fakes/api-server.ts";

/** The program itself, asked on the command line, against an API server that is a stand-in. */
const root = join(import.meta.dirname, "../..");
const work = mkdtempSync(join(tmpdir(), "doctor-live-"));
let server: FakeApiServer;
beforeAll(async () => {
  const scene = allCases["tofu/reconcile-parked"]?.recognized[0]?.scene;
  if (scene === undefined) throw new Error("There is no case");
  server = await startFakeApiServer(clusterOf(dumpOf(scene)));
});
afterAll(async () => {
  await server.close();
  rmSync(work, { recursive: true, force: true });
});

function kubeconfig(name: string, user: object, url = server.url): string {
  const file = join(work, name);
  const config = {
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: { server: url } }],
    users: [{ name: "u", user }],
  };
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return file;
}

async function nigari(env: Readonly<Record<string, string>>, ...args: string[]) {
  const run = await runCommand(
    {
      ...{ file: join(root, "nigari"), args, cwd: work, outputLimitBytes: 5_000_000 },
      env: { PATH: process.env.PATH ?? "", HOME: work, ...env },
    },
    { signal: AbortSignal.timeout(60_000) },
  );
  return { code: run.code, out: run.stdout.toString(), err: run.stderr };
}

const PARKED = "tofu/reconcile-parked Terraform/apps/network";

describe("nigari doctor", () => {
  test("judges the cluster of the current context, by a plugin's token", async () => {
    const plugin = join(work, "login");
    const answer = JSON.stringify({ status: { token: "from-the-plugin" } });
    writeFileSync(plugin, `#!/bin/sh\necho '${answer}'\n`);
    chmodSync(plugin, 0o755);
    const apiVersion = "client.authentication.k8s.io/v1";
    const file = kubeconfig("plugin", { exec: { apiVersion, command: plugin } });
    const { code, out } = await nigari({ KUBECONFIG: file }, "doctor", "-o", "json");
    expect(code).toBe(1);
    expect((JSON.parse(out) as DiagnosisData).findings.map((each) => each.key)).toContain(PARKED);
    expect(server.headers().authorization).toBe("Bearer from-the-plugin");
    expect(out).not.toContain("from-the-plugin");
  });

  test("fits on a screen of 80 columns, and says where each claim was read", async () => {
    const file = kubeconfig("plain", {});
    const { out } = await nigari({}, "doctor", "--kubeconfig", file);
    const commands = /^\s+kubectl /;
    const long = out.split("\n").filter((line) => line.length > 80 && !commands.test(line));
    expect(long).toEqual([]);
    expect(out).toContain("INCIDENT 1");
    expect(out.replace(/\s+/g, " ")).toContain(
      "GET /apis/infra.contrib.fluxcd.io/v1alpha2/terraforms",
    );
  });

  test("keeps what it judged, for its user alone, and judges it again the same", async () => {
    const archive = join(work, "kept.tgz");
    const file = kubeconfig("plain", {});
    const live = await nigari(
      ...([{}, "doctor", "--kubeconfig", file, "--save", archive, "-o", "json"] as const),
    );
    expect(statSync(archive).mode & 0o777).toBe(0o600);
    const again = await nigari({}, "doctor", "--bundle", archive, "-o", "json");
    // Only who told the time is another: first the cluster's clock, then the archive.
    const told = '"asOfFrom": "cluster"';
    expect(live.out).toContain(told);
    const out = live.out.replace(told, '"asOfFrom": "manifest"');
    expect(again).toEqual({ ...live, out });
  });

  test("without a way to a cluster is a usage error that says what to do", async () => {
    const none = await nigari({}, "doctor");
    expect(none.code).toBe(3);
    expect(none.err).toMatch(/No kubeconfig in .*\.kube\/config; set KUBECONFIG.*--bundle/);
    const context = await nigari(
      ...([{}, "doctor", "--kubeconfig", kubeconfig("plain", {}), "--context", "x"] as const),
    );
    expect(context.code).toBe(3);
    expect(context.err).toContain('Context "x" does not exist');
  });

  test("of a cluster that does not answer says so, and nothing is left behind", async () => {
    const file = kubeconfig("away", {}, "http://127.0.0.1:1");
    const away = await nigari({}, "doctor", "--kubeconfig", file);
    expect(away.code).toBe(2);
    expect(away.err).toMatch(/The cluster cannot be read: 127\.0\.0\.1:1: /);
    const path = join(work, "never.tgz");
    expect((await nigari({}, "collect", "-o", path, "--kubeconfig", file)).code).toBe(2);
    expect(existsSync(path)).toBe(false);
  });
});
