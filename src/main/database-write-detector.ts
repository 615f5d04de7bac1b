/**
 * Database write detector: detects that another program writes into the database, or into the ledger's cache of
 * lookups, while this one runs. No decision is made from what that program wrote; the fact is recorded, and every
 * verification reports it.
 *
 * Reads through the database that it is given.
 */
import { findAlteredSchema } from '../core/database-schema-check-store.ts'
import type { Database, ModuleMigrations } from '../core/database-store.ts'
import type { Logger } from '../core/logger.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { FOREIGN_DATABASE_WRITE_KIND } from '../ledger/foreign-database-write-projection.ts'

/** To be called periodically, and, with `before-stop`, before the last entry: then nothing is verified any more. */
export type ForeignDatabaseWriteDetector = (when?: 'before-stop') => Promise<void>

/** Detects all writes since the two files were opened, also those before this is called. */
export function createForeignDatabaseWriteDetector(options: {
  readonly database: Database
  readonly migrations: readonly ModuleMigrations[]
  readonly ledger: Ledger
  readonly logger: Logger
}): ForeignDatabaseWriteDetector {
  const { database, migrations, ledger, logger } = options
  const readWrites = (): string => `${database.foreignWrites()} ${ledger.foreignLookupWrites()}`
  let recorded = '0 0'
  return async (when) => {
    const now = readWrites()
    if (now === recorded) return
    const before = recorded
    // At once, so that of two calls at the same time one records it.
    recorded = now
    const schema = findAlteredSchema(database.sql, migrations)
    logger.error({ schema }, 'another program wrote to the database; what it wrote is not trusted')
    try {
      await ledger.append({ kind: FOREIGN_DATABASE_WRITE_KIND, schema })
    } catch (error) {
      recorded = before
      throw error
    }
    if (when === undefined) await ledger.verify()
  }
}
