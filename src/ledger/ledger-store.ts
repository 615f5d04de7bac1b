/**
 * Ledger store: the ledger's tables. Entries are the truth; every other column repeats something that the entries'
 * bytes say, so that it can be looked up, and `verify` holds it against them.
 *
 *   ledger_entry       the leaves; `closes` is the call that a call.exit or call.aborted ends; found by trace and change
 *   ledger_body        bodies that may be erased, with the salt of their commitment
 *   ledger_tile        full tiles and their roots; what fills no tile is re-hashed from entries when a node starts
 *   ledger_checkpoint  what this node signed, with the cosignatures it collected
 *   ledger_witness     the keys that made those cosignatures
 *   ledger_open_call   calls entered and not yet ended, so that a start need not search for them
 *
 * Does I/O.
 */
import { DatabaseSync } from 'node:sqlite'
import type { StatementSync } from 'node:sqlite'
import { utf8 } from '../core/bytes.ts'
import type { Migrations } from '../core/database-store.ts'
import type { FullTile } from './edge.ts'
import { decodeEntry } from './entry.ts'
import { TILE_BYTES, TILE_HEIGHT, tileNode } from './tile.ts'
import { leafHash } from './tree.ts'

/**
 * Spelt as in the index, which SQLite uses for nothing else. Bytes that somebody made unreadable have none: `verify`
 * reports them, and an index must not fail over them.
 */
export const TRACE_ID = `CASE WHEN json_valid(CAST(bytes AS TEXT)) THEN CAST(bytes AS TEXT) ->> '$.trace_id' END`
/** What people do to the node itself, and to calls that wait for them; those of calls are told by their effect. */
const DEEDS = [
  'approval.approved',
  'approval.denied',
  'body.erased',
  'grant.created',
  'grant.ended',
  'ledger.adopted',
  'stop.engaged',
  'stop.released',
  'token.created',
  'token.revoked',
] as const
/** As the bytes of an entry have it, inside of which quotes of texts are escaped. */
const KIND = `CAST('"kind":"' AS BLOB)`
const AT = `CAST(bytes AS TEXT) ->> '$.at'`
const atFor = (names: readonly string[]): string => names.map((name) => `WHEN '${name}' THEN ${AT}`).join(' ')
/**
 * When something was changed or was to be; NULL for all other entries, which are the most by far. By time and not by
 * place, because that is what people ask for, and a clock that was wrong for a while must not end the search. CASE and
 * not IN: a list is made a table anew for each entry, which takes longer than all the rest of it.
 */
const CHANGED_AT = `CASE WHEN json_valid(CAST(bytes AS TEXT)) THEN
  CASE kind WHEN 'call.enter' THEN
    CASE CAST(bytes AS TEXT) ->> '$.effect' ${atFor(['writes', 'sensitive', 'admin'])} END
  ${atFor(DEEDS)} END END`
/** A client may do everything it ever does under one trace id. */
const MAX_OF_TRACE = 200

export const ledgerMigrations: Migrations = {
  room: 'ledger',
  steps: [
    `
    CREATE TABLE ledger_entry (
      seq INTEGER PRIMARY KEY CHECK (seq >= 0),
      kind TEXT NOT NULL,
      closes INTEGER,
      bytes BLOB NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX ledger_entry_closes ON ledger_entry (closes) WHERE closes IS NOT NULL;
    CREATE TRIGGER ledger_entry_never_changes BEFORE UPDATE ON ledger_entry
      BEGIN SELECT RAISE(ABORT, 'ledger entries never change'); END;
    CREATE TRIGGER ledger_entry_never_goes BEFORE DELETE ON ledger_entry
      BEGIN SELECT RAISE(ABORT, 'ledger entries are never deleted'); END;

    CREATE TABLE ledger_body (seq INTEGER PRIMARY KEY, salt BLOB NOT NULL, body BLOB NOT NULL) STRICT;
    CREATE TABLE ledger_tile (
      level INTEGER NOT NULL,
      position INTEGER NOT NULL,
      root BLOB NOT NULL,
      hashes BLOB NOT NULL,
      PRIMARY KEY (level, position)
    ) STRICT;
    CREATE TABLE ledger_checkpoint (size INTEGER PRIMARY KEY, cosignatures INTEGER NOT NULL, note TEXT NOT NULL) STRICT;
    CREATE TABLE ledger_witness (vkey TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
    CREATE TABLE ledger_open_call (seq INTEGER PRIMARY KEY) STRICT;

    CREATE VIEW actions AS
      WITH enter AS (SELECT seq, CAST(bytes AS TEXT) AS event FROM ledger_entry WHERE kind = 'call.enter')
      SELECT
        enter.seq AS sequence_no,
        enter.event ->> '$.tool' AS tool,
        enter.event ->> '$.principal' AS principal,
        enter.event ->> '$.trace_id' AS trace_id,
        enter.event ->> '$.at' AS entered_at,
        CAST(last.bytes AS TEXT) ->> '$.at' AS exited_at,
        CASE last.kind
          WHEN 'call.exit' THEN CAST(last.bytes AS TEXT) ->> '$.outcome'
          WHEN 'call.aborted' THEN 'aborted'
          ELSE 'running'
        END AS outcome,
        enter.event ->> '$.args_hash' AS args_hash,
        CAST(last.bytes AS TEXT) ->> '$.result_hash' AS result_hash,
        CAST(last.bytes AS TEXT) ->> '$.error_code' AS error_code
      FROM enter LEFT JOIN ledger_entry AS last ON last.closes = enter.seq;
    `,
    `CREATE INDEX ledger_entry_trace ON ledger_entry (${TRACE_ID}) WHERE ${TRACE_ID} IS NOT NULL;`,
    // An index of changes, which the next step makes anew: what counts as a change is spelt in it.
    '',
    `
    DROP INDEX IF EXISTS ledger_entry_change;
    CREATE INDEX ledger_entry_change ON ledger_entry (${CHANGED_AT}) WHERE ${CHANGED_AT} IS NOT NULL;
    `,
  ],
}

export interface EntryRow {
  readonly seq: number
  readonly kind: string
  readonly closes: number | null
  readonly bytes: Uint8Array
}

/** Newest first: from `since` on, and before the entry `seq` at the time `at`. Times as entries spell them. */
export interface ChangeQuery {
  readonly since: string
  readonly before: { readonly at: string; readonly seq: number }
  readonly limit: number
}

export interface ChangeRow {
  readonly seq: number
  readonly at: string
  readonly bytes: Uint8Array
  /** What ended the call. */
  readonly end: Uint8Array | null
}

export interface BodyRow {
  readonly seq: number
  readonly salt: Uint8Array
  readonly body: Uint8Array
}

export interface TileRow {
  readonly level: number
  readonly position: number
  readonly root: Uint8Array
  readonly hashes: Uint8Array
}

/** Prepared once; the append path must not pay for parsing SQL. Writing is only right inside `Database.commit`. */
export class LedgerStore {
  readonly #sql: DatabaseSync
  readonly #prepared = new Map<string, StatementSync>()
  readonly #putEntry: StatementSync
  readonly #putBody: StatementSync
  readonly #openCall: StatementSync
  readonly #closeCall: StatementSync

  constructor(sql: DatabaseSync) {
    this.#sql = sql
    this.#putEntry = sql.prepare('INSERT INTO ledger_entry VALUES (?, ?, ?, ?)')
    this.#putBody = sql.prepare('INSERT INTO ledger_body VALUES (?, ?, ?)')
    this.#openCall = sql.prepare('INSERT INTO ledger_open_call VALUES (?)')
    this.#closeCall = sql.prepare('DELETE FROM ledger_open_call WHERE seq = ?')
  }

  inTransaction(): boolean {
    return this.#sql.isTransaction
  }

  /** One view of all tables, whoever else writes meanwhile. */
  reading<Value>(read: () => Value): Value {
    this.#sql.exec('BEGIN')
    try {
      return read()
    } finally {
      if (this.#sql.isTransaction) this.#sql.exec('ROLLBACK')
    }
  }

  putEntry(row: EntryRow): void {
    this.#putEntry.run(row.seq, row.kind, row.closes, row.bytes)
  }

  putBody(row: BodyRow): void {
    this.#putBody.run(row.seq, row.salt, row.body)
  }

  openCall(seq: number): void {
    this.#openCall.run(seq)
  }

  /** `false` when no such call is open. */
  closeCall(seq: number): boolean {
    return this.#closeCall.run(seq).changes === 1
  }

  putTile({ level, index, nodes }: FullTile): void {
    this.#statement('INSERT INTO ledger_tile VALUES (?, ?, ?, ?)').run(
      level,
      index,
      tileNode(nodes, TILE_HEIGHT, 0),
      nodes.subarray(0, TILE_BYTES),
    )
  }

  /** One past the last entry. */
  size(): number {
    return Number(this.#statement('SELECT max(seq) + 1 AS size FROM ledger_entry').get()?.['size'] ?? 0)
  }

  entry(seq: number): EntryRow | undefined {
    return this.#statement('SELECT seq, kind, closes, bytes FROM ledger_entry WHERE seq = ?').get(seq) as
      | EntryRow
      | undefined
  }

  entries(from: number, limit: number): EntryRow[] {
    return this.#statement('SELECT seq, kind, closes, bytes FROM ledger_entry WHERE seq >= ? ORDER BY seq LIMIT ?').all(
      from,
      limit,
    ) as unknown as EntryRow[]
  }

  /**
   * Those that are not about calls, which are the most by far. By their bytes, not by a column that somebody could
   * edit; one with a second field of that name somewhere inside is left to whoever decodes it.
   */
  entriesBesideCalls(from: number, limit: number): Pick<EntryRow, 'seq' | 'bytes'>[] {
    return this.#statement(
      `SELECT seq, bytes FROM ledger_entry WHERE seq >= ? AND NOT (
         substr(bytes, instr(bytes, ${KIND}) + 8, 5) = CAST('call.' AS BLOB)
         AND instr(substr(bytes, instr(bytes, ${KIND}) + 8), ${KIND}) = 0)
       ORDER BY seq LIMIT ?`,
    ).all(from, limit) as unknown as EntryRow[]
  }

  /** The newest that bear the trace id, and what ended the calls among them; in order. */
  entriesOfTrace(traceId: string): EntryRow[] {
    return this.#statement(
      `WITH ours AS MATERIALIZED (SELECT seq FROM ledger_entry WHERE ${TRACE_ID} = ? ORDER BY seq DESC LIMIT ?)
       SELECT seq, kind, closes, bytes FROM ledger_entry WHERE seq IN ours
       UNION ALL SELECT seq, kind, closes, bytes FROM ledger_entry WHERE closes IN ours
       ORDER BY seq`,
    ).all(traceId, MAX_OF_TRACE) as unknown as EntryRow[]
  }

  changes({ since, before, limit }: ChangeQuery): ChangeRow[] {
    return this.#statement(
      `WITH ours AS MATERIALIZED (
         SELECT seq, ${CHANGED_AT} AS at, bytes FROM ledger_entry
         WHERE ${CHANGED_AT} >= ?1 AND ${CHANGED_AT} <= ?2 AND (${CHANGED_AT} < ?2 OR seq < ?3)
         ORDER BY ${CHANGED_AT} DESC, seq DESC LIMIT ?4)
       SELECT ours.seq, ours.at, ours.bytes, ending.bytes AS end
       FROM ours LEFT JOIN ledger_entry AS ending ON ending.closes = ours.seq
       ORDER BY ours.at DESC, ours.seq DESC`,
    ).all(since, before.at, before.seq, limit) as unknown as ChangeRow[]
  }

  closersOf(call: number): number[] {
    const rows = this.#statement('SELECT seq FROM ledger_entry WHERE closes = ?').all(call)
    return rows.map((row) => Number(row['seq']))
  }

  openCalls(): number[] {
    const rows = this.#statement('SELECT seq FROM ledger_open_call ORDER BY seq').all()
    return rows.map((row) => Number(row['seq']))
  }

  body(seq: number): BodyRow | undefined {
    return this.#statement('SELECT seq, salt, body FROM ledger_body WHERE seq = ?').get(seq) as BodyRow | undefined
  }

  bodies(from: number, to: number): BodyRow[] {
    return this.#statement('SELECT seq, salt, body FROM ledger_body WHERE seq >= ? AND seq < ? ORDER BY seq').all(
      from,
      to,
    ) as unknown as BodyRow[]
  }

  /** Whether the entry commits to a body that is not there any more. */
  bodyIsGone(seq: number): boolean {
    const entry = this.entry(seq)
    const decoded = entry && decodeEntry(entry.bytes)
    return decoded?.ok === true && decoded.value['body_hash'] !== undefined && this.body(seq) === undefined
  }

  /** `false` when there is none. The database overwrites what it deletes. */
  deleteBody(seq: number): boolean {
    return this.#statement('DELETE FROM ledger_body WHERE seq = ?').run(seq).changes === 1
  }

  /**
   * Empties the write-ahead log into the file, so that it no longer holds what was erased. Outside a transaction. Where
   * another process is reading, it is left to SQLite's next checkpoint: waiting would stop the whole node.
   */
  flushLog(): void {
    const waitMs = Number(this.#sql.prepare('PRAGMA busy_timeout').get()?.['timeout'] ?? 0)
    this.#sql.exec('PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE)')
    this.#sql.exec(`PRAGMA busy_timeout = ${waitMs}`)
  }

  /** Tables that do not belong to the ledger and have a text in which the finder finds something. */
  tablesWith(isFound: (json: Uint8Array) => boolean): string[] {
    const names = this.#sql.prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'ledger@_%' ESCAPE '@' AND name NOT LIKE 'sqlite@_%' ESCAPE '@'",
    )
    return names
      .all()
      .map(({ name }) => String(name))
      .filter((name) => {
        const rows = this.#sql.prepare(`SELECT * FROM "${name}"`)
        rows.setReadBigInts(true)
        for (const row of rows.iterate())
          if (Object.values(row).some((value) => typeof value === 'string' && isFound(utf8(JSON.stringify(value)))))
            return true
        return false
      })
  }

  tile(level: number, position: number): TileRow | undefined {
    return this.#statement(
      'SELECT level, position, root, hashes FROM ledger_tile WHERE level = ? AND position = ?',
    ).get(level, position) as TileRow | undefined
  }

  /** Bodies that stand outside the entries. */
  strayBodies(size: number): number[] {
    const rows = this.#statement('SELECT seq FROM ledger_body WHERE seq < 0 OR seq >= ?').all(size)
    return rows.map((row) => Number(row['seq']))
  }

  /**
   * Names of our tables, indexes, triggers and views whose definition is not the one that the migrations make. A copy
   * of an older database that is only read was not migrated: it is held against the steps that it says it had.
   */
  alteredSchema(): string[] {
    const made = new DatabaseSync(':memory:')
    const { room, steps } = ledgerMigrations
    const had = Number(this.#statement('SELECT version FROM room_version WHERE room = ?').get(room)?.['version'])
    for (const step of steps.slice(0, Math.max(1, had))) made.exec(step)
    const [expected, found] = [schemaOf(made), schemaOf(this.#sql)]
    made.close()
    return [...new Set([...expected.keys(), ...found.keys()])].filter((name) => expected.get(name) !== found.get(name))
  }

  tileCount(): number {
    return Number(this.#statement('SELECT count(*) AS count FROM ledger_tile').get()?.['count'] ?? 0)
  }

  /** The hashes at `level` that fill no tile yet: leaves re-hashed, or roots of the tiles below. */
  partialTile(level: number, from: number, count: number): Uint8Array {
    if (level === 0) return Buffer.concat(this.entries(from, count).map(({ bytes }) => leafHash(bytes)))
    const rows = this.#statement(
      'SELECT root FROM ledger_tile WHERE level = ? AND position >= ? AND position < ? ORDER BY position',
    ).all(level - 1, from, from + count)
    return Buffer.concat(rows.map((row) => row['root'] as Uint8Array))
  }

  #statement(text: string): StatementSync {
    const known = this.#prepared.get(text)
    if (known !== undefined) return known
    const statement = this.#sql.prepare(text)
    this.#prepared.set(text, statement)
    return statement
  }
}

function schemaOf(sql: DatabaseSync): Map<string, string> {
  const rows = sql.prepare(
    "SELECT name, sql FROM sqlite_schema WHERE tbl_name LIKE 'ledger@_%' ESCAPE '@' OR name = 'actions'",
  )
  return new Map(rows.all().map((row) => [String(row['name']), String(row['sql'])]))
}
