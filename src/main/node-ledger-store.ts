/**
 * Node ledger store: opens what a node keeps in its data directory, and refuses what is not as this node left it.
 *
 *   pin ▸ key ▸ database ▸ origin of the log ▸ ledger, verified
 */
import { existsSync } from 'node:fs'
import type { DataDirectory } from '../config/data-directory.ts'
import type { Config } from '../config/schema.ts'
import { systemClock } from '../core/clock.ts'
import { Database, DatabaseTooNewError, SchemaAlteredError } from '../core/database-store.ts'
import { ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { guardMigrations } from '../guard/guard-secret-store.ts'
import { CheckpointStore } from '../ledger/checkpoint-store.ts'
import type { NodeKey } from '../ledger/key-store.ts'
import { formatLedgerFault } from '../ledger/ledger-state.ts'
import { ledgerMigrations, explainOutdatedLedgerFormat } from '../ledger/ledger-tables-store.ts'
import { Ledger } from '../ledger/ledger.ts'
import { createLogSigner } from '../ledger/note-key.ts'
import { familyMigrations } from './families.ts'
import { openLedgerPin } from './ledger-pin-location-store.ts'
import { ledgerEntryCaches, createStoredContentChecks, ledgerProjections } from './ledger-projections.ts'
import { chooseLogOrigin } from './log-origin-store.ts'
import { deriveMeshDatabaseSealKey } from './membership-log.ts'
import { loadMeshDatabaseCheck } from './mesh-database-check-store.ts'
import { locateMeshFiles } from './mesh-files.ts'
import { loadNodeKey } from './node-key-store.ts'
import { createRefusedStartResult } from './start-fault.ts'
import type { StartFault } from './start-fault.ts'

/** All tables of the database. */
export const nodeDatabaseMigrations = [ledgerMigrations, guardMigrations, ...familyMigrations]

export interface NodeLedger {
  readonly key: NodeKey
  readonly database: Database
  readonly ledger: Ledger
}

/** `onOpened` is given what closes the database, also where what follows fails. */
export async function openNodeLedger(
  { config, pinned }: { readonly config: Config; readonly pinned?: boolean },
  data: DataDirectory,
  onOpened: (close: () => void) => void,
): Promise<Result<NodeLedger, StartFault>> {
  const pin = pinned === false ? undefined : await openLedgerPin(config, data.root)
  const key = await loadNodeKey(data, pin)
  if (!key.ok) return createRefusedStartResult(key.fault)
  const database = openDatabase(data)
  if (!database.ok) return database
  onOpened(() => database.value.close())
  const place = { ...data, pin: pin?.pin }
  const origin = await chooseLogOrigin(config, place, () => new CheckpointStore(database.value.sql).latest()?.note)
  const mesh = { path: locateMeshFiles(data).database, sealKey: deriveMeshDatabaseSealKey(key.value.privateKey) }
  const ledger = await Ledger.open({
    database: database.value,
    signer: createLogSigner(origin, key.value.privateKey),
    origin,
    lastSignedPath: data.lastSigned,
    pin,
    clock: systemClock,
    caches: ledgerEntryCaches,
    contents: [
      ...createStoredContentChecks(database.value, data),
      ...(config.mesh.enabled || existsSync(mesh.path) ? [await loadMeshDatabaseCheck(mesh)] : []),
    ],
    projections: ledgerProjections,
  })
  const state = ledger.state()
  // A ledger that differs from what was signed is not written to: starting would bury the evidence.
  if (state.kind === 'refusing') return createRefusedStartResult(formatLedgerFault(state.fault))
  return ok({ database: database.value, ledger, key: key.value })
}

function openDatabase(data: DataDirectory): Result<Database, StartFault> {
  const old = explainOutdatedLedgerFormat(data.database)
  if (old !== undefined) return createRefusedStartResult(old)
  try {
    return ok(new Database({ path: data.database, migrations: nodeDatabaseMigrations, isWhole: true }))
  } catch (error) {
    if (error instanceof DatabaseTooNewError || error instanceof SchemaAlteredError)
      return createRefusedStartResult(error.message)
    throw error
  }
}
