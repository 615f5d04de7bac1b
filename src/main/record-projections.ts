/**
 * Record projections: the states that decide and the tables that repeat the log, of every module that has some. Whoever
 * opens the ledger, gateway or command, opens these. Delete a family's folder and its line here, and the rest still
 * builds.
 *
 * Reads through the stores.
 */
import type { Database } from '../core/database-store.ts'
import { auditPins } from '../devices/tools/pin-store.ts'
import { auditGuardSecret } from '../guard/schema-store.ts'
import { auditRollbacks } from '../homeseer/admin/rollback-store.ts'
import { deviceProjection } from '../devices/enrol/device-state.ts'
import { guardProjection } from '../guard/guard-state.ts'
import { laterProjection } from '../home/later-state.ts'
import { homeseerProjection } from '../homeseer/homeseer-state.ts'
import type { EntryCache } from '../ledger/entry-cache-store.ts'
import { ledgerProjection } from '../ledger/own-projection.ts'
import type { AnyProjection, ContentAudit } from '../ledger/projection.ts'
import { membershipProjection } from './membership-log.ts'
import { runtimeCache } from '../runtime/runtime-cache-store.ts'
import { runtimeProjection } from '../runtime/runtime-state.ts'

export const recordProjections: readonly AnyProjection[] = [
  ledgerProjection,
  guardProjection,
  runtimeProjection,
  deviceProjection,
  homeseerProjection,
  laterProjection,
  membershipProjection,
]

export const recordCaches: readonly EntryCache[] = [runtimeCache]

/** Of a database: what it stores beside the log under hashes that the log has. */
export function listContentAudits({ sql }: Pick<Database, 'sql'>): readonly ContentAudit[] {
  return [auditGuardSecret(sql), auditPins(sql), auditRollbacks(sql)]
}
