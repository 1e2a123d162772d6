import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { until } from "../cluster/commands.ts";
import { archiveOf } from "../cluster/controller-world.ts";

/** Steps of a run that can be held: what OpenTofu does there asks this server and waits. */
export const heldStages = ["init", "plan", "apply"] as const;
export type HeldStage = (typeof heldStages)[number];

/** One time that a provisioner has begun to do something to the world. */
export interface Effect {
  readonly object: string;
  /** It was told to be done while its process still was there to hear it. */
  done: boolean;
}

interface Waiting {
  readonly gate: string;
  readonly answer: () => void;
}

/**
 * The world outside of every state, as modules see it: counts what was done to it, and holds runs
 * in a step for as long as a test wants. Pods reach it at the cluster's bridge.
 */
export class Effects {
  readonly all: Effect[] = [];
  readonly #server: Server;
  readonly #closed = new Set<string>();
  readonly #waiting = new Set<Waiting>();
  readonly #module: Buffer;
  #url = "";

  private constructor(module: Buffer) {
    this.#module = module;
    this.#server = createServer((request, answer) => this.#serve(request, answer));
    // What a run waits for may last as long as the test.
    this.#server.requestTimeout = 0;
    this.#server.headersTimeout = 0;
  }

  static async listen(host: string): Promise<Effects> {
    const effects = new Effects(await archiveOf(gateFiles));
    effects.#server.listen(0, host);
    await once(effects.#server, "listening");
    const { port } = effects.#server.address() as AddressInfo;
    effects.#url = `http://${host}:${port}`;
    return effects;
  }

  get url(): string {
    return this.#url;
  }

  /** From now on whoever comes to this step of the object's runs waits there. */
  hold(stage: HeldStage, object: string): void {
    this.#closed.add(`${stage}/${object}`);
  }

  /** Whoever waits there goes on, and nobody waits there any more. */
  open(stage: HeldStage, object: string): void {
    const gate = `${stage}/${object}`;
    this.#closed.delete(gate);
    for (const each of [...this.#waiting].filter((one) => one.gate === gate)) each.answer();
  }

  openAll(): void {
    for (const gate of [...this.#closed]) {
      const [stage, object = ""] = gate.split("/");
      this.open(stage as HeldStage, object);
    }
  }

  /** How many runs of the object wait there now, as far as their connections tell. */
  waiting(stage: HeldStage, object: string): number {
    return [...this.#waiting].filter(({ gate }) => gate === `${stage}/${object}`).length;
  }

  async untilHeld(stage: HeldStage, object: string, limitMs = 60_000): Promise<void> {
    await until(`${object} to be held in ${stage}`, limitMs, () =>
      this.waiting(stage, object) > 0 ? true : undefined,
    );
  }

  begun(object: string): number {
    return this.all.filter((each) => each.object === object).length;
  }
  done(object: string): number {
    return this.all.filter((each) => each.object === object && each.done).length;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  /** /init/NAME.tar.gz is a module, /plan/NAME a state, /apply/NAME an effect. */
  #serve(request: IncomingMessage, answer: ServerResponse): void {
    const [stage, file = ""] = (request.url ?? "").slice(1).split("/");
    const object = file.replace(/\.tar\.gz$/, "");
    switch (stage) {
      case "init":
        this.#pass(`init/${object}`, answer, () => answer.end(this.#module));
        break;
      case "plan":
        this.#pass(`plan/${object}`, answer, () => answer.end(gateState));
        break;
      case "apply": {
        const effect: Effect = { object, done: false };
        this.all.push(effect);
        this.#pass(`apply/${object}`, answer, () => {
          effect.done = true;
          answer.end("done");
        });
        break;
      }
      default:
        answer.writeHead(404).end();
    }
  }

  #pass(gate: string, answer: ServerResponse, through: () => void): void {
    if (!this.#closed.has(gate)) {
      through();
      return;
    }
    const waiting: Waiting = {
      gate,
      answer: () => {
        this.#waiting.delete(waiting);
        through();
      },
    };
    this.#waiting.add(waiting);
    answer.on("close", () => this.#waiting.delete(waiting));
  }
}

const gateFiles = { "main.tf": 'output "open" { value = true }\n' };
const gateState = JSON.stringify({
  ...{ version: 4, terraform_version: "1.6.0", serial: 1, lineage: "gate", resources: [] },
  outputs: { open: { value: true, type: "bool" } },
});
