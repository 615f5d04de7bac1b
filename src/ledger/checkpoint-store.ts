/**
 * Checkpoint store: the checkpoints this node signed, and the keys of the witnesses that cosigned them.
 *
 * Of the checkpoints within one block of 256 entries only the newest is kept, and the newest cosigned one: a node that
 * signs every second would otherwise store more signatures than events, and a proof can be made for any size anyway.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { TILE_WIDTH } from './tile.ts'

export interface StoredCheckpointRow {
  readonly size: number
  /** How many of the note's signatures are witnesses'. */
  readonly cosignatures: number
  readonly note: string
}

/** Write only inside `Database.commit`. */
export class CheckpointStore {
  readonly #put: StatementSync
  readonly #thin: StatementSync
  readonly #removeAll: StatementSync
  readonly #addWitness: StatementSync
  readonly #latest: StatementSync
  readonly #at: StatementSync
  readonly #cosignedAfter: StatementSync
  readonly #newestCosigned: StatementSync
  readonly #between: StatementSync
  readonly #witnesses: StatementSync

  constructor(sql: DatabaseSync) {
    this.#put = sql.prepare('INSERT OR REPLACE INTO ledger_checkpoint VALUES (?, ?, ?)')
    this.#thin = sql.prepare('DELETE FROM ledger_checkpoint WHERE size > ? AND size < ? AND cosignatures <= ?')
    this.#removeAll = sql.prepare('DELETE FROM ledger_checkpoint')
    this.#addWitness = sql.prepare('INSERT OR IGNORE INTO ledger_witness VALUES (?)')
    this.#latest = sql.prepare('SELECT * FROM ledger_checkpoint ORDER BY size DESC LIMIT 1')
    this.#at = sql.prepare('SELECT * FROM ledger_checkpoint WHERE size = ?')
    this.#cosignedAfter = sql.prepare(
      'SELECT * FROM ledger_checkpoint WHERE size > ? AND cosignatures > 0 ORDER BY size DESC LIMIT 1',
    )
    this.#newestCosigned = sql.prepare(
      'SELECT * FROM ledger_checkpoint WHERE size > ? AND cosignatures > 0 ORDER BY size DESC LIMIT 16',
    )
    this.#between = sql.prepare('SELECT * FROM ledger_checkpoint WHERE size > ? AND size <= ? ORDER BY size')
    this.#witnesses = sql.prepare('SELECT vkey FROM ledger_witness ORDER BY vkey')
  }

  put(row: StoredCheckpointRow): void {
    this.#put.run(row.size, row.cosignatures, row.note)
    const blockStart = Math.floor(Math.max(0, row.size - 1) / TILE_WIDTH) * TILE_WIDTH
    this.#thin.run(blockStart, row.size, row.cosignatures)
  }

  /** Removes all checkpoints, for a log that continues under another name: they were signed under the old one. */
  removeAll(): void {
    this.#removeAll.run()
  }

  addWitness(vkey: string): void {
    this.#addWitness.run(vkey)
  }

  latest(): StoredCheckpointRow | undefined {
    return this.#latest.get() as StoredCheckpointRow | undefined
  }

  at(size: number): StoredCheckpointRow | undefined {
    return this.#at.get(size) as StoredCheckpointRow | undefined
  }

  /** The newest cosigned checkpoint that covers entry `seq`. */
  cosignedCovering(seq: number): StoredCheckpointRow | undefined {
    return this.#cosignedAfter.get(seq) as StoredCheckpointRow | undefined
  }

  /** The newest cosigned checkpoints that cover entry `seq`, newest first. */
  newestCosigned(seq: number): StoredCheckpointRow[] {
    return this.#newestCosigned.all(seq) as unknown as StoredCheckpointRow[]
  }

  between(above: number, upTo: number): StoredCheckpointRow[] {
    return this.#between.all(above, upTo) as unknown as StoredCheckpointRow[]
  }

  witnesses(): string[] {
    return this.#witnesses.all().map((row) => String(row['vkey']))
  }
}
