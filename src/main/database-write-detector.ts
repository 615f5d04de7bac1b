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

/** Returns a function to be called periodically. */
export function createForeignDatabaseWriteDetector(options: {
  readonly database: Database
  readonly migrations: readonly ModuleMigrations[]
  readonly ledger: Ledger
  readonly logger: Logger
}): () => Promise<void> {
  const { database, migrations, ledger, logger } = options
  const readWrites = (): string => `${database.foreignWrites()} ${ledger.foreignLookupWrites()}`
  let seen = readWrites()
  return async () => {
    const now = readWrites()
    if (now === seen) return
    seen = now
    const schema = findAlteredSchema(database.sql, migrations)
    logger.error({ schema }, 'another program wrote to the database; what it wrote is not trusted')
    await ledger.append({ kind: FOREIGN_DATABASE_WRITE_KIND, schema })
    await ledger.verify()
  }
}
