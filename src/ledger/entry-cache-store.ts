/**
 * Entry cache: tables that copy what entries say, so that it can be listed, filtered and paged. They are written from
 * the entries by one function per kind, the same one whether an entry is appended now or read again later.
 *
 *   append ──▶ apply ──▶ the node's tables ◀── compare, row by row ──▶ empty tables ◀── apply ◀── the whole log, again
 *                              ▲── rebuild: emptied, and made again ────────────────────────────────────┘
 *
 * No decision is made from these tables. A missing, additional or different row is a finding.
 */
import { DatabaseSync } from 'node:sqlite'
import type { ModuleMigrations } from '../core/database-store.ts'
import type { Json } from '../core/json.ts'
import { readEntryCacheInputs } from './entry-cache-input.ts'
import type { RecordedEntries } from './entry-cache-input.ts'
import type { LedgerEntry } from './entry.ts'
import type { CacheFinding, TableRowReference } from './ledger-finding.ts'

export interface EntryCacheInput {
  readonly entry: LedgerEntry
  /** The leaf hash of the entry, in hex. */
  readonly leafHash: string
  /** The body; `undefined` when the entry has none, or it was erased. */
  readonly body: Json | undefined
  /** If the entry records an erasure: the entry whose body was erased. */
  readonly erased: LedgerEntry | undefined
}

type Row = Readonly<Record<string, unknown>>

export interface EntryCacheTableDefinition {
  readonly name: string
  readonly key: readonly string[]
  /** Names a row by what a person would call it. */
  readonly named: (row: Row) => TableRowReference
}

export interface EntryCacheDefinition {
  readonly migrations: ModuleMigrations
  readonly tables: readonly EntryCacheTableDefinition[]
  readonly apply: Readonly<Record<string, (sql: DatabaseSync, cached: EntryCacheInput) => void>>
  /** The rows that contain text from the body of an entry. */
  readonly showing: (entry: LedgerEntry) => readonly TableRowReference[]
}

/** How many rows are compared per call, which takes a few milliseconds. */
const PIECE = 200

/** Builds the expected tables from the log, and compares the existing ones with them. */
export class EntryCacheVerification {
  readonly #cache: EntryCacheDefinition
  readonly #found: DatabaseSync
  // An SQLite database without a name, which moves to the disk when it grows: a long log must not fill the memory.
  readonly #expected = new DatabaseSync('')
  readonly #rest: Comparison[]

  constructor(cache: EntryCacheDefinition, found: DatabaseSync) {
    this.#cache = cache
    this.#found = found
    for (const step of cache.migrations.steps) this.#expected.exec(step)
    this.#expected.exec('BEGIN')
    this.#rest = cache.tables.map((table) => ({ table, last: undefined }))
  }

  handles(kind: string): boolean {
    return Object.hasOwn(this.#cache.apply, kind)
  }

  /** Must be called for every entry of the log, in order. */
  read(cached: EntryCacheInput): void {
    this.#cache.apply[cached.entry.kind]?.(this.#expected, cached)
  }

  /**
   * Compares some more rows; `false` when there are none left. Rows may change between two calls: the caller makes sure
   * that every entry has been read, in the same view in which the rows are read.
   */
  compare(found: (finding: CacheFinding) => void): boolean {
    const [comparison] = this.#rest
    if (comparison === undefined) return false
    const { table, last } = comparison
    const [is, has] = [rowsAfter(this.#found, table, last), rowsAfter(this.#expected, table, last)]
    // Compares up to the smaller of the two last keys, because one of the two sides was not read beyond it.
    const end = has.length < PIECE && is.length < PIECE ? undefined : smallerEnd(table, is, has)
    const within = (row: Row): boolean => end === undefined || compareKeys(keyOf(table, row), end) <= 0
    compareRows(table, { is: is.filter(within), has: has.filter(within) }, found)
    if (end === undefined) this.#rest.shift()
    else comparison.last = end
    return this.#rest.length > 0
  }

  close(): void {
    this.#expected.close()
  }
}

/** Empties the tables and makes them again. Call inside a transaction. */
export function rebuildEntryCache(cache: EntryCacheDefinition, sql: DatabaseSync, log: RecordedEntries): void {
  for (const { name } of cache.tables) sql.exec(`DELETE FROM ${name}`)
  for (const cached of readEntryCacheInputs(log, new Set(Object.keys(cache.apply))))
    cache.apply[cached.entry.kind]?.(sql, cached)
}

interface Comparison {
  readonly table: EntryCacheTableDefinition
  last: readonly string[] | undefined
}

function rowsAfter(
  sql: DatabaseSync,
  { name, key }: EntryCacheTableDefinition,
  last: readonly string[] | undefined,
): readonly Row[] {
  const keys = key.join(', ')
  const after = last === undefined ? '' : `WHERE (${keys}) > (${key.map(() => '?').join(', ')})`
  const statement = sql.prepare(`SELECT * FROM ${name} ${after} ORDER BY ${keys} LIMIT ${PIECE}`)
  // Another program may have stored a number that exceeds JavaScript's safe integers.
  statement.setReadBigInts(true)
  return statement.all(...(last ?? []))
}

function compareRows(
  table: EntryCacheTableDefinition,
  { is, has }: { readonly is: readonly Row[]; readonly has: readonly Row[] },
  found: (finding: CacheFinding) => void,
): void {
  const expected = new Map(has.map((row) => [keyOf(table, row).join('\n'), row]))
  for (const row of is) {
    const key = keyOf(table, row).join('\n')
    const right = expected.get(key)
    expected.delete(key)
    if (right === undefined) {
      found({ kind: 'copy-unfounded', ...table.named(row) })
      continue
    }
    const fields = Object.keys(right).filter((column) => row[column] !== right[column])
    if (fields.length > 0)
      found({ kind: 'copy-differs', ...table.named(right), seq: Number(right['log_index']), fields })
  }
  for (const row of expected.values())
    found({ kind: 'copy-missing', ...table.named(row), seq: Number(row['log_index']) })
}

function keyOf({ key }: EntryCacheTableDefinition, row: Row): readonly string[] {
  return key.map((column) => String(row[column]))
}

function smallerEnd(
  table: EntryCacheTableDefinition,
  is: readonly Row[],
  has: readonly Row[],
): readonly string[] | undefined {
  const ends = [is, has]
    .filter((rows) => rows.length === PIECE)
    .flatMap((rows) => rows.slice(-1))
    .map((row) => keyOf(table, row))
  return ends.toSorted(compareKeys)[0]
}

/** Compares as SQLite's BINARY collation does: by UTF-8 bytes. */
function compareKeys(left: readonly string[], right: readonly string[]): number {
  for (const [index, part] of left.entries()) {
    const order = Buffer.compare(Buffer.from(part), Buffer.from(right[index] ?? ''))
    if (order !== 0) return order
  }
  return 0
}
