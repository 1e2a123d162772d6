import { chmod, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ArtifactError } from "../../ports/artifacts.ts";
import type { Address } from "./address.ts";

/**
 * What git may know during one look at a repository: an environment, and a 0700 folder with a
 * configuration of our own, the credentials as 0600 files, and room for drafts. The machine's and
 * the user's git configuration play no part, so that the same object does the same everywhere.
 */
export interface Session {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  /** Values that no message may hold. */
  readonly secrets: readonly string[];
  /** Removes the folder. */
  close(): Promise<void>;
}

export interface SessionRequest {
  readonly folder: string;
  readonly address: Address;
  /** Environment that main lets pass; every GIT_* of it is dropped. */
  readonly env: Readonly<Record<string, string>>;
  readonly credentials: Readonly<Record<string, string>> | undefined;
}

export async function openSession(request: SessionRequest): Promise<Session> {
  const { folder, address, credentials = {} } = request;
  // Told before anything is written or started.
  checkCredentials(address, credentials);
  await mkdir(join(folder, "empty"), { recursive: true, mode: 0o700 });
  const close = () => rm(folder, { recursive: true, force: true, maxRetries: 3 });
  try {
    const files = await writeCredentials(folder, credentials);
    await writePrivate(join(folder, "config"), configuration(address, credentials, files));
    return {
      folder,
      env: environment(request, files),
      secrets: ["password", "bearerToken", "identity", "tls.key"].flatMap((name) => {
        const value = credentials[name];
        return value === undefined ? [] : [value, value.trim()];
      }),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function checkCredentials(address: Address, credentials: Readonly<Record<string, string>>): void {
  const has = (name: string) => (credentials[name] ?? "") !== "";
  if (address.origin !== undefined && has("username") !== has("password")) {
    const missing = has("username") ? "password" : "username";
    throw new ArtifactError(
      `Secret of spec.secretRef has no ${missing}; https needs both, or bearerToken alone`,
      false,
    );
  }
  if (address.protocol === "ssh" && Object.keys(credentials).length > 0 && !has("identity")) {
    throw new ArtifactError(
      "Secret of spec.secretRef has no identity; ssh needs the private key there",
      false,
    );
  }
}

/** Paths of the files that were written, by what they hold. */
type Files = Partial<Record<"askpass" | "identity" | "knownHosts" | "ca" | "cert" | "key", string>>;

async function writeCredentials(
  folder: string,
  credentials: Readonly<Record<string, string>>,
): Promise<Files> {
  const files: Files = {};
  const wanted: [keyof Files, string | undefined][] = [
    // OpenSSH refuses a key whose last line has no end.
    ["identity", credentials.identity?.replace(/\n*$/, "\n")],
    ["knownHosts", credentials.known_hosts?.replace(/\n*$/, "\n")],
    ["ca", credentials["ca.crt"] ?? credentials.caFile],
    ["cert", credentials["tls.crt"]],
    ["key", credentials["tls.key"]],
  ];
  for (const [name, content] of wanted) {
    if (content === undefined || content.trim() === "") continue;
    files[name] = join(folder, name);
    await writePrivate(join(folder, name), content);
  }
  if ((credentials.password ?? "") !== "") {
    files.askpass = join(folder, "askpass");
    await writePrivate(join(folder, "username"), credentials.username ?? "");
    await writePrivate(join(folder, "password"), credentials.password ?? "");
    await writePrivate(files.askpass, ASKPASS);
    await chmod(files.askpass, 0o700);
  }
  return files;
}

/**
 * Answers git's and ssh's questions from files, so that no argument and no environment holds a
 * password. For https only the origin that the object names is answered: a redirect to somebody
 * else learns nothing.
 */
const ASKPASS = `#!/bin/sh
folder=$(dirname "$0")
case $1 in
  "Enter passphrase for key"*) exec cat "$folder/password" ;;
  "Username for '$NIGARI_GIT_SCHEME://$NIGARI_GIT_HOST': "*) exec cat "$folder/username" ;;
  "Password for '$NIGARI_GIT_SCHEME://$NIGARI_GIT_HOST': "*) exec cat "$folder/password" ;;
  "Password for '$NIGARI_GIT_SCHEME://"*"@$NIGARI_GIT_HOST': "*) exec cat "$folder/password" ;;
esac
exit 1
`;

function configuration(
  address: Address,
  credentials: Readonly<Record<string, string>>,
  files: Files,
): string {
  const token = credentials.bearerToken?.trim();
  const bearer = token !== undefined && token !== "" && address.origin !== undefined;
  const sections: [string, Record<string, string | undefined>][] = [
    ["safe", { directory: "*" }],
    ["protocol", { allow: "never" }],
    [`protocol "${address.protocol}"`, { allow: "always" }],
    // A local repository is read by a git of ours; it may hand out any commit it has.
    ["uploadpack", { allowAnySHA1InWant: "true" }],
    ["core", { hooksPath: "/dev/null", fsmonitor: "false" }],
    ["gc", { auto: "0" }],
    ["maintenance", { auto: "false" }],
    ["submodule", { recurse: "false" }],
    ["pack", { threads: "2" }],
    [
      "http",
      {
        lowSpeedLimit: "500",
        lowSpeedTime: "20",
        sslCAInfo: files.ca,
        sslCert: files.cert,
        sslKey: files.key,
        // A header is sent wherever a redirect leads, so none is followed then.
        followRedirects: bearer ? "false" : "initial",
      },
    ],
  ];
  if (bearer) {
    sections.push([`http "${address.origin}/"`, { extraHeader: `Authorization: Bearer ${token}` }]);
  }
  return sections.map(([name, values]) => `[${name}]\n${settings(values)}`).join("");
}

function settings(values: Record<string, string | undefined>): string {
  return Object.entries(values)
    .map(([name, value]) => {
      if (value === undefined) return "";
      const quoted = value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "");
      return `\t${name} = "${quoted}"\n`;
    })
    .join("");
}

function environment(request: SessionRequest, files: Files): Record<string, string> {
  const { folder, address, env } = request;
  const passed = Object.entries(env).filter(([name]) => !/^(GIT_|SSH_ASKPASS|LC_|LANG)/.test(name));
  return {
    ...Object.fromEntries(passed),
    LC_ALL: "C",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: join(folder, "config"),
    GIT_ATTR_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: files.askpass ?? "false",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_NO_LAZY_FETCH: "1",
    GIT_SSH_COMMAND: sshCommand(files),
    GIT_SSH_VARIANT: "ssh",
    NIGARI_GIT_SCHEME: address.protocol,
    NIGARI_GIT_HOST: address.origin?.replace(/^.*:\/\//, "") ?? "",
    ...(files.askpass === undefined
      ? {}
      : { SSH_ASKPASS: files.askpass, SSH_ASKPASS_REQUIRE: "force" }),
    // Only for the commit that .sourceignore makes; it is never shown or pushed.
    GIT_AUTHOR_NAME: "nigari",
    GIT_AUTHOR_EMAIL: "nigari@localhost",
    GIT_COMMITTER_NAME: "nigari",
    GIT_COMMITTER_EMAIL: "nigari@localhost",
  };
}

/** With a Secret's key the user's ssh settings and agent stay out; without one they are used. */
function sshCommand(files: Files): string {
  const options = ["StrictHostKeyChecking=yes", "ControlPath=none", "ConnectTimeout=15"];
  options.push("ServerAliveInterval=10", "ServerAliveCountMax=3", "ClearAllForwardings=yes");
  options.push(`BatchMode=${files.askpass === undefined ? "yes" : "no"}`);
  if (files.askpass !== undefined) options.push("NumberOfPasswordPrompts=1");
  if (files.identity !== undefined) {
    options.push("IdentitiesOnly=yes", "IdentityAgent=none");
    options.push(`IdentityFile=${sshPath(files.identity)}`);
  }
  if (files.knownHosts !== undefined) {
    options.push(`UserKnownHostsFile=${sshPath(files.knownHosts)}`);
    options.push("GlobalKnownHostsFile=/dev/null");
  }
  const config = files.identity === undefined ? [] : ["-F", "/dev/null"];
  return ["ssh", ...config, ...options.flatMap((option) => ["-o", option])].map(quoted).join(" ");
}

/** A path as ssh's own configuration reads it. */
function sshPath(path: string): string {
  return `"${path.replaceAll("%", "%%")}"`;
}

function quoted(word: string): string {
  return /^[\w./=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

async function writePrivate(path: string, content: string): Promise<void> {
  await writeFile(path, content, { mode: 0o600, flag: "wx" });
}
