/**
 * Node ledger store: opens what a node keeps in its data directory, and refuses what is not as this node left it.
 *
 *   pin ▸ key ▸ database ▸ options of the ledger, with the origin of the log ▸ ledger, verified
 */
import { existsSync } from 'node:fs'
import type { DataDirectory } from '../config/data-directory.ts'
import type { Config } from '../config/schema.ts'
import { Database, DatabaseTooNewError, SchemaAlteredError } from '../core/database-store.ts'
import { ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { NodeKey } from '../ledger/key-store.ts'
import { formatLedgerFault } from '../ledger/ledger-state.ts'
import { explainOutdatedLedgerFormat } from '../ledger/ledger-tables-store.ts'
import { Ledger } from '../ledger/ledger.ts'
import { nodeDatabaseMigrations } from './node-database-migrations.ts'
import { createStoredContentChecks } from './ledger-projections.ts'
import { createNodeLedgerOptions } from './node-ledger-options.ts'
import { openLedgerPin } from './ledger-pin-location-store.ts'
import { deriveMeshDatabaseSealKey } from './membership-log.ts'
import { loadMeshDatabaseCheck } from './mesh-database-check-store.ts'
import { locateMeshFiles } from './mesh-files.ts'
import { loadNodeKey } from './node-key-store.ts'
import { createRefusedStartResult } from './start-fault.ts'
import type { StartFault } from './start-fault.ts'

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
  const mesh = { path: locateMeshFiles(data).database, sealKey: deriveMeshDatabaseSealKey(key.value.privateKey) }
  const files = { data, database: database.value, pin, privateKey: key.value.privateKey }
  const ledger = await Ledger.open({
    ...(await createNodeLedgerOptions(config, files)),
    contents: [
      ...createStoredContentChecks(database.value, data),
      ...(config.mesh.enabled || existsSync(mesh.path) ? [await loadMeshDatabaseCheck(mesh)] : []),
    ],
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
