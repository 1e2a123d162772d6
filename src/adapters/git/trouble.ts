import { ArtifactError } from "../../ports/artifacts.ts";
import type { Address } from "./address.ts";

/** What a message needs to name. */
export interface TroubleContext {
  readonly address: Address;
  /** Values that must not be seen. */
  readonly secrets: readonly string[];
  /** The object has a spec.secretRef. */
  readonly hasSecret: boolean;
  /** The ref in words, such as `branch "main"`. */
  readonly wanted: string;
  /** Largest file git may write. */
  readonly fileLimitBytes: number;
}

/** The repository was reached, and it has not what was asked for. */
export class RefNotFound extends ArtifactError {}

interface Trouble {
  /** What git says, in its C locale. */
  readonly says: RegExp;
  /** Time may mend it without a person. */
  readonly transient: boolean;
  readonly refNotFound?: true;
  readonly message: (context: TroubleContext) => string;
}

const secretKeys = (context: TroubleContext, keys: string) =>
  context.hasSecret
    ? `check ${keys} in the Secret of spec.secretRef`
    : `name a Secret with ${keys} in spec.secretRef`;

/** Git's refusals in the order in which they are looked for: the particular before the general. */
const troubles: readonly Trouble[] = [
  {
    says: /File too large|SIGXFSZ|died of signal 25/i,
    transient: false,
    message: ({ address, fileLimitBytes }) =>
      `Repository ${address.shown} needs a file of more than ` +
      `${Math.round(fileLimitBytes / 1024 / 1024)} MiB; ` +
      "move large files out of it, or give its code a smaller repository",
  },
  {
    says: /No space left on device|Disk quota exceeded/i,
    transient: true,
    message: () => "No space is left for a copy of the repository; free some in the data directory",
  },
  {
    says: /Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED|host key is known/i,
    transient: false,
    message: ({ address: { host, shown } }) =>
      `Host key of ${shown} is unknown or has changed; compare it with what the host's owner ` +
      `says and put the line of "ssh-keyscan ${host}" into known_hosts of the Secret of ` +
      "spec.secretRef (or into your own known_hosts)",
  },
  {
    says: /error in libcrypto|invalid format|incorrect passphrase|bad passphrase/i,
    transient: false,
    message: (context) =>
      `Private key for ${context.address.shown} cannot be read; ` +
      secretKeys(context, "identity (and password, if the key has one)"),
  },
  {
    says: /Permission denied \(|Too many authentication failures|no such identity/i,
    transient: false,
    message: (context) =>
      `Key was refused by ${context.address.shown}; ${secretKeys(context, "identity")}`,
  },
  {
    says: /certificate|SSL_ERROR|SSL connect error|unable to get local issuer/i,
    transient: false,
    message: (context) =>
      `Certificate of ${context.address.shown} is not trusted; ` +
      `${secretKeys(context, "ca.crt")} if an authority of your own signed it`,
  },
  {
    says: /could not read (Username|Password)|terminal prompts disabled/i,
    transient: false,
    message: (context) =>
      `Repository ${context.address.shown} does not exist or wants credentials; ` +
      `check spec.url and ${secretKeys(context, "username and password")}`,
  },
  {
    says: /Authentication failed|Access denied|returned error: 40[13]|Invalid username/i,
    transient: false,
    message: (context) =>
      `Authentication at ${context.address.shown} failed; ` +
      secretKeys(context, "username and password, or bearerToken,"),
  },
  {
    says: /returned error: 429/i,
    transient: true,
    message: ({ address }) =>
      `Host of ${address.shown} answers that it was asked too often; make spec.interval longer`,
  },
  {
    says: /couldn't find remote ref|not our ref|unadvertised object|remote did not send/i,
    transient: true,
    refNotFound: true,
    message: ({ address, wanted }) =>
      `Repository ${address.shown} has no ${wanted}; mend spec.ref, or push it`,
  },
  {
    says: /transport '.*' not allowed|protocol .* not supported|unsupported redirect/i,
    transient: false,
    message: ({ address }) =>
      `Repository ${address.shown} leads to another protocol; write its final address in spec.url`,
  },
  {
    says: /Could not resolve host|Name or service not known|Temporary failure in name resolution/i,
    transient: true,
    message: ({ address }) =>
      `Host of ${address.shown} is not found; check spec.url and this machine's network`,
  },
  {
    says: /Connection (refused|timed out|reset)|(Failed|Couldn't) to? ?connect|No route/i,
    transient: true,
    message: ({ address }) => `Host of ${address.shown} cannot be reached; it is tried again`,
  },
  {
    says: /not appear to be a git repository|not a git repository|not found|returned error: 404/i,
    transient: false,
    message: ({ address, hasSecret }) =>
      `No Git repository is found at ${address.shown}; check spec.url` +
      (hasSecret ? ", and that the credentials may read it" : ""),
  },
  {
    says: /could not read from remote repository|unable to access|RPC failed|early EOF|hung up/i,
    transient: true,
    message: ({ address }) => `Connection to ${address.shown} broke; it is tried again`,
  },
];

/** The error for a git command that failed. Tells what git said, without secrets. */
export function troubleOf(stderr: string, context: TroubleContext): ArtifactError {
  const said = git(stderr, context);
  const known = troubles.find((trouble) => trouble.says.test(stderr));
  if (known === undefined) {
    return new ArtifactError(`Fetching ${context.address.shown} failed: ${said}`, true);
  }
  const Kind = known.refNotFound ? RefNotFound : ArtifactError;
  return new Kind(`${known.message(context)} (git: ${said})`, known.transient);
}

/** Git's own word in one line: the last one that says why, for progress and hints go before it. */
function git(stderr: string, context: TroubleContext): string {
  const lines = stderr
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const telling = /^(fatal|error|remote|ssh|ERROR|Host key|Permission)/;
  const chosen = lines.filter((line) => telling.test(line)).slice(0, 2);
  const text = (chosen.length > 0 ? chosen : lines.slice(-1)).join("; ");
  return withoutSecrets(text === "" ? "it said nothing" : text, context.secrets).slice(0, 400);
}

/** Takes values and everything that looks like credentials in a URL out of a text. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret.length > 0) clean = clean.replaceAll(secret, "***");
  }
  return clean
    .replaceAll(/(\w+:\/\/)[^/@\s']*@/g, "$1")
    .replaceAll(/\?[^\s']*/g, "")
    .replaceAll(/\p{Cc}/gu, " ");
}
