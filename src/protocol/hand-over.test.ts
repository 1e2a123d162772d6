import { expect, test } from "vitest";
import { startsAlike } from "./hand-over.ts";

const SPARE = { PATH: "/bin", TZ: "UTC", NODE_COMPILE_CACHE: "/cache", HTTPS_PROXY: "http://p" };

test.each([
  ["what it was started with", {}, true],
  ["a variable that is read when it is asked for", { TF_CLI_CONFIG_FILE: "/x" }, true],
  ["another search path", { PATH: "/usr/bin" }, true],
  ["another time zone", { TZ: "Asia/Tokyo" }, false],
  ["options of Node", { NODE_OPTIONS: "--max-old-space-size=100" }, false],
  ["other certificates", { SSL_CERT_FILE: "/certificates" }, false],
  ["another proxy", { HTTPS_PROXY: "http://q" }, false],
  ["a language", { LC_ALL: "C" }, false],
  ["a library before all others", { LD_PRELOAD: "/lib" }, false],
])("a spare is fit for a run with %s: %#", (_what, env, fit) => {
  expect(startsAlike(SPARE, { ...SPARE, ...env })).toBe(fit);
});

test("a spare is not fit for a run that lacks what is read at the start", () => {
  const { TZ: _zone, ...rest } = SPARE;
  expect(startsAlike(SPARE, rest)).toBe(false);
});
