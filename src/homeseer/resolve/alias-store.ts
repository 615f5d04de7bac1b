/**
 * Alias store: names that were confirmed by whoever used them. Such a name is its confirmer's own: what one agent answers
 * to its own question means nothing to another. Only the owner of the house teaches a name to all. None is learned that
 * is already the name of something else: a learned alias must not take over a device.
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
    // A name belongs to who confirmed it.
    `CREATE TABLE homeseer_own_alias (
       kind TEXT NOT NULL CHECK (kind IN ('device', 'event', 'camera')),
       key TEXT NOT NULL,
       confirmed_by TEXT NOT NULL,
       shared INTEGER NOT NULL CHECK (shared IN (0, 1)),
       id INTEGER NOT NULL,
       text TEXT NOT NULL,
       confirmed_at_ms INTEGER NOT NULL,
       PRIMARY KEY (kind, key, confirmed_by)
     ) STRICT;
     INSERT INTO homeseer_own_alias SELECT kind, key, confirmed_by, 0, id, text, confirmed_at_ms FROM homeseer_alias;
     DROP TABLE homeseer_alias`,
  ],
}

export interface Confirmation {
  readonly kind: AliasKind
  readonly id: number
  readonly text: string
  /** The caller's key. */
  readonly confirmedBy: string
  /** Everybody's from now on: the owner of the house said so. */
  readonly shared?: boolean
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
    const { kind, id, text, confirmedBy, shared = false, atMs } = confirmation
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
        .prepare('INSERT OR REPLACE INTO homeseer_own_alias VALUES (?, ?, ?, ?, ?, ?, ?)')
        .run(kind, key, confirmedBy, shared ? 1 : 0, id, text, atMs),
    )
    this.#all = readAll(this.#database)
    return ok(undefined)
  }

  /** True when there was such a name. */
  async forget(kind: AliasKind, text: string): Promise<boolean> {
    const { changes } = await this.#database.commit((db) =>
      db.prepare('DELETE FROM homeseer_own_alias WHERE kind = ? AND key = ?').run(kind, strictKey(text)),
    )
    this.#all = readAll(this.#database)
    return changes > 0
  }
}

function readAll(database: Database): readonly Alias[] {
  return database.sql
    .prepare('SELECT kind, id, text, confirmed_by, shared FROM homeseer_own_alias ORDER BY kind, key, confirmed_by')
    .all()
    .map((row) => ({
      kind: row['kind'] as AliasKind,
      id: Number(row['id']),
      text: String(row['text']),
      origin: 'confirmed',
      ...(row['shared'] === 1 ? {} : { owner: String(row['confirmed_by']) }),
    }))
}
