import { readFile } from "node:fs/promises";
import type { Call } from "../../ports/call.ts";
import { CommandError, runCommand } from "../../processes/command.ts";
import { AccessError, type ClusterAccess, type ExecPlugin } from "./kubeconfig.ts";

/** What a request carries to say who asks. */
export interface Identity {
  readonly headers: Readonly<Record<string, string>>;
  /** A client certificate that a plugin gave, PEM. */
  readonly certificate: string | undefined;
  readonly key: string | undefined;
}

export interface CredentialOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Milliseconds since 1970. */
  now(): number;
}

/** A credential is thrown away this long before it expires. */
const EARLY_MS = 10_000;
/** A plugin may ask a slow log-in service. */
const PLUGIN_LIMIT_MS = 60_000;

/** Gives the identity for a cluster, and a plugin's again when it has expired or was refused. */
export class Credentials {
  readonly #access: ClusterAccess;
  readonly #options: CredentialOptions;
  #plugin: { readonly identity: Identity; readonly untilMs: number } | undefined;
  #asking: Promise<Identity> | undefined;

  constructor(access: ClusterAccess, options: CredentialOptions) {
    this.#access = access;
    this.#options = options;
  }

  async identity(call: Call): Promise<Identity> {
    const { credential } = this.#access;
    switch (credential.kind) {
      case "none":
        return plain({});
      case "token":
        return plain({ authorization: `Bearer ${credential.token}` });
      case "token-file":
        return plain({ authorization: `Bearer ${await tokenIn(credential.file)}` });
      case "basic": {
        const pair = Buffer.from(`${credential.user}:${credential.password}`).toString("base64");
        return plain({ authorization: `Basic ${pair}` });
      }
      case "plugin":
        return this.#ofPlugin(credential.plugin, call);
    }
  }

  /** The server refused it: true if another one may be had. */
  refused(): boolean {
    if (this.#access.credential.kind !== "plugin" || this.#plugin === undefined) return false;
    this.#plugin = undefined;
    return true;
  }

  async #ofPlugin(plugin: ExecPlugin, call: Call): Promise<Identity> {
    if (this.#plugin !== undefined && this.#options.now() < this.#plugin.untilMs) {
      return this.#plugin.identity;
    }
    // Many requests at once ask the plugin once.
    this.#asking ??= this.#ask(plugin, call).finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #ask(plugin: ExecPlugin, call: Call): Promise<Identity> {
    const answer = await run(plugin, this.#access, this.#options.env, call);
    const status = fields(fields(answer).status);
    const token = text(status.token);
    const certificate = text(status.clientCertificateData);
    const key = text(status.clientKeyData);
    if (token === undefined && (certificate === undefined || key === undefined)) {
      throw new AccessError(`Plugin ${plugin.command} gave neither a token nor a certificate`);
    }
    const expires = Date.parse(text(status.expirationTimestamp) ?? "");
    const identity: Identity = {
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      ...{ certificate, key },
    };
    const untilMs = Number.isNaN(expires) ? Number.POSITIVE_INFINITY : expires - EARLY_MS;
    this.#plugin = { identity, untilMs };
    return identity;
  }
}

const plain = (headers: Readonly<Record<string, string>>): Identity => ({
  headers,
  ...{ certificate: undefined, key: undefined },
});

async function tokenIn(file: string): Promise<string> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    throw new AccessError(`Token file ${file} cannot be read: ${(error as Error).message}`);
  }
}

async function run(
  plugin: ExecPlugin,
  access: ClusterAccess,
  env: CredentialOptions["env"],
  call: Call,
): Promise<unknown> {
  const { command, args } = plugin;
  const signal = AbortSignal.any([call.signal, AbortSignal.timeout(PLUGIN_LIMIT_MS)]);
  const inherited = Object.entries(env).filter((entry): entry is [string, string] => !!entry[1]);
  const own = { ...Object.fromEntries(inherited), ...plugin.env };
  const request = { ...own, KUBERNETES_EXEC_INFO: execInfo(plugin, access) };
  const result = await runCommand({ file: command, args, env: request }, { signal }).catch(
    (error: unknown) => {
      if (!(error instanceof CommandError)) throw error;
      const hint = plugin.installHint === undefined ? "" : `; ${plugin.installHint}`;
      throw new AccessError(`Plugin ${command} did not run: ${error.message}${hint}`);
    },
  );
  if (result.code !== 0) {
    // What it says of itself may hold a token; its first line is what people need.
    const [line = ""] = result.stderr.trim().split("\n");
    throw new AccessError(`Plugin ${command} ended with ${result.code}: ${line.slice(0, 200)}`);
  }
  try {
    return JSON.parse(result.stdout.toString("utf8"));
  } catch {
    throw new AccessError(`Plugin ${command} did not answer with JSON`);
  }
}

function execInfo(plugin: ExecPlugin, { server, tls }: ClusterAccess): string {
  const cluster = {
    server: server.href.replace(/\/$/, ""),
    ...(tls.serverName === undefined ? {} : { "tls-server-name": tls.serverName }),
    ...(tls.insecure ? { "insecure-skip-tls-verify": true } : {}),
    ...(tls.ca === undefined
      ? {}
      : { "certificate-authority-data": Buffer.from(tls.ca).toString("base64") }),
  };
  return JSON.stringify({
    apiVersion: plugin.apiVersion,
    kind: "ExecCredential",
    spec: { interactive: false, ...(plugin.wantsCluster ? { cluster } : {}) },
  });
}

function fields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null
    ? (value as Readonly<Record<string, unknown>>)
    : {};
}

const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
