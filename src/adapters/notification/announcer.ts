import http from "node:http";
import https from "node:https";
import { secondText } from "../../domain/time.ts";
import type { Announcer, News } from "../../ports/announcer.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";

export interface AnnouncerOptions {
  /** Of notification-controller. */
  readonly url: string;
  /** Host or pod that reports. */
  readonly instance: string;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Ends what is under way and what waits. */
  readonly signal: AbortSignal;
}

const POST_MS = 5_000;
const ATTEMPTS = 3;
const PAUSE_MS = 2_000;
/** What waits while nobody answers; the oldest goes first, for the newest is what matters. */
const WAITING_MAX = 1_000;
/** By this name people's alerts know the controller. */
const CONTROLLER = "tf-controller";
const METADATA_PREFIX = "event.toolkit.fluxcd.io/";

/**
 * Posts events in the form of notification-controller, one after another. An answer 429 says that
 * it has this one already.
 */
export function createAnnouncer(options: AnnouncerOptions): Announcer {
  const { log, signal } = options;
  const waiting: string[] = [];
  let works = false;
  let silent = false;

  async function work(): Promise<void> {
    for (let body = waiting.shift(); body !== undefined; body = waiting.shift()) {
      if (signal.aborted) return;
      const trouble = await posted(body, options);
      // Said once, until an event was taken again.
      if (trouble !== undefined && !silent && !signal.aborted) {
        log.warn("An event was not taken by notification-controller", { error: trouble });
      }
      silent = trouble !== undefined;
    }
  }

  return {
    announce(news) {
      waiting.push(JSON.stringify(bodyOf(news, options)));
      if (waiting.length > WAITING_MAX) waiting.shift();
      if (works) return;
      works = true;
      void work().finally(() => {
        works = false;
      });
    },
  };
}

function bodyOf({ object, type, reason, message }: News, options: AnnouncerOptions) {
  const { name, namespace, uid, resourceVersion, annotations = {} } = object.metadata;
  const meant = Object.entries(annotations).filter(([key]) => key.startsWith(METADATA_PREFIX));
  return {
    involvedObject: {
      ...{ kind: object.kind, apiVersion: object.apiVersion, namespace, name },
      ...{ uid, resourceVersion },
    },
    severity: type === "Warning" ? "error" : "info",
    timestamp: secondText(options.clock.now()),
    message,
    reason,
    ...(meant.length === 0 ? {} : { metadata: Object.fromEntries(meant) }),
    reportingController: CONTROLLER,
    reportingInstance: options.instance,
  };
}

/** Undefined: it was taken. Else why not. */
async function posted(body: string, options: AnnouncerOptions): Promise<string | undefined> {
  const { clock, signal } = options;
  for (let attempt = 1; ; attempt++) {
    const answer = await post(body, options);
    const again = typeof answer === "string" || answer >= 500;
    if (!again) {
      const taken = (answer >= 200 && answer < 300) || answer === 429;
      return taken ? undefined : `the server answered ${answer}`;
    }
    const why = typeof answer === "string" ? answer : `the server answered ${answer}`;
    if (attempt === ATTEMPTS || signal.aborted) return why;
    await clock.sleep(PAUSE_MS, signal);
  }
}

/** The status of the answer, or in words why there is none. */
function post(body: string, { url, userAgent, clock, signal }: AnnouncerOptions) {
  const { promise, resolve } = Promise.withResolvers<number | string>();
  const { request } = url.startsWith("https:") ? https : http;
  const headers = {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    "user-agent": userAgent,
  };
  const bound = clock.deadline(`POST ${url}`, POST_MS, signal);
  const sent = request(url, { method: "POST", headers, signal: bound });
  sent.once("response", (answer) => {
    answer.resume();
    resolve(answer.statusCode ?? 0);
  });
  sent.once("error", (error) => {
    const { reason } = bound;
    resolve(bound.aborted && reason instanceof Error ? reason.message : error.message);
  });
  sent.end(body);
  return promise;
}
