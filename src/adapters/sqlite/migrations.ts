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

/**
 * The schema, step by step. A step that was released is never edited; a new one is added at the
 * end with the next number. Each runs once, in one transaction with the number it writes.
 */
export const migrations: readonly Migration[] = [
  { version: 1, purpose: "Objects, their owners, and the log of changes", sql: objects },
];
