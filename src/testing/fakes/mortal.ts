/** The life of one engine in a simulation: how many calls it made, and whether it was killed. */
export class Life {
  dead = false;
  /** It has heard that it leads no longer. */
  deposed = false;
  /** It will be paused at some time; to say so beforehand spares the others the cost. */
  mayPause = false;
  /** Told of every call before it is made and after; may kill here. */
  onCall: (call: string, when: "before" | "after") => void = () => {};

  kill(): void {
    this.dead = true;
    this.resume();
  }

  /** SIGSTOP: nothing more is done or heard until `resume`. */
  pause(): void {
    this.#paused ??= Promise.withResolvers<void>();
  }

  resume(): void {
    this.#paused?.resolve();
    this.#paused = undefined;
  }

  get paused(): boolean {
    return this.#paused !== undefined;
  }

  /** Resolves at once, or when the engine goes on; never for one that is dead. */
  async awake(): Promise<void> {
    while (this.#paused !== undefined) await this.#paused.promise;
    if (this.dead) await never();
  }

  #paused: PromiseWithResolvers<void> | undefined;
}

/** What a killed process waits for: nothing that will ever come. */
function never<T>(): Promise<T> {
  return new Promise<T>(() => {});
}

/**
 * A port as one engine sees it, until the engine is killed: then no call is made any more and no
 * answer arrives, as if the process had ended in the middle of whatever it did.
 */
export function mortal<T extends object>(name: string, port: T, life: Life): T {
  return new Proxy(port, {
    get(target, property) {
      const member: unknown = Reflect.get(target, property);
      if (typeof member !== "function") return member;
      return (...given: unknown[]) => {
        if (life.dead) return never();
        const call = `${name}.${String(property)}`;
        life.onCall(call, "before");
        if (life.dead) return never();
        return outlived(member.apply(target, given), call, life);
      };
    },
  });
}

/** An answer that does not arrive once the engine is dead. */
function outlived(answer: unknown, call: string, life: Life): unknown {
  if (answer instanceof Promise) {
    return answer.then(
      (value) => arrive(() => value, call, life),
      (error) =>
        arrive(
          () => {
            throw error;
          },
          call,
          life,
        ),
    );
  }
  if (isStream(answer)) return outlivedStream(answer, call, life);
  if (isConnection(answer)) return mortal(call, answer, life);
  return answer;
}

async function arrive<T>(answer: () => T, call: string, life: Life): Promise<T> {
  if (life.dead) return await never();
  life.onCall(call, "after");
  if (life.dead || life.paused) await life.awake();
  return answer();
}

async function* outlivedStream(stream: AsyncIterable<unknown>, call: string, life: Life) {
  for await (const element of stream) {
    await life.awake();
    life.onCall(`${call} event`, "before");
    await life.awake();
    yield element;
  }
}

function isStream(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** Something with methods of its own, such as the connection to a runner. */
function isConnection(value: unknown): value is object {
  return typeof value === "object" && value !== null && "hello" in value;
}
