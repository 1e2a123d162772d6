import { describe, expect, test } from "vitest";
import { readAddress } from "./address.ts";
import { type TroubleContext, troubleOf, withoutSecrets } from "./trouble.ts";

const context: TroubleContext = {
  address: readAddress("https://example.com/org/repo", "/"),
  secrets: ["hunter2"],
  hasSecret: true,
  wanted: 'branch "main"',
  fileLimitBytes: 256 * 1024 * 1024,
};

const cases: Record<string, { stderr: string; says: string; transient: boolean }> = {
  "a wrong password": {
    stderr: "fatal: Authentication failed for 'https://u:hunter2@example.com/org/repo/'\n",
    says: "check username and password, or bearerToken, in the Secret of spec.secretRef",
    transient: false,
  },
  "no password where one is wanted": {
    stderr: "fatal: could not read Username for 'https://example.com': terminal prompts disabled\n",
    says: "does not exist or wants credentials",
    transient: false,
  },
  "a branch that is not there": {
    stderr: "fatal: couldn't find remote ref refs/heads/main\n",
    says: 'has no branch "main"; mend spec.ref',
    transient: true,
  },
  "a host key that is not known": {
    stderr:
      "No ED25519 host key is known for example.com and you have requested strict checking.\n" +
      "Host key verification failed.\nfatal: Could not read from remote repository.\n",
    says: "ssh-keyscan",
    transient: false,
  },
  "a key that is refused": {
    stderr:
      "git@example.com: Permission denied (publickey).\n" +
      "fatal: Could not read from remote repository.\n",
    says: "check identity in the Secret",
    transient: false,
  },
  "an authority that is not known": {
    stderr:
      "fatal: unable to access 'https://example.com/': SSL certificate problem: " +
      "unable to get local issuer certificate\n",
    says: "ca.crt",
    transient: false,
  },
  "a name that does not resolve": {
    stderr: "fatal: unable to access 'https://example.com/': Could not resolve host: example.com\n",
    says: "is not found; check spec.url",
    transient: true,
  },
  "a server error": {
    stderr:
      "fatal: unable to access 'https://example.com/': The requested URL returned error: 503\n",
    says: "broke; it is tried again",
    transient: true,
  },
  "a repository that is not there": {
    stderr: "remote: Repository not found.\nfatal: repository 'https://example.com/' not found\n",
    says: "No Git repository is found at https://example.com/org/repo",
    transient: false,
  },
  "a pack that is too large": {
    stderr: "fatal: write error: File too large\nfatal: fetch-pack: invalid index-pack output\n",
    says: "more than 256 MiB",
    transient: false,
  },
  "something never heard before is passed on": {
    stderr: "fatal: the moon is full\n",
    says: "Fetching https://example.com/org/repo failed: fatal: the moon is full",
    transient: true,
  },
};
describe("git's refusals", () => {
  test.each(Object.entries(cases))("%s", (_, { stderr, says, transient }) => {
    const error = troubleOf(stderr, context);
    expect(error.message).toContain(says);
    expect(error.transient).toBe(transient);
    expect(error.message).not.toContain("hunter2");
    expect(error.message).not.toMatch(/\n/);
  });
});

test("credentials are taken out wherever they stand", () => {
  const text = "at https://me:s3cret@example.com/r?token=abc and key s3cret";
  expect(withoutSecrets(text, ["s3cret"])).toBe("at https://example.com/r and key ***");
});
