/** A state file in a simulation, and what it was made from. */
export interface Text {
  readonly text: string;
  readonly serial: number;
  readonly lineage: string;
  /** Every resource it tells of. */
  readonly resources: ReadonlySet<string>;
  /** Texts whose content whoever wrote this one had before him. */
  readonly before: ReadonlySet<string>;
  readonly runId: string | undefined;
}

/** A state file of this content; encrypted: only serial and lineage can be read. */
export function textOf(
  head: Pick<Text, "serial" | "lineage">,
  resources: ReadonlySet<string>,
  encrypted: boolean,
): string {
  const { serial, lineage } = head;
  const names = [...resources].sort();
  const open = { version: 4, terraform_version: "1.12.6", serial, lineage };
  if (encrypted) return JSON.stringify({ ...open, encrypted_data: names.join(" ") });
  const all = names.map((name) => ({ mode: "managed", type: "t", name, instances: [{}] }));
  return JSON.stringify({ ...open, resources: all });
}

/** What is true of one state, noted beside the storage and by other means. */
export class StateTruth {
  /** By its text. */
  readonly known = new Map<string, Text>();
  /** Kept aside, as far as the storage has said so, and not taken back by a person. */
  readonly aside = new Map<string, Text>();
  current: Text | undefined;
  lock: { readonly id: string; readonly runId: string } | undefined;
  readonly revoked = new Set<string>();
  readonly granted = new Set<string>();

  note(text: Text): Text {
    this.known.set(text.text, text);
    return text;
  }

  /** Whether a writer of this text knew what is current. */
  builds(text: Text): boolean {
    const { current } = this;
    return current === undefined || current.text === text.text || text.before.has(current.text);
  }

  /** Why this write must not have become current; undefined: it may. */
  wrongWrite(text: Text, lockId: string | undefined): string | undefined {
    const runId = text.runId ?? "";
    if (this.revoked.has(runId)) return `${runId} was revoked before`;
    if (this.lock === undefined) return `${runId} wrote without a lock`;
    if (this.lock.runId !== runId) return `${runId} wrote while ${this.lock.runId} had the lock`;
    if (this.lock.id !== lockId) return `${runId} wrote with the lock ${lockId}, which is over`;
    return this.#wrongBase(text);
  }

  /** The same for a state that was collected from a run's folder. */
  wrongRescue(text: Text): string | undefined {
    const runId = text.runId ?? "";
    if (this.revoked.has(runId)) return `${runId} was revoked before`;
    if (!this.granted.has(runId)) return `${runId} never had access`;
    const other = this.lock !== undefined && this.lock.runId !== runId;
    return other ? `${this.lock?.runId} had the lock` : this.#wrongBase(text);
  }

  /** The same for what a person gave. */
  wrongPush(text: Text, force: boolean): string | undefined {
    if (this.lock !== undefined) return `${this.lock.runId} had the lock`;
    return force ? undefined : this.#wrongBase(text);
  }

  #wrongBase(text: Text): string | undefined {
    if (this.builds(text)) return undefined;
    return `${text.lineage} was written without knowledge of what it replaces`;
  }
}
