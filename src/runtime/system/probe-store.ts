/**
 * Probe store: whether the database and its disk still take what is written.
 *
 * Does I/O.
 */
import { statfs } from 'node:fs/promises'
import type { Records } from '../dependencies.ts'
import { isoTime } from '../dependencies.ts'
import { diskCheck } from './health.ts'
import type { Check } from './health.ts'

export interface Probe {
  /** Spec 5's `db_tables`: 0 when the database cannot be asked. SQLite's own tables do not count. */
  readonly tables: () => number
  /** Writes a row and waits until it is durable. */
  readonly database: () => Promise<Check>
  readonly disk: () => Promise<Check>
}

export interface ProbeOptions {
  /** Where the database lives; `undefined` for one in memory. */
  readonly dataDirectory: string | undefined
  readonly readOnly: boolean
}

export function createProbe({ database, clock }: Records, { dataDirectory, readOnly }: ProbeOptions): Probe {
  return {
    tables: () => {
      try {
        const row = database.sql
          .prepare(`SELECT count(*) AS count FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
          .get()
        return Number(row?.['count'] ?? 0)
      } catch {
        return 0
      }
    },
    database: async () => {
      if (readOnly) return { status: 'skipped', message: 'Read-only mode: nothing is written.', figures: {} }
      const startedMs = clock.monotonic()
      try {
        // Through the same door as every record: what fails here fails there.
        await database.commit((sql) =>
          sql.prepare('INSERT OR REPLACE INTO runtime_probe VALUES (1, ?)').run(isoTime(clock)),
        )
      } catch (error) {
        return { status: 'failing', message: `The database takes no writes: ${reasonOf(error)}`, figures: {} }
      }
      return { status: 'ok', figures: { write_ms: Math.round(clock.monotonic() - startedMs) } }
    },
    disk: async () => {
      if (dataDirectory === undefined) return { status: 'skipped', message: 'The database is in memory.', figures: {} }
      try {
        const { bavail, bsize } = await statfs(dataDirectory)
        return diskCheck(bavail * bsize)
      } catch (error) {
        return { status: 'degraded', message: `The disk cannot be asked: ${reasonOf(error)}`, figures: {} }
      }
    },
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
