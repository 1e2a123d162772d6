import { StringDecoder } from "node:string_decoder";
import { flagOf } from "../../evidence/controllers.ts";
import { readSample } from "../../evidence/metrics-text.ts";
import type { Gap } from "../../evidence/model.ts";
import type { ContainerView, PodView } from "../../evidence/pods.ts";
import { LineRedactor } from "../../evidence/redaction.ts";
import type { Call } from "../../ports/call.ts";
import type { EvidenceSink } from "../../ports/evidence.ts";
import { ApiError, messageOf } from "./api-error.ts";
import type { Connection } from "./connection.ts";
import { gapWhy, troubleOf } from "./objects.ts";
import { getThroughPortForward } from "./port-forward.ts";

/** A file that was taken. */
export interface Taken {
  readonly path: string;
  readonly origin: string;
  /** When it was read, by the server's clock. */
  readonly atMs: number | undefined;
  /** Objects or lines. */
  readonly count: number;
}

export interface LogChoice {
  /** Nodes that are not Ready: their kubelets do not answer, and a request waits 30 s for that. */
  readonly away: ReadonlySet<string>;
  /** The life before this one. */
  readonly previous?: boolean;
  /** The newest lines are enough. */
  readonly recent?: boolean;
}

const LOG_LIMIT_MS = 45_000;
const RECENT_LIMIT_MS = 15_000;
const RECENT_LINES = 5_000;
const METRICS_LIMIT_MS = 10_000;
/** As long as a line is read by whoever judges it. */
const LINE_CHARACTERS = 32 * 1024;

/** Reads logs and metrics, and keeps account of what was taken and what could not be. */
export class TextReader {
  readonly #connection: Connection;
  readonly #sink: EvidenceSink;
  readonly #now: () => number;
  readonly taken: Taken[] = [];
  readonly gaps: Gap[] = [];

  /** `now` goes by the server's clock. */
  constructor(connection: Connection, sink: EvidenceSink, now: () => number) {
    this.#connection = connection;
    this.#sink = sink;
    this.#now = now;
  }

  /** The log of one container. A container that has not run yet has none, which is no gap. */
  async log(pod: PodView, container: string, choice: LogChoice, call: Call): Promise<void> {
    const { previous = false, recent = false } = choice;
    const of = `${pod.key} ${container}${previous ? " (previous)" : ""}`;
    const flags = `${previous ? " --previous" : ""}${recent ? ` --tail=${RECENT_LINES}` : ""}`;
    const command = `kubectl -n ${pod.namespace} logs ${pod.name} -c ${container}${flags}`;
    if (!this.#reachable(pod, `logs ${of}`, command, choice)) return;
    if (!previous && !hasRun(pod, container)) return;
    const query = new URLSearchParams({ container, timestamps: "true" });
    if (previous) query.set("previous", "true");
    if (recent) query.set("tailLines", String(RECENT_LINES));
    const base = `/api/v1/namespaces/${pod.namespace}/pods/${pod.name}/log`;
    const name = `${pod.namespace}_${pod.name}_${container}${previous ? ".previous" : ""}.log`;
    const request = {
      path: `${base}?${query}`,
      limitMs: recent ? RECENT_LIMIT_MS : LOG_LIMIT_MS,
      // A log is text; asking for anything else is refused.
      accept: "text/plain, */*",
    };
    await this.#take({ what: `logs ${of}`, command }, call, async () => {
      const trouble = await this.#connection.stream(
        request,
        (body) => this.#putLines(`logs/${name}`, `GET ${base}`, body, call),
        call,
      );
      if (trouble !== undefined) throw trouble;
    });
  }

  /** What a controller says of its workers. */
  async metrics(pod: PodView, container: ContainerView, choice: LogChoice, call: Call) {
    const path = `metrics/${pod.namespace}_${pod.name}.txt`;
    await this.#ofPod({ pod, container, path, inside: "/metrics", choice }, call);
  }

  /** Where a controller's goroutines stand; a program without pprof has none to show. */
  async goroutines(pod: PodView, container: ContainerView, choice: LogChoice, call: Call) {
    const path = `metrics/${pod.namespace}_${pod.name}.goroutines.txt`;
    const inside = "/debug/pprof/goroutine?debug=2";
    await this.#ofPod({ pod, container, path, inside, choice }, call);
  }

  /** Those few of the API server's own metrics that somebody reads. */
  async apiServerMetrics(call: Call): Promise<void> {
    const request = { path: "/metrics", limitMs: METRICS_LIMIT_MS, accept: "text/plain" };
    const command = "kubectl get --raw /metrics";
    await this.#take({ what: "metrics of the API server", command }, call, async () => {
      const kept: string[] = [];
      await this.#connection.stream(
        request,
        (body) =>
          eachLine(body, (line) => {
            if (readSample(line) !== undefined) kept.push(line);
          }),
        call,
      );
      const text = `# HELP nigari Only what the doctor reads is kept.\n${kept.join("\n")}\n`;
      await this.#putText("metrics/kube-apiserver.txt", "GET /metrics", Buffer.from(text));
    });
  }

  async #ofPod(
    from: {
      readonly pod: PodView;
      readonly container: ContainerView;
      readonly path: string;
      readonly inside: string;
      readonly choice: LogChoice;
    },
    call: Call,
  ): Promise<void> {
    const { pod, container, path, inside, choice } = from;
    const port = metricsPort(container);
    const proxy = `/api/v1/namespaces/${pod.namespace}/pods/${pod.name}:${port}/proxy${inside}`;
    const what = `${inside.startsWith("/metrics") ? "metrics" : "goroutines"} of ${pod.key}`;
    const command = `kubectl get --raw '${proxy}'`;
    if (!this.#reachable(pod, what, command, choice)) return;
    await this.#take({ what, command }, call, async () => {
      const bytes = await this.#throughProxy(proxy, call).catch((error: unknown) => {
        const { why } = troubleOf(error);
        if (why !== "not-permitted" && why !== "damaged" && why !== "timed-out") throw error;
        const place = { namespace: pod.namespace, pod: pod.name, port };
        return getThroughPortForward(this.#connection, place, inside, call);
      });
      await this.#putText(path, `GET ${proxy.split("?")[0]}`, bytes);
    });
  }

  async #throughProxy(path: string, call: Call): Promise<Buffer> {
    const request = { path, limitMs: METRICS_LIMIT_MS, accept: "text/plain, */*" };
    return this.#connection.stream(
      request,
      async (body) => {
        const pieces: Buffer[] = [];
        for await (const piece of body) pieces.push(piece);
        return Buffer.concat(pieces);
      },
      call,
    );
  }

  async #putText(path: string, origin: string, text: Buffer): Promise<void> {
    const bytes = (async function* () {
      yield text;
    })();
    await this.#sink.put({ path, origin, holds: "text", bytes });
    this.#note(path, origin, text.toString("utf8").split("\n").length - 1);
  }

  /** Puts a log, redacted; answers with what went wrong on the way, if it broke off. */
  async #putLines(
    path: string,
    origin: string,
    body: AsyncIterable<Buffer>,
    call: Call,
  ): Promise<ApiError | undefined> {
    const lines = new RedactedLines(body, call);
    await this.#sink.put({ path, origin, holds: "text", bytes: lines.bytes() });
    this.#note(path, origin, lines.count);
    return lines.trouble;
  }

  #note(path: string, origin: string, count: number): void {
    this.taken.push({ path, origin, atMs: this.#now(), count });
  }

  #reachable(pod: PodView, what: string, command: string, { away }: LogChoice): boolean {
    if (pod.node === undefined) return false;
    if (!away.has(pod.node)) return true;
    const detail = `Node ${pod.node} is not Ready; it was not asked`;
    this.gaps.push({ what, why: "absent", detail, command });
    return false;
  }

  async #take(
    wanted: Pick<Gap, "what" | "command">,
    call: Call,
    read: () => Promise<void>,
  ): Promise<void> {
    try {
      await read();
    } catch (error) {
      call.signal.throwIfAborted();
      const trouble = troubleOf(error);
      this.gaps.push({ ...wanted, why: gapWhy(trouble), detail: trouble.message });
    }
  }
}

/** A log's lines without secrets; a log that breaks off is made to look so. */
class RedactedLines {
  readonly #body: AsyncIterable<Buffer>;
  readonly #call: Call;
  count = 0;
  trouble: ApiError | undefined;

  constructor(body: AsyncIterable<Buffer>, call: Call) {
    this.#body = body;
    this.#call = call;
  }

  async *bytes(): AsyncGenerator<Buffer> {
    const redactor = new LineRedactor();
    const decoder = new StringDecoder("utf8");
    let rest = "";
    try {
      for await (const chunk of this.#body) {
        const lines = (rest + decoder.write(chunk)).split("\n");
        rest = (lines.pop() ?? "").slice(0, LINE_CHARACTERS);
        const shown = lines.flatMap((line) => redactor.log(cut(line)) ?? []);
        this.count += lines.length;
        if (shown.length > 0) yield Buffer.from(`${shown.join("\n")}\n`);
      }
    } catch (error) {
      this.#call.signal.throwIfAborted();
      const message = messageOf(error);
      this.trouble = new ApiError("timed-out", `The log broke off: ${message}`, { cause: error });
    }
    if (this.trouble !== undefined) yield Buffer.from("[the log broke off here");
    else if (rest !== "") yield Buffer.from(`${redactor.log(rest) ?? ""}\n`);
  }
}

const cut = (line: string) =>
  line.length > LINE_CHARACTERS ? line.slice(0, LINE_CHARACTERS) : line;

async function eachLine(body: AsyncIterable<Buffer>, take: (line: string) => void): Promise<void> {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  for await (const chunk of body) {
    const lines = (rest + decoder.write(chunk)).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) take(line);
  }
  if (rest !== "") take(rest);
}

function hasRun(pod: PodView, name: string): boolean {
  const container = pod.containers.find((each) => each.name === name);
  return container?.runningSinceMs !== undefined || container?.ended !== undefined;
}

/** By its flag, else as Flux's controllers and tofu-controller have it. */
function metricsPort(container: ContainerView): number {
  const address = flagOf(container.args, "metrics-addr") ?? flagOf(container.args, "metrics-port");
  return Number(/(\d+)$/.exec(address ?? "")?.[1] ?? 8080);
}

/** Does something for each, at most so many at once; answers in their order. */
export async function inTurns<T, R>(
  atOnce: number,
  list: readonly T[],
  act: (each: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < list.length; index = next++) {
      results[index] = await act(list[index] as T);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, list.length) }, worker));
  return results;
}
