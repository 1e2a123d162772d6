import { connect, isIP } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { HealthFact, StartOrder } from "../protocol/messages.ts";
import { fill } from "../template/fill.ts";
import { parseTemplate, TemplateError } from "../template/parse.ts";

export type HealthCheck = StartOrder["healthChecks"][number];

/** Pause between two tries of one check, in milliseconds: what was applied may need to come up. */
const PAUSE_MS = 1_000;
/** As Go's client has it. */
const REDIRECTS_MAX = 10;

/**
 * Makes all checks side by side. Each is tried until it passes or its own time is over, so all have
 * ended after the longest of their times. Ends early, with what is known, when `stop` fires.
 * Messages name the check and its template, never what was filled in.
 */
export async function checkHealth(
  checks: readonly HealthCheck[],
  outputs: ReadonlyMap<string, string>,
  stop: AbortSignal,
): Promise<HealthFact[]> {
  return await Promise.all(
    checks.map(async (check) => {
      const trouble = await troubleOf(check, outputs, stop);
      return { name: check.name, trouble: trouble && `${subjectOf(check)}: ${trouble}` };
    }),
  );
}

/** Upstream's words. */
function subjectOf({ type, name, target }: HealthCheck): string {
  return `${type === "tcp" ? "TCP" : "HTTP"} health check error: ${name}, url: ${target}`;
}

async function troubleOf(
  check: HealthCheck,
  outputs: ReadonlyMap<string, string>,
  stop: AbortSignal,
): Promise<string | undefined> {
  const time = AbortSignal.timeout(check.timeoutMs);
  const end = AbortSignal.any([time, stop]);
  let trouble = `no answer within ${check.timeoutMs / 1_000}s`;
  try {
    const target = fillIn(check.target, outputs);
    const attempt = check.type === "tcp" ? tcpAttempt(target) : httpAttempt(target);
    while (!end.aborted) {
      const found = await attempt(end);
      if (found === undefined) return undefined;
      // A try that the end cut off tells nothing new.
      if (!end.aborted) trouble = found;
      await sleep(PAUSE_MS, undefined, { signal: end }).catch(() => undefined);
    }
    return trouble;
  } catch (error) {
    if (error instanceof TemplateError || error instanceof AddressError) return error.message;
    throw error;
  }
}

/** tofu-controller's delimiters: those of Go may stand in a URL. */
const DELIMITERS = { open: `$\{{`, close: "}}" } as const;

function fillIn(template: string, outputs: ReadonlyMap<string, string>): string {
  return fill(parseTemplate(template, DELIMITERS), Object.fromEntries(outputs));
}

/** What came of the template is no address; the message does not hold it. */
class AddressError extends Error {
  override readonly name = "AddressError";
}

/** One try: undefined if it passed, else what is wrong. */
type Attempt = (end: AbortSignal) => Promise<string | undefined>;

function wrong(what: string): Attempt {
  throw new AddressError(what);
}

/** host:port of a TCP address; undefined if it is none. */
export function parseTcpAddress(text: string): { host: string; port: number } | undefined {
  const found = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text);
  const [, bracketed, plain = "", digits] = found ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  const named = bracketed === undefined && isHostName(host);
  if (!(port >= 1 && port <= 65_535) || !(isIP(host) > 0 || named)) return undefined;
  return { host, port };
}

function isHostName(text: string): boolean {
  const labels = text.replace(/\.$/, "").split(".");
  return labels.every((label) => /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/.test(label));
}

function tcpAttempt(target: string): Attempt {
  const address = parseTcpAddress(target);
  if (address === undefined) {
    return wrong("this is no address of the form host:port, with a port from 1 to 65535");
  }
  return (end) =>
    new Promise((resolve) => {
      const socket = connect({ ...address, signal: end });
      const done = (trouble: string | undefined) => {
        socket.destroy();
        resolve(trouble);
      };
      socket.once("connect", () => done(undefined));
      socket.once("error", (error) => done(troubleText(error)));
    });
}

function httpAttempt(target: string): Attempt {
  const url = URL.parse(target);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return wrong("this is no URL that begins with http:// or https://");
  }
  return async (end) => {
    let next = url;
    for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
      const answer = await get(next, end);
      if (typeof answer === "string") return answer;
      const { status, location } = answer;
      const onward =
        isRedirect(status) && location !== undefined ? URL.parse(location, next.href) : null;
      if (onward === null || !/^https?:$/.test(onward.protocol)) {
        return status >= 200 && status < 400 ? undefined : `it answers with status ${status}`;
      }
      next = onward;
    }
    return `it redirects more than ${REDIRECTS_MAX} times`;
  };
}

function isRedirect(status: number): boolean {
  return [301, 302, 303, 307, 308].includes(status);
}

interface Answer {
  readonly status: number;
  readonly location: string | undefined;
}

/** The head of the answer, or what is wrong. The body is not read. */
async function get(url: URL, signal: AbortSignal): Promise<Answer | string> {
  // Loading these takes as long as starting Node; few runs have such a check.
  const { request } = await (url.protocol === "https:"
    ? import("node:https")
    : import("node:http"));
  return await new Promise((resolve) => {
    const sent = request(url, { signal, agent: false }, (response) => {
      const { statusCode: status = 0, headers } = response;
      response.destroy();
      resolve({ status, location: headers.location });
    });
    sent.once("error", (error) => resolve(troubleText(error)));
    sent.end();
  });
}

/** Node's own words would quote the address, in which an output may stand. */
function troubleText(error: Error): string {
  const { code, name } = error as NodeJS.ErrnoException;
  if (name === "AbortError") return "no answer in time";
  return code === undefined ? "the connection failed" : `the connection failed (${code})`;
}
