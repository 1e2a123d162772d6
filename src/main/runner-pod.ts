// The program that runs OpenTofu for one run in a pod of its own: `runner-pod`, and
// `runner-pod install FOLDER`, by which an init container brings it beside a foreign image's tools.
import { randomBytes } from "node:crypto";
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { writeDurably } from "../protocol/durable.ts";
import { admitting, CONTROLLER_IDENTITY, ServerTls } from "../protocol/mutual-tls.ts";
import { RUN_TOKEN, type RunIdentity, runFolder } from "../protocol/run-folder.ts";
import { printer } from "../runner/printing.ts";
import { runRunner } from "../runner/program.ts";
import { packageVersion } from "./package.ts";

const PORT = 30_000;
const TLS_FOLDER = process.env.NIGARI_TLS_FOLDER ?? "/etc/nigari/tls";
const LAST_WORD_FILE = process.env.NIGARI_LAST_WORD ?? "/dev/termination-log";
/** How often it is looked whether the certificate was renewed: the kubelet changes it in place. */
const RENEWAL_LOOK_MS = 10_000;
/** Of the grace: what it takes to tell the outcome after OpenTofu has ended. */
const TELLING_MS = 10_000;
const LINGER_MS = 60_000;

process.umask(0o077);
const output = printer((text) => process.stdout.write(text), LAST_WORD_FILE);

if (process.argv[2] === "install") install(process.argv[3] ?? "/nigari");
else await serve();

async function serve(): Promise<void> {
  const shutdown = new AbortController();
  // The first process of a container gets no signal that it does not ask for.
  process.on("SIGTERM", () => shutdown.abort());
  process.on("SIGINT", () => shutdown.abort());
  process.on("SIGHUP", () => undefined);
  let code = 0;
  try {
    await run(shutdown.signal);
  } catch (error) {
    output.say(`failed: ${error instanceof Error ? (error.stack ?? error.message) : error}`);
    code = 1;
  }
  await output.flush();
  process.exit(code);
}

async function run(shutdown: AbortSignal): Promise<void> {
  const folder = process.env.NIGARI_RUN_FOLDER ?? "/tmp/nigari-run";
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const identity: RunIdentity = {
    runId: variable("NIGARI_RUN_ID"),
    namespace: variable("POD_NAMESPACE"),
    name: variable("NIGARI_OBJECT"),
    epoch: Number(variable("NIGARI_EPOCH")),
    token: randomBytes(16).toString("hex"),
    socket: "",
    createdAt: new Date().toISOString(),
  };
  await writeDurably(runFolder(folder).identity, JSON.stringify(identity));
  const graceMs = Number(process.env.NIGARI_GRACE_SECONDS ?? "30") * 1_000;
  const given = Object.entries(process.env).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  await runRunner({
    folder,
    environment: { ...Object.fromEntries(given), [RUN_TOKEN]: identity.token },
    version: process.env.NIGARI_BUILD_VERSION ?? packageVersion(),
    shutdown,
    shutdownGraceMs: Math.max(graceMs / 2, graceMs - TELLING_MS),
    lingerMs: LINGER_MS,
    say: output.say,
    attend: output.attend,
    listening: {
      address: `${everyAddress()}:${process.env.NIGARI_PORT ?? PORT}`,
      credentials: renewed(),
      admission: [admitting(CONTROLLER_IDENTITY)],
    },
  });
}

/** A pod's address may be of either family. */
function everyAddress(): string {
  const addresses = "/proc/net/if_inet6";
  return existsSync(addresses) && readFileSync(addresses, "utf8") !== "" ? "[::]" : "0.0.0.0";
}

/** The certificate of this pod, read again now and then. */
function renewed(): ServerTls {
  let current = readTls();
  const credentials = new ServerTls(current);
  setInterval(() => {
    try {
      const next = readTls();
      if (JSON.stringify(next) === JSON.stringify(current)) return;
      current = next;
      credentials.renew(next);
      output.say("the certificate was renewed");
    } catch (error) {
      output.say(`the certificate cannot be read again: ${error}`);
    }
  }, RENEWAL_LOOK_MS).unref();
  return credentials;
}

function readTls() {
  const read = (name: string) => readFileSync(join(TLS_FOLDER, name), "utf8");
  return { certificate: read("tls.crt"), key: read("tls.key"), trusted: read("ca.crt") };
}

function variable(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set; the controller sets it in the pod`);
  return value;
}

/** This program, its Node.js and the libraries that it was linked with, to be run from anywhere. */
function install(folder: string): void {
  const libraries = join(folder, "lib");
  mkdirSync(libraries, { recursive: true, mode: 0o755 });
  const put = (from: string, to: string) => {
    copyFileSync(from, to);
    chmodSync(to, 0o755);
  };
  put(process.execPath, join(folder, "node"));
  put(import.meta.filename, join(folder, "runner-pod.js"));
  const { sharedObjects } = process.report.getReport() as { readonly sharedObjects: string[] };
  for (const path of sharedObjects.filter((each) => each.startsWith("/"))) {
    const name = basename(path);
    if (/^ld-(linux|musl)/.test(name)) put(path, join(libraries, "loader"));
    put(path, join(libraries, name));
  }
  // The folder itself is its volume's, and open to all.
  chmodSync(libraries, 0o755);
  output.say(`installed in ${folder}`);
}
