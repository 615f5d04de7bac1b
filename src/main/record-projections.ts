/**
 * Record projections: the states that decide and the tables that repeat the log, of every module that has some. Whoever
 * opens the ledger, gateway or command, opens these. Delete a family's folder and its line here, and the rest still
 * builds.
 *
 * Pure.
 */
import { deviceProjection } from '../devices/enrol/device-state.ts'
import { guardProjection } from '../guard/guard-state.ts'
import { homeseerProjection } from '../homeseer/homeseer-state.ts'
import type { EntryCache } from '../ledger/entry-cache-store.ts'
import { ledgerProjection } from '../ledger/own-projection.ts'
import type { AnyProjection } from '../ledger/projection.ts'
import { membershipProjection } from './membership-log.ts'
import { runtimeCache } from '../runtime/runtime-cache-store.ts'
import { runtimeProjection } from '../runtime/runtime-state.ts'

export const recordProjections: readonly AnyProjection[] = [
  ledgerProjection,
  guardProjection,
  runtimeProjection,
  deviceProjection,
  homeseerProjection,
  membershipProjection,
]

export const recordCaches: readonly EntryCache[] = [runtimeCache]
