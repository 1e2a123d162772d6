import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What the way to the state door does with the requests of one object's OpenTofu. */
export type DoorMode =
  /** Hands on. */
  | "open"
  /** Answers 500. */
  | "broken"
  /** Accepts and never answers. */
  | "silent";

interface Held {
  readonly name: string;
  readonly command: string;
  go(): void;
}

/**
 * Stands between OpenTofu and the state door, where a network and its failures would be. Paths are
 * `/<command of OpenTofu>/<port of the door>/states/<namespace>/<name>/<workspace>`.
 */
export class DoorProxy {
  readonly #server = createServer((incoming, answer) => this.#take(incoming, answer));
  readonly #modes = new Map<string, DoorMode>();
  readonly #holding = new Set<string>();
  readonly #held = new Set<Held>();
  readonly #written = new Map<string, number>();
  readonly #silent = new Map<string, ServerResponse[]>();

  /** Serial of the last state of the object that the door said it has. */
  acknowledged(name: string): number {
    return this.#written.get(name) ?? 0;
  }

  /** Begins to listen; the address below which doors are reached. */
  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  /** Of the object with this name, until it is set anew; connections that were silent are cut. */
  set(name: string, mode: DoorMode): void {
    this.#modes.set(name, mode);
    for (const answer of this.#silent.get(name) ?? []) answer.destroy();
    this.#silent.delete(name);
  }

  /** Holds the object's state back when this command reads it, until it is let go. */
  hold(name: string, command: string): void {
    this.#holding.add(`${name} ${command}`);
  }
  /** What was held goes the way that is open now. */
  letGo(name: string, command: string): void {
    this.#holding.delete(`${name} ${command}`);
    for (const each of this.#held) {
      if (each.name === name && each.command === command) each.go();
    }
  }
  /** Whether a request waits here now. */
  holds(name: string, command: string): boolean {
    return [...this.#held].some((each) => each.name === name && each.command === command);
  }

  #take(incoming: IncomingMessage, answer: ServerResponse): void {
    const [, command = "", port = "", ...path] = (incoming.url ?? "").split("/");
    const name = decodeURIComponent(path[2] ?? "");
    incoming.on("error", () => {});
    answer.on("error", () => {});
    switch (this.#modes.get(name)) {
      case "broken":
        answer.writeHead(500).end("the way to the door is broken");
        return;
      case "silent":
        this.#silent.set(name, [...(this.#silent.get(name) ?? []), answer]);
        return;
      default:
        if (incoming.method === "GET" && this.#holding.has(`${name} ${command}`)) {
          this.#hold(answer, { name, command, go: () => this.#take(incoming, answer) });
        } else {
          if (incoming.method === "POST") this.#note(name, incoming, answer);
          pass(incoming, answer, { port: Number(port), path: `/${path.join("/")}` });
        }
    }
  }

  #note(name: string, incoming: IncomingMessage, answer: ServerResponse): void {
    const parts: Buffer[] = [];
    incoming.on("data", (part) => parts.push(part));
    answer.on("finish", () => {
      if (answer.statusCode !== 200) return;
      this.#written.set(name, JSON.parse(Buffer.concat(parts).toString("utf8")).serial);
    });
  }

  #hold(answer: ServerResponse, { name, command, go }: Held): void {
    const held: Held = {
      name,
      command,
      go: () => {
        this.#held.delete(held);
        go();
      },
    };
    this.#held.add(held);
    answer.on("close", () => this.#held.delete(held));
  }
}

function pass(
  incoming: IncomingMessage,
  answer: ServerResponse,
  to: { readonly port: number; readonly path: string },
): void {
  const { method = "GET", headers } = incoming;
  const outgoing = request({ host: "127.0.0.1", ...to, method, headers, agent: false });
  // What breaks on one side breaks on the other.
  outgoing.on("error", () => answer.destroy());
  answer.on("close", () => outgoing.destroy());
  outgoing.on("response", (response) => {
    answer.writeHead(response.statusCode ?? 502, response.headers);
    response.on("error", () => answer.destroy());
    response.pipe(answer);
  });
  incoming.pipe(outgoing);
}
