/**
 * Record copies: the tables of all rooms that repeat what the ledger says. Whoever opens the database to verify the
 * ledger, gateway or command, compares these; whoever erases words erases them here, too. Delete a family's folder and
 * its line here, and the rest still builds.
 *
 * Pure joining; each room looks after its own tables.
 */
import type { Database } from '../core/database-store.ts'
import { deviceProjection } from '../devices/enrol/device-state.ts'
import { homeseerProjection } from '../homeseer/homeseer-state.ts'
import { guardProjection } from '../guard/guard-state.ts'
import type { Copies } from '../ledger/copies.ts'
import { ledgerProjection } from '../ledger/own-projection.ts'
import type { AnyProjection } from '../ledger/projection.ts'
import { runtimeCopies } from '../runtime/copies.ts'

export function recordCopies(database: Pick<Database, 'sql'>): readonly Copies[] {
  return runtimeCopies(database)
}

/** The states that decide, of every module that has one. */
export const recordProjections: readonly AnyProjection[] = [
  ledgerProjection,
  guardProjection,
  deviceProjection,
  homeseerProjection,
]
