import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { ArtifactError } from "../../ports/artifacts.ts";
import { type Address, readAddress } from "./address.ts";

const base = mkdtempSync(join(tmpdir(), "nigari-address-"));
afterAll(() => rmSync(base, { recursive: true }));

const good: Record<string, { url: string; is: Partial<Address> }> = {
  "https keeps host and path": {
    url: "https://example.com/org/repo.git",
    is: {
      protocol: "https",
      shown: "https://example.com/org/repo.git",
      origin: "https://example.com",
    },
  },
  "a token in the user or the query is not shown": {
    url: "https://token123@example.com:8443/r?private=token456",
    is: { shown: "https://example.com:8443/r", origin: "https://example.com:8443" },
  },
  "ssh keeps the user, who is no secret": {
    url: "ssh://git@example.com:2222/org/repo",
    is: { protocol: "ssh", shown: "ssh://git@example.com:2222/org/repo", host: "example.com" },
  },
  "the short form of ssh": {
    url: "git@example.com:org/repo.git",
    is: { protocol: "ssh", url: "git@example.com:org/repo.git", host: "example.com" },
  },
  "an absolute path": { url: base, is: { protocol: "file", url: base } },
  "a relative path, from the base": { url: ".", is: { protocol: "file", url: base } },
  "a file URL": { url: `file://${base}`, is: { protocol: "file", url: base } },
};
describe("reads", () => {
  test.each(Object.entries(good))("%s", (_, { url, is }) => {
    expect(readAddress(url, base)).toMatchObject(is);
  });
});

const bad: Record<string, { url: string; says: string; transient?: boolean }> = {
  "a password in the URL": {
    url: "https://user:hunter2@example.com/r",
    says: "put username and password into a Secret",
  },
  "a protocol that runs programs": { url: "ext::sh -c id", says: "use https, ssh, file" },
  "a protocol without encryption or identity": {
    url: "git://example.com/r",
    says: "Protocol of spec.url is not supported",
  },
  "what git would take for an option": { url: "--upload-pack=id", says: "write it anew" },
  "a line break": { url: "https://example.com/r\nx", says: "write it anew" },
  "a file URL of another machine": {
    url: "file://server/share",
    says: "write it as file:///absolute/path",
  },
  "a folder that is not there; it may come": {
    url: "/does/not/exist",
    says: "Folder /does/not/exist of spec.url does not exist",
    transient: true,
  },
};
describe("refuses", () => {
  test.each(Object.entries(bad))("%s", (_, { url, says, transient = false }) => {
    let error: unknown;
    try {
      readAddress(url, base);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(ArtifactError);
    expect(error).toMatchObject({ transient });
    expect((error as Error).message).toContain(says);
    expect((error as Error).message).not.toContain("hunter2");
  });
});
