import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import type { KeptVersion } from "../../domain/state-rules.ts";
import type { StateId, StateLock, StateVersion } from "../../ports/state.ts";
import type { StoredFile } from "./state-files.ts";

export interface VersionRow extends KeptVersion, StoredFile {
  readonly kept: StateVersion["kept"];
  /** RFC 3339. */
  readonly at: string;
}
export interface GrantRow {
  readonly runId: string;
  readonly state: StateId;
  /** The latest version of any state when the run was given access. */
  readonly order: number;
  readonly revoked: boolean;
}
type Row = Record<string, SQLOutputValue>;

/** The tables of states, in words. Nothing here decides anything. */
export class StateRows {
  readonly #database: DatabaseSync;
  readonly #removedFiles: string[] = [];

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  states(): StateId[] {
    return this.#all("SELECT namespace, name, workspace FROM states ORDER BY 1, 2, 3").map(idOf);
  }

  versions(state: StateId): VersionRow[] {
    const sql = `SELECT v.* FROM state_versions v JOIN states s USING (state) WHERE ${IS_STATE}
      ORDER BY version DESC`;
    return this.#all(sql, ...parts(state)).map(versionOf);
  }

  current(state: StateId): VersionRow | undefined {
    const sql = `SELECT v.* FROM state_versions v JOIN states s USING (state) WHERE ${IS_STATE}
      AND kept = 'current'`;
    const row = this.#database.prepare(sql).get(...parts(state));
    return row === undefined ? undefined : versionOf(row);
  }

  add(state: StateId, version: Omit<VersionRow, "order">): VersionRow {
    const sql = `INSERT INTO state_versions
      (state, kept, serial, lineage, resources, size_bytes, digest, file, run_id, at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
    const { lastInsertRowid } = this.#database
      .prepare(sql)
      .run(
        this.#state(state),
        version.kept,
        version.serial,
        version.lineage,
        version.resources ?? null,
        version.sizeBytes,
        version.digest,
        version.file,
        version.runId ?? null,
        version.at,
      );
    return { ...version, order: Number(lastInsertRowid) };
  }

  retire(version: VersionRow): void {
    const sql = "UPDATE state_versions SET kept = 'history' WHERE version = ?";
    this.#database.prepare(sql).run(version.order);
  }

  /** The version's content lies in another file now. */
  refile(version: VersionRow, file: string): void {
    const sql = "UPDATE state_versions SET file = ? WHERE version = ?";
    this.#database.prepare(sql).run(file, version.order);
    if (version.file !== file) this.#removedFiles.push(version.file);
  }

  remove(versions: readonly VersionRow[]): void {
    const statement = this.#database.prepare("DELETE FROM state_versions WHERE version = ?");
    for (const { order, file } of versions) {
      statement.run(order);
      this.#removedFiles.push(file);
    }
  }

  /** Files of the versions removed since the last call. */
  takeRemovedFiles(): string[] {
    return this.#removedFiles.splice(0);
  }

  files(): Set<string> {
    return new Set(this.#all("SELECT file FROM state_versions").map(({ file }) => String(file)));
  }

  names(file: string): boolean {
    return this.#all("SELECT 1 FROM state_versions WHERE file = ?", file).length > 0;
  }

  lock(state: StateId): StateLock | undefined {
    const row = this.#stateRow(state);
    if (row === undefined || row.lock === null) return undefined;
    return { state, runId: String(row.lock_run_id), ...JSON.parse(String(row.lock)) };
  }

  takeLock({ state, runId, ...lock }: StateLock): void {
    const sql = "UPDATE states SET lock = ?, lock_run_id = ? WHERE state = ?";
    this.#database.prepare(sql).run(JSON.stringify(lock), runId, this.#state(state));
  }

  returnLock(state: StateId, lockId: string): void {
    const sql = `UPDATE states SET lock = NULL, lock_run_id = NULL, returned_lock_id = ?
      WHERE state = ?`;
    this.#database.prepare(sql).run(lockId, this.#state(state));
  }

  /** The lock that was returned last. */
  returnedLockId(state: StateId): string | undefined {
    return text(this.#stateRow(state)?.returned_lock_id);
  }

  grant(runId: string): GrantRow | undefined {
    const sql = "SELECT g.*, s.* FROM state_grants g JOIN states s USING (state) WHERE run_id = ?";
    const row = this.#database.prepare(sql).get(runId);
    if (row === undefined) return undefined;
    const revoked = row.revoked_because !== null;
    return { runId, state: idOf(row), order: Number(row.latest_version), revoked };
  }

  addGrant(runId: string, state: StateId, at: string): void {
    const sql = `INSERT INTO state_grants (run_id, state, at, latest_version)
      VALUES (?, ?, ?, (SELECT coalesce(max(version), 0) FROM state_versions))`;
    this.#database.prepare(sql).run(runId, this.#state(state), at);
  }

  addPassword(runId: string, hash: Uint8Array): void {
    const sql = "INSERT OR IGNORE INTO state_passwords (run_id, hash) VALUES (?, ?)";
    this.#database.prepare(sql).run(runId, hash);
  }

  passwords(runId: string): Uint8Array[] {
    return this.#all("SELECT hash FROM state_passwords WHERE run_id = ?", runId).flatMap(
      ({ hash }) => (hash instanceof Uint8Array ? [hash] : []),
    );
  }

  newestEpoch(): number {
    return Number(this.#database.prepare("SELECT newest FROM state_epoch").get()?.newest);
  }

  raiseEpoch(newest: number): void {
    this.#database.prepare("UPDATE state_epoch SET newest = ?").run(newest);
  }

  /** The first reason stays. */
  revoke(runId: string, proof: string): void {
    const sql = `UPDATE state_grants SET revoked_because = ?
      WHERE run_id = ? AND revoked_because IS NULL`;
    this.#database.prepare(sql).run(proof, runId);
  }

  /** Forgets runs that were given access before this time, unless they hold a lock. */
  forgetGrants(before: string): void {
    const sql = `DELETE FROM state_grants WHERE at < ?
      AND run_id NOT IN (SELECT lock_run_id FROM states WHERE lock_run_id IS NOT NULL)`;
    this.#database.prepare(sql).run(before);
  }

  #all(sql: string, ...values: string[]): Row[] {
    return this.#database.prepare(sql).all(...values);
  }

  #stateRow(state: StateId): Row | undefined {
    const sql = `SELECT s.* FROM states s WHERE ${IS_STATE}`;
    return this.#database.prepare(sql).get(...parts(state));
  }

  /** The key of this state, which is made if it is new. */
  #state(state: StateId): number {
    const sql = `INSERT INTO states (namespace, name, workspace) VALUES (?, ?, ?)
      ON CONFLICT DO NOTHING`;
    this.#database.prepare(sql).run(...parts(state));
    return Number(this.#stateRow(state)?.state);
  }
}

const IS_STATE = "s.namespace = ? AND s.name = ? AND s.workspace = ?";

function parts({ namespace, name, workspace }: StateId): [string, string, string] {
  return [namespace, name, workspace];
}

function idOf(row: Row): StateId {
  return {
    namespace: String(row.namespace),
    name: String(row.name),
    workspace: String(row.workspace),
  };
}

function versionOf(row: Row): VersionRow {
  return {
    order: Number(row.version),
    kept: row.kept === "current" || row.kept === "aside" ? row.kept : "history",
    serial: Number(row.serial),
    lineage: String(row.lineage),
    resources: row.resources === null ? undefined : Number(row.resources),
    sizeBytes: Number(row.size_bytes),
    digest: String(row.digest),
    file: String(row.file),
    runId: text(row.run_id),
    at: String(row.at),
  };
}

function text(value: SQLOutputValue | undefined): string | undefined {
  return value === null || value === undefined ? undefined : String(value);
}
