/**
 * Database probe store: tests whether the database and its disk can still be written.
 */
import { rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { RuntimeRecordDependencies } from '../runtime-dependencies.ts'
import { checkDisk } from './health-checks.ts'
import type { HealthCheckResult } from './health-checks.ts'
import { readErrorMessage } from '../../core/thrown-error.ts'
import { formatIsoTime } from '../../toolbox/iso-time.ts'

export interface DatabaseHealthProbe {
  /** Spec 5's `db_tables`: 0 when the database cannot be asked. SQLite's own tables do not count. */
  readonly tables: () => number
  /**
   * Writes a row and waits until it is durable. This also happens in read-only mode, because every call is recorded
   * there as well.
   */
  readonly database: () => Promise<HealthCheckResult>
  /** Creates a file where checkpoints are written, and checks the free space. */
  readonly disk: () => Promise<HealthCheckResult>
}

/** `dataDirectory` is where the database lives; `undefined` for one in memory. */
export function createDatabaseHealthProbe(
  { database, clock }: RuntimeRecordDependencies,
  dataDirectory: string | undefined,
): DatabaseHealthProbe {
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
      const startedMs = clock.monotonic()
      try {
        // Written in the same way as every record, so that it fails in the same cases.
        await database.commit((sql) =>
          sql.prepare('INSERT OR REPLACE INTO runtime_probe VALUES (1, ?)').run(formatIsoTime(clock.now())),
        )
      } catch (error) {
        return { status: 'failing', message: `The database cannot be written: ${readErrorMessage(error)}`, figures: {} }
      }
      return { status: 'ok', figures: { write_ms: Math.round(clock.monotonic() - startedMs) } }
    },
    disk: async () => {
      if (dataDirectory === undefined) return { status: 'skipped', message: 'The database is in memory.', figures: {} }
      try {
        await makeFile(join(dataDirectory, PROBE_FILE))
        const { bavail, bsize } = await statfs(dataDirectory)
        return checkDisk(bavail * bsize)
      } catch (error) {
        return {
          status: 'failing',
          message: `No file can be written to the data directory: ${readErrorMessage(error)}`,
          figures: {},
        }
      }
    },
  }
}

const PROBE_FILE = '.probe'

async function makeFile(path: string): Promise<void> {
  // A file that a crash left is removed first, and a link in its place is not followed.
  await rm(path, { force: true })
  await writeFile(path, 'Written to see whether writing works.\n', { mode: 0o600, flag: 'wx' })
  await rm(path)
}
