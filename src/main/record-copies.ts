/**
 * Record copies: the tables of all rooms that repeat what the ledger says. Whoever opens the database to verify the
 * ledger, gateway or command, compares these; whoever erases words erases them here, too. Delete a family's folder and
 * its line here, and the rest still builds.
 *
 * Pure joining; each room looks after its own tables.
 */
import { systemClock } from '../core/clock.ts'
import type { Database } from '../core/database-store.ts'
import { guardCopies } from '../guard/copies-store.ts'
import type { Copies } from '../ledger/copies.ts'
import { runtimeCopies } from '../runtime/copies.ts'

export function recordCopies(database: Pick<Database, 'sql'>): readonly Copies[] {
  return [...guardCopies(database, systemClock), ...runtimeCopies(database)]
}
