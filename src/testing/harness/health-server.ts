import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What health checks ask: says nothing about a name until it is called well, and then 200. */
export class HealthServer {
  readonly #well = new Set<string>();
  readonly #waiting = new Map<string, ServerResponse[]>();
  readonly #server = createServer((request, answer) => {
    const name = (request.url ?? "").slice(1);
    if (this.#well.has(name)) answer.end("well");
    else this.#waiting.set(name, [...(this.#waiting.get(name) ?? []), answer]);
  });

  /** Begins to listen; the URL below which names are asked about. */
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

  /** Whether somebody has asked about this name. */
  asked(name: string): boolean {
    return this.#waiting.has(name);
  }

  letGo(name: string): void {
    this.#well.add(name);
    for (const answer of this.#waiting.get(name) ?? []) answer.end("well");
  }
}
