/** One step of the schema: `version` is what `PRAGMA user_version` says once it has run. */
export interface Migration {
  readonly version: number;
  /** What it brings, in a line. */
  readonly purpose: string;
  readonly sql: string;
}

const objects = `
  -- Only row: the version of the last change, and the last change no longer kept in "changes".
  CREATE TABLE revision (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    current INTEGER NOT NULL,
    compacted INTEGER NOT NULL
  ) STRICT;
  INSERT INTO revision (only, current, compacted) VALUES (1, 0, 0);

  CREATE TABLE objects (
    kind TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    uid TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (kind, namespace, name)
  ) STRICT;

  -- ownerReferences, so that dependants are found without reading every object.
  CREATE TABLE owners (
    uid TEXT NOT NULL REFERENCES objects (uid) ON DELETE CASCADE,
    owner_uid TEXT NOT NULL,
    PRIMARY KEY (uid, owner_uid)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX owners_by_owner ON owners (owner_uid);

  -- What watches read. Bounded: the oldest rows go, and revision.compacted tells how far.
  CREATE TABLE changes (
    version INTEGER PRIMARY KEY,
    type TEXT NOT NULL CHECK (type IN ('ADDED', 'MODIFIED', 'DELETED')),
    kind TEXT NOT NULL,
    namespace TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    body TEXT NOT NULL
  ) STRICT;
`;

const states = `
  CREATE TABLE states (
    state INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    workspace TEXT NOT NULL,
    -- As tofu describes it, in JSON, and the run that took it.
    lock TEXT,
    lock_run_id TEXT,
    -- The lock that was given back last: doing it again must not fail.
    returned_lock_id TEXT,
    UNIQUE (namespace, name, workspace),
    CHECK ((lock IS NULL) = (lock_run_id IS NULL))
  ) STRICT;

  -- AUTOINCREMENT: a number once told to a person never means another version.
  CREATE TABLE state_versions (
    version INTEGER PRIMARY KEY AUTOINCREMENT,
    state INTEGER NOT NULL REFERENCES states (state),
    kept TEXT NOT NULL CHECK (kept IN ('current', 'history', 'aside')),
    serial INTEGER NOT NULL,
    lineage TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    digest TEXT NOT NULL,
    -- Name of the file that holds the content.
    file TEXT NOT NULL UNIQUE,
    -- NULL: a person pushed it.
    run_id TEXT,
    at TEXT NOT NULL
  ) STRICT;
  CREATE INDEX state_versions_by_state ON state_versions (state);
  CREATE UNIQUE INDEX state_versions_current ON state_versions (state) WHERE kept = 'current';

  CREATE TABLE state_grants (
    run_id TEXT PRIMARY KEY,
    state INTEGER NOT NULL REFERENCES states (state),
    at TEXT NOT NULL,
    -- The latest version of any state then: tells whether a version came before or after.
    latest_version INTEGER NOT NULL,
    -- Proof of the run's death, in words.
    revoked_because TEXT
  ) STRICT, WITHOUT ROWID;

  -- SHA-256 of each password of a run: a run whose launch is repeated gets a second one.
  CREATE TABLE state_passwords (
    run_id TEXT NOT NULL REFERENCES state_grants (run_id) ON DELETE CASCADE,
    hash BLOB NOT NULL,
    PRIMARY KEY (run_id, hash)
  ) STRICT, WITHOUT ROWID;
`;

const stateResources = `
  -- Managed resources in the state; NULL: not known, as of encrypted ones and of all before this.
  ALTER TABLE state_versions ADD COLUMN resources INTEGER;
`;

const stateEpoch = `
  -- Only row: the newest epoch of an engine that asked for something; 0 before the first.
  CREATE TABLE state_epoch (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    newest INTEGER NOT NULL
  ) STRICT;
  INSERT INTO state_epoch (only, newest) VALUES (1, 0);
`;

/**
 * The schema, step by step. A step that was released is never edited; a new one is added at the
 * end with the next number. Each runs once, in one transaction with the number it writes.
 */
export const migrations: readonly Migration[] = [
  { version: 1, purpose: "Objects, their owners, and the log of changes", sql: objects },
  { version: 2, purpose: "States, their versions and locks, and access to them", sql: states },
  { version: 3, purpose: "How many resources a state holds", sql: stateResources },
  { version: 4, purpose: "The newest epoch that the states have met", sql: stateEpoch },
];
