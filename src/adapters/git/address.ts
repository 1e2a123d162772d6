import { statSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { ArtifactError } from "../../ports/artifacts.ts";

/** Where a repository lies, as git is told and as people are told. */
export interface Address {
  /** git's name of the protocol; the only one that git may use for this address. */
  readonly protocol: "https" | "http" | "ssh" | "file";
  /** What git is given. Holds no password. */
  readonly url: string;
  /** What messages say. */
  readonly shown: string;
  /** `https://host:port` for http and https; credentials go nowhere else. */
  readonly origin: string | undefined;
  /** Host of an ssh address, for the mend of a missing host key. */
  readonly host: string | undefined;
}

/**
 * Reads `spec.url`. Local paths that are not absolute are taken from `baseFolder`. Fails with
 * `ArtifactError`, never transient except for a folder that may yet come.
 */
export function readAddress(url: string, baseFolder: string): Address {
  if (/\p{Cc}/u.test(url) || url.startsWith("-")) {
    throw wrong(`URL in spec.url holds characters that no address has`, "write it anew");
  }
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(url)?.[1]?.toLowerCase();
  if (scheme === "https" || scheme === "http" || scheme === "ssh") return remote(scheme, url);
  if (scheme === "file") return local(fileUrlPath(url));
  if (scheme !== undefined || /^[a-z0-9+.-]+::/i.test(url)) {
    throw wrong(`Protocol of spec.url is not supported`, "use https, ssh, file or a local path");
  }
  const short = /^(?:[^@:/\s]+@)?([^:/\s]+):(?!\/\/)/.exec(url);
  if (short?.[1] !== undefined) {
    return { protocol: "ssh", url, shown: url, origin: undefined, host: short[1] };
  }
  return local(isAbsolute(url) ? url : resolve(baseFolder, url));
}

function remote(protocol: "https" | "http" | "ssh", url: string): Address {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw wrong("URL in spec.url cannot be read", `write it as ${protocol}://host/path`);
  }
  if (parsed.password !== "") {
    throw wrong(
      "URL in spec.url holds a password",
      "put username and password into a Secret and name it in spec.secretRef",
    );
  }
  const web = protocol !== "ssh";
  const user = parsed.username !== "" && !web ? `${parsed.username}@` : "";
  return {
    protocol,
    // As the parser writes it, so that what git asks credentials for is the origin below.
    url: web ? parsed.href : url,
    // A token may stand as the user or in the query; neither is shown.
    shown: `${protocol}://${user}${parsed.host}${parsed.pathname}`,
    origin: web ? parsed.origin : undefined,
    host: web ? undefined : parsed.hostname,
  };
}

function fileUrlPath(url: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    throw wrong(
      "URL in spec.url is no file URL of this machine",
      "write it as file:///absolute/path",
    );
  }
}

function local(path: string): Address {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) {
    throw new ArtifactError(`Folder ${path} of spec.url does not exist; mend the path`, true);
  }
  return { protocol: "file", url: path, shown: path, origin: undefined, host: undefined };
}

function wrong(what: string, mend: string): ArtifactError {
  return new ArtifactError(`${what}; ${mend}`, false);
}
