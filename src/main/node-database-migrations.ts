/**
 * Node database migrations: all tables of the database of a data directory. Commands import it only where they need it,
 * because the families are large.
 *
 * Pure.
 */
import type { ModuleMigrations } from '../core/database-store.ts'
import { guardMigrations } from '../guard/guard-secret-store.ts'
import { ledgerMigrations } from '../ledger/ledger-tables-store.ts'
import { familyMigrations } from './families.ts'

export const nodeDatabaseMigrations: readonly ModuleMigrations[] = [
  ledgerMigrations,
  guardMigrations,
  ...familyMigrations,
]
