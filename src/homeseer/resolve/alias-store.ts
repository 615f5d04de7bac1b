/**
 * Alias store: names that people confirmed. A name is learned only from a person, and never one that is already the
 * name of something else: a learned alias must not take over a device.
 *
 * Does I/O.
 */
import type { Database, Migrations } from '../../core/database-store.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import type { Alias, AliasKind } from './alias.ts'
import { skeleton, strictKey } from './normalise.ts'

export const aliasMigrations: Migrations = {
  room: 'homeseer-aliases',
  steps: [
    `CREATE TABLE homeseer_alias (
       kind TEXT NOT NULL CHECK (kind IN ('device', 'event', 'camera')),
       key TEXT NOT NULL,
       id INTEGER NOT NULL,
       text TEXT NOT NULL,
       confirmed_by TEXT NOT NULL,
       confirmed_at_ms INTEGER NOT NULL,
       PRIMARY KEY (kind, key)
     ) STRICT`,
  ],
}

export interface Confirmation {
  readonly kind: AliasKind
  readonly id: number
  readonly text: string
  /** The person's principal. */
  readonly confirmedBy: string
  readonly atMs: number
}

/** `taken`: other things are called that, or look as if they were. */
export type LearnFault =
  | { readonly kind: 'taken'; readonly byIds: readonly number[] }
  | { readonly kind: 'not-a-name' }
  | { readonly kind: 'full' }

/** More than a household says, fewer than would slow it down. */
const MAX_LEARNED = 2_000
const MAX_LENGTH = 100

export class AliasStore {
  readonly #database: Database
  #all: readonly Alias[]

  constructor(database: Database) {
    this.#database = database
    this.#all = readAll(database)
  }

  /** The very same list again as long as nothing was learned or forgotten. */
  get all(): readonly Alias[] {
    return this.#all
  }

  /** `others` are the aliases in force, names included; a newer confirmation of the same words replaces the older. */
  async learn(confirmation: Confirmation, others: readonly Alias[]): Promise<Result<void, LearnFault>> {
    const { kind, id, text, confirmedBy, atMs } = confirmation
    const key = strictKey(text)
    if (key === '' || text.length > MAX_LENGTH) return fail({ kind: 'not-a-name' })
    const looks = skeleton(text)
    const taken = others.filter(
      (other) =>
        other.kind === kind && other.id !== id && other.origin !== 'confirmed' && skeleton(other.text) === looks,
    )
    if (taken.length > 0) return fail({ kind: 'taken', byIds: [...new Set(taken.map((other) => other.id))] })
    if (this.#all.length >= MAX_LEARNED) return fail({ kind: 'full' })
    await this.#database.commit((db) =>
      db
        .prepare('INSERT OR REPLACE INTO homeseer_alias VALUES (?, ?, ?, ?, ?, ?)')
        .run(kind, key, id, text, confirmedBy, atMs),
    )
    this.#all = readAll(this.#database)
    return ok(undefined)
  }

  /** True when there was such a name. */
  async forget(kind: AliasKind, text: string): Promise<boolean> {
    const { changes } = await this.#database.commit((db) =>
      db.prepare('DELETE FROM homeseer_alias WHERE kind = ? AND key = ?').run(kind, strictKey(text)),
    )
    this.#all = readAll(this.#database)
    return changes > 0
  }
}

function readAll(database: Database): readonly Alias[] {
  return database.sql
    .prepare('SELECT kind, id, text FROM homeseer_alias ORDER BY kind, key')
    .all()
    .map((row) => ({
      kind: row['kind'] as AliasKind,
      id: Number(row['id']),
      text: String(row['text']),
      origin: 'confirmed',
    }))
}
