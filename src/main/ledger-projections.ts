/**
 * Ledger projections: the states and the tables of every module that are computed from the log. The gateway and every
 * command that opens the ledger open all of them. Delete a family's folder and its line here, and the rest still
 * builds.
 *
 * Reads through the stores.
 */
import type { DataDirectory } from '../config/data-directory.ts'
import type { Database } from '../core/database-store.ts'
import { createToolPinCheck } from '../devices/tools/tool-pin-store.ts'
import { createGuardSecretCheck } from '../guard/guard-secret-store.ts'
import { createOwnerTokenFileCheck } from '../guard/owner-token-store.ts'
import { createRollbackArgumentsCheck } from '../homeseer/admin/rollback-store.ts'
import { deviceProjection } from '../devices/enrol/enrolled-device-state.ts'
import { guardProjection } from '../guard/guard-state.ts'
import { laterCallsProjection } from '../home/later-state.ts'
import { homeseerProjection } from '../homeseer/homeseer-state.ts'
import type { EntryCacheDefinition } from '../ledger/entry-cache-store.ts'
import { randomDrawProjection } from '../ledger/random-draw-state.ts'
import { foreignDatabaseWriteProjection } from '../ledger/foreign-database-write-projection.ts'
import type { UntypedProjection, StoredContentCheck } from '../ledger/projection.ts'
import { findExposedKeyFiles } from './key-files-check-store.ts'
import { membershipProjection } from './membership-log.ts'
import { offerPinProjection } from './offer-pin-log.ts'
import { cosignedTreeProjection } from './cosigned-tree-memory.ts'
import { runtimeEntryTables } from '../runtime/runtime-cache-store.ts'
import { runtimeProjection } from '../runtime/runtime-state.ts'

export const ledgerProjections: readonly UntypedProjection[] = [
  foreignDatabaseWriteProjection,
  randomDrawProjection,
  guardProjection,
  runtimeProjection,
  deviceProjection,
  homeseerProjection,
  laterCallsProjection,
  membershipProjection,
  offerPinProjection,
  cosignedTreeProjection,
]

export const ledgerEntryCaches: readonly EntryCacheDefinition[] = [runtimeEntryTables]

/**
 * Audits of a database and of the folder of keys, which hold content beside the log; the mesh database has its own
 * audit.
 */
export function createStoredContentChecks(
  { sql }: Pick<Database, 'sql'>,
  data: DataDirectory,
): readonly StoredContentCheck[] {
  return [
    createGuardSecretCheck(sql),
    createToolPinCheck(sql),
    createRollbackArgumentsCheck(sql),
    createOwnerTokenFileCheck(data.ownerToken),
    () => findExposedKeyFiles(data),
  ]
}
