/**
 * Brings several together for what befalls them all at once: it is done when everyone who is still
 * in has come. One that leaves is not waited for.
 */
export class Together<T> {
  #parties: number;
  #come: { readonly with: T; readonly done: PromiseWithResolvers<unknown> }[] = [];
  #work: ((all: readonly T[]) => Promise<unknown>) | undefined;

  constructor(parties: number) {
    this.#parties = parties;
  }

  /** Resolves for all with what the work of one of them answered. */
  async all<R>(mine: T, work: (all: readonly T[]) => Promise<R>): Promise<R> {
    const done = Promise.withResolvers<unknown>();
    this.#come.push({ with: mine, done });
    this.#work ??= work;
    this.#go();
    return (await done.promise) as R;
  }

  leave(): void {
    this.#parties -= 1;
    this.#go();
  }

  #go(): void {
    const [come, work] = [this.#come, this.#work];
    if (work === undefined || come.length < this.#parties) return;
    this.#come = [];
    this.#work = undefined;
    work(come.map((each) => each.with)).then(
      (answer) => {
        for (const { done } of come) done.resolve(answer);
      },
      (error: unknown) => {
        for (const { done } of come) done.reject(error);
      },
    );
  }
}
