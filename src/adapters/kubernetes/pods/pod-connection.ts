import type { Call } from "../../../ports/call.ts";
import {
  type InputFile,
  type RunEvent,
  type RunFile,
  type RunnerConnection,
  RunnerError,
  type RunnerHello,
  type StartOrder,
} from "../../../ports/runner.ts";
import { RunnerClient, type RunnerTarget } from "../../../protocol/client.ts";

export interface PodConnectionPorts {
  /** Where the runner is now. Fails with RunnerError("Unavailable") if it has no address yet. */
  target(call: Call): Promise<RunnerTarget>;
  /** The runner has answered; with its hello comes its own boot id. */
  greeted(bootId: string, call: Call): Promise<void>;
  /** It has given another sign of life. */
  sign(): void;
}

/** A connection to the runner in a pod, found when first used, that notes each sign of life. */
export class PodConnection implements RunnerConnection {
  readonly #ports: PodConnectionPorts;
  #client: RunnerClient | undefined;

  constructor(ports: PodConnectionPorts) {
    this.#ports = ports;
  }

  async hello(call: Call): Promise<RunnerHello> {
    const hello = await (await this.#connected(call)).hello(call);
    await this.#ports.greeted(hello.bootId, call);
    return hello;
  }

  async putFile(file: InputFile, call: Call): Promise<void> {
    await (await this.#connected(call)).putFile(file, call);
  }

  async start(order: StartOrder, call: Call): Promise<void> {
    await (await this.#connected(call)).start(order, call);
  }

  async *watch(
    from: { fromSequence: number; logOffset: number },
    call: Call,
  ): AsyncGenerator<RunEvent> {
    const client = await this.#connected(call);
    for await (const event of client.watch(from, call)) {
      if (event.type === "heartbeat") this.#ports.sign();
      yield event;
    }
  }

  async cancel(graceMs: number, call: Call): Promise<void> {
    await (await this.#connected(call)).cancel(graceMs, call);
  }

  async readFile(name: RunFile, call: Call): Promise<Uint8Array | undefined> {
    return await (await this.#connected(call)).readFile(name, call);
  }

  async release(call: Call): Promise<void> {
    await (await this.#connected(call)).release(call);
  }

  close(): void {
    this.#client?.close();
    this.#client = undefined;
  }

  async #connected(call: Call): Promise<RunnerClient> {
    if (call.signal.aborted) {
      throw new RunnerError("DeadlineExceeded", "The call's time was over before it began");
    }
    this.#client ??= new RunnerClient(await this.#ports.target(call));
    return this.#client;
  }
}
