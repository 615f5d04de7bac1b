/**
 * Node ledger options: what the ledger of a data directory is opened with, by a gateway and by a command alike.
 *
 * Reads through the stores.
 */
import type { KeyObject } from 'node:crypto'
import type { DataDirectory } from '../config/data-directory.ts'
import type { Config } from '../config/schema.ts'
import { systemClock } from '../core/clock.ts'
import type { Database } from '../core/database-store.ts'
import { CheckpointStore } from '../ledger/checkpoint-store.ts'
import type { LedgerOptions } from '../ledger/ledger-options.ts'
import type { LedgerPinFile } from '../ledger/ledger-pin-store.ts'
import { createLogSigner } from '../ledger/note-key.ts'
import { ledgerEntryCaches, ledgerProjections } from './ledger-projections.ts'
import { chooseLogOrigin } from './log-origin-store.ts'

export interface NodeLedgerFiles {
  readonly data: DataDirectory
  readonly database: Database
  readonly pin: LedgerPinFile | undefined
  readonly privateKey: KeyObject
}

export async function createNodeLedgerOptions(
  config: Config,
  { data, database, pin, privateKey }: NodeLedgerFiles,
): Promise<LedgerOptions> {
  const { lastSigned } = data
  const newestNote = (): string | undefined => new CheckpointStore(database.sql).latest()?.note
  const origin = await chooseLogOrigin(config, { lastSigned, pin: pin?.pin }, newestNote)
  return {
    database,
    signer: createLogSigner(origin, privateKey),
    origin,
    lastSignedPath: lastSigned,
    pin,
    clock: systemClock,
    caches: ledgerEntryCaches,
    projections: ledgerProjections,
  }
}
