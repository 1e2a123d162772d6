/** Why a run is ended before its time. */
export interface StopRequest {
  readonly by: "cancel" | "shutdown";
  /** Time between the interrupt and the kill. */
  readonly graceMs: number;
}

/** The one place that knows whether the run was asked to stop. The first request holds. */
export class Stopping {
  readonly #control = new AbortController();
  #request: StopRequest | undefined;

  get request(): StopRequest | undefined {
    return this.#request;
  }

  /** Fires with the first request. */
  get signal(): AbortSignal {
    return this.#control.signal;
  }

  ask(request: StopRequest): void {
    if (this.#request !== undefined) return;
    this.#request = request;
    this.#control.abort(new Error(`Stopped by ${request.by}`));
  }
}
