/**
 * Record copies: the tables of all rooms that repeat what the ledger says. Whoever opens the database to verify the
 * ledger, gateway or command, compares these; whoever erases words erases them here, too. Delete a family's folder and
 * its line here, and the rest still builds.
 *
 * Pure joining; each room looks after its own tables.
 */
import type { Database, Migrations } from '../core/database-store.ts'
import { guardProjection } from '../guard/guard-state.ts'
import { guardMigrations } from '../guard/schema-store.ts'
import type { Copies } from '../ledger/copies.ts'
import { ledgerMigrations } from '../ledger/ledger-store.ts'
import type { AnyProjection } from '../ledger/projection.ts'
import { runtimeCopies } from '../runtime/copies.ts'
import { runtimeMigrations } from '../runtime/migrations.ts'

/** The ledger and the tables that are held against it. */
export const recordMigrations: readonly Migrations[] = [ledgerMigrations, guardMigrations, runtimeMigrations]

export function recordCopies(database: Pick<Database, 'sql'>): readonly Copies[] {
  return runtimeCopies(database)
}

/** The states that decide, of every module that has one. */
export const recordProjections: readonly AnyProjection[] = [guardProjection]
