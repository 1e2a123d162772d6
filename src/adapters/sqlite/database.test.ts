import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, test } from "vitest";
import { DatabaseError, databaseError, openDatabase, transaction } from "./database.ts";
import { migrations } from "./migrations.ts";

const folder = mkdtempSync(join(tmpdir(), "nigari-database-"));
afterAll(() => rmSync(folder, { recursive: true }));
let count = 0;
const fresh = () => join(folder, `${++count}.db`);
const one = (database: DatabaseSync, sql: string) =>
  Object.values(database.prepare(sql).get() ?? {})[0];

/** The error of opening, which must come. */
function refusal(path: string, open = () => openDatabase(path)): DatabaseError {
  try {
    open().close();
  } catch (error) {
    if (error instanceof DatabaseError) return error;
    throw error;
  }
  throw new Error("It opened");
}

test("commits survive a power cut, foreign keys hold, deleted secrets are overwritten", () => {
  const database = openDatabase(fresh());
  expect(one(database, "PRAGMA journal_mode")).toBe("wal");
  expect(one(database, "PRAGMA synchronous")).toBe(2);
  expect(one(database, "PRAGMA foreign_keys")).toBe(1);
  expect(one(database, "PRAGMA secure_delete")).toBe(1);
  expect(one(database, "PRAGMA busy_timeout")).toBe(5_000);
  database.close();
});

test("the file and its companions are the owner's alone, whatever the umask and the past", () => {
  const path = fresh();
  writeFileSync(path, "");
  chmodSync(path, 0o666);
  const before = process.umask(0);
  const database = openDatabase(path);
  process.umask(before);
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    expect(statSync(file).mode & 0o777, file).toBe(0o600);
  }
  database.close();
});

test("migrations are numbered from 1 without a gap, each with a purpose", () => {
  expect(migrations.map(({ version }) => version)).toEqual(migrations.map((_, i) => i + 1));
  expect(migrations.filter(({ purpose }) => purpose === "")).toEqual([]);
});

describe("the schema", () => {
  const first = { version: 1, purpose: "a", sql: "CREATE TABLE a (x) " };
  const second = { version: 2, purpose: "b", sql: "INSERT INTO a VALUES (1); CREATE TABLE b (x)" };

  test("only steps not yet taken are run, each once", () => {
    const path = fresh();
    openDatabase(path, { migrations: [first] }).close();
    openDatabase(path, { migrations: [first, second] }).close();
    const database = openDatabase(path, { migrations: [first, second] });
    expect(one(database, "SELECT count(*) FROM a")).toBe(1);
    expect(one(database, "PRAGMA user_version")).toBe(2);
    database.close();
  });

  test("a step that fails leaves the schema as it was", () => {
    const path = fresh();
    openDatabase(path, { migrations: [first] }).close();
    const broken = { ...second, sql: "INSERT INTO a VALUES (1); CREATE TABLE a (x)" };
    expect(() => openDatabase(path, { migrations: [first, broken] })).toThrow("already exists");
    const database = openDatabase(path, { migrations: [first] });
    expect(one(database, "SELECT count(*) FROM a")).toBe(0);
    database.close();
  });

  test("a database of a newer program is refused and left alone", () => {
    const path = fresh();
    openDatabase(path, { migrations: [first, second] }).close();
    const error = refusal(path, () => openDatabase(path, { migrations: [first] }));
    expect(error).toMatchObject({
      code: "newer",
      message:
        `Database ${path}: has schema 2, but this program knows only 1; ` +
        "use the newer nigari that wrote it",
    });
  });
});

describe("a file that cannot be used is named with the mend", () => {
  test("text instead of a database", () => {
    const path = fresh();
    writeFileSync(path, "this is no database, just text\n".repeat(100));
    expect(refusal(path)).toMatchObject({
      code: "corrupt",
      message:
        `Database ${path}: the file is damaged or no SQLite database; ` +
        "move it away or restore it from a backup",
    });
  });

  test("a damaged page, found by the check before anything is written", () => {
    const path = fresh();
    const database = openDatabase(path);
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    const pages = Number(one(database, "PRAGMA page_count"));
    const size = Number(one(database, "PRAGMA page_size"));
    database.close();
    const file = new Uint8Array(pages * size);
    file.set(new DatabaseSync(path).serialize());
    file.fill(0x5a, size);
    writeFileSync(path, file);
    expect(refusal(path, () => openDatabase(path, { check: true }))).toMatchObject({
      code: "corrupt",
    });
  });

  test("another program's database", () => {
    const path = fresh();
    const other = new DatabaseSync(path);
    other.exec("CREATE TABLE theirs (x); PRAGMA user_version = 1");
    other.close();
    expect(refusal(path)).toMatchObject({
      code: "foreign",
      message: `Database ${path}: belongs to another program; choose another data directory`,
    });
  });

  test("a folder that does not exist", () => {
    const path = join(folder, "missing", "x.db");
    expect(refusal(path)).toMatchObject({
      code: "unusable",
      message:
        `Database ${path}: cannot be opened for writing; ` +
        "check that its folder exists and belongs to you",
    });
  });

  test("a folder in place of the file", () => {
    const path = fresh();
    mkdirSync(path);
    expect(refusal(path)).toMatchObject({
      code: "unusable",
      message: `Database ${path}: is a folder; a file is needed`,
    });
  });

  test("a writer that does not let go", () => {
    const path = fresh();
    const holder = openDatabase(path);
    const waiter = openDatabase(path, { busyTimeoutMs: 10 });
    holder.exec("BEGIN IMMEDIATE");
    try {
      transaction(waiter, () => undefined);
      expect.unreachable();
    } catch (error) {
      expect(databaseError(error, path)).toMatchObject({
        code: "busy",
        message:
          `Database ${path}: another process holds it for too long; ` +
          "end that process or try again",
      });
    }
    holder.close();
    waiter.close();
  });

  test("what SQLite did not say passes unchanged", () => {
    const bug = new TypeError("x");
    expect(databaseError(bug, "x.db")).toBe(bug);
  });
});

test("a transaction that throws leaves nothing behind and lets the next one in", () => {
  const database = openDatabase(fresh());
  const current = () => one(database, "SELECT current FROM revision");
  expect(() =>
    transaction(database, () => {
      database.exec("UPDATE revision SET current = 7");
      throw new Error("no");
    }),
  ).toThrow("no");
  expect(current()).toBe(0);
  transaction(database, () => database.exec("UPDATE revision SET current = 8"));
  expect(current()).toBe(8);
  database.close();
});
