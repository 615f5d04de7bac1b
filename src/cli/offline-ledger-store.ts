/**
 * Offline ledger: opens the ledger of a data directory that no gateway uses.
 *
 * Signing, exporting and erasing need the ledger exclusively, so they are only done here when no gateway runs.
 */
import type { KeyObject } from 'node:crypto'
import { buildDataDirectoryPaths } from '../config/data-directory.ts'
import type { Config } from '../config/schema.ts'
import { systemClock } from '../core/clock.ts'
import { Database } from '../core/database-store.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { formatLedgerFault } from '../ledger/ledger-state.ts'
import { formatKeyFault, loadExistingNodeKey } from '../ledger/key-store.ts'
import { Ledger } from '../ledger/ledger.ts'
import type { LedgerOptions } from '../ledger/ledger-options.ts'
import { createLogSigner } from '../ledger/note-key.ts'
import type { NoteVerifier } from '../ledger/note-key.ts'
import { continueTruncatedLogUnderNewName, formatSuccessorOrigin } from '../ledger/log-succession-store.ts'
import { createNodeLedgerOptions } from '../main/node-ledger-options.ts'
import { locateOutsideLocks, openLedgerPin } from '../main/ledger-pin-location-store.ts'
import { takeGatewayLock } from '../main/gateway-lock-client.ts'
import { explainMissingLedger, isLedgerPresent, reportTrouble } from './ledger-location-store.ts'

/** `even-refusing`: the command also runs on a ledger that refuses to open, because it repairs that condition. */
export type RequiredLedgerCondition = 'sound' | 'even-refusing'

export interface OfflineLedgerOptions {
  readonly dataRoot: string
  readonly config: Config
  readonly state: RequiredLedgerCondition
  /** Whether the work touches tables of other modules, which are then brought up to date. */
  readonly rooms?: 'ledger' | 'all'
}

/** Runs `work` on the ledger of a data directory that no gateway uses. The fault is a sentence. */
export function withOfflineLedger<Value>(
  place: OfflineLedgerOptions,
  work: (ledger: Ledger) => Promise<Value>,
): Promise<Result<Value, string>> {
  return withOptions(place, async (options) => {
    const ledger = await Ledger.open(options)
    const state = ledger.state()
    if (state.kind === 'refusing' && place.state === 'sound') return fail(formatLedgerFault(state.fault))
    const done = await work(ledger)
    // The command signs at its end: no running gateway would sign later what it recorded, and nothing unsigned may
    // follow a stop.
    if (ledger.state().kind !== 'refusing' && ledger.size() > (ledger.latestCheckpoint()?.checkpoint.size ?? 0)) {
      const signed = await ledger.checkpoint()
      if (!signed.ok) return fail(formatLedgerFault(signed.fault))
    }
    await ledger.flushPin()
    return ok(done)
  })
}

export interface SuccessorLogFacts {
  readonly entries: number
  readonly key: NoteVerifier
}

/** Continues from an older copy as a log with another name, where no gateway runs. The fault is a sentence. */
export function startSuccessorLog(dataRoot: string, config: Config): Promise<Result<SuccessorLogFacts, string>> {
  const { origin: named } = config.ledger
  if (named !== undefined)
    return Promise.resolve(
      fail(`ledger.origin names ${named} in the configuration. Take that line out first: a new log has another name.`),
    )
  return withOptions({ dataRoot, config, rooms: 'all' }, async (options, privateKey) => {
    const signer = createLogSigner(formatSuccessorOrigin(options.origin, systemClock.now()), privateKey)
    const signed = await continueTruncatedLogUnderNewName(options, signer)
    if (signed.ok) return ok({ entries: signed.value.checkpoint.size, key: signer.key })
    return fail(signed.fault.kind === 'nothing-to-adopt' ? NOTHING_TO_ADOPT_MESSAGE : formatLedgerFault(signed.fault))
  })
}

export const NOTHING_TO_ADOPT_MESSAGE = 'The ledger is in order as far as this node knows; there is nothing to adopt.'

function withOptions<Value>(
  place: Omit<OfflineLedgerOptions, 'state'>,
  work: (options: LedgerOptions, privateKey: KeyObject) => Promise<Result<Value, string>>,
): Promise<Result<Value, string>> {
  return reportTrouble(place.dataRoot, () => workIn(place, work))
}

async function workIn<Value>(
  { dataRoot, config, rooms }: Omit<OfflineLedgerOptions, 'state'>,
  work: (options: LedgerOptions, privateKey: KeyObject) => Promise<Result<Value, string>>,
): Promise<Result<Value, string>> {
  const data = buildDataDirectoryPaths(dataRoot)
  if (!isLedgerPresent(data)) return fail(explainMissingLedger(dataRoot))
  const lock = await takeGatewayLock(data, locateOutsideLocks(config, dataRoot))
  if (!lock.ok) return lock
  try {
    const key = await loadExistingNodeKey(data.nodeKey)
    if (!key.ok) return fail(formatKeyFault(key.fault))
    // All migrations are checked, whatever tables the work touches: a planted trigger would run with its first
    // statement.
    const { nodeDatabaseMigrations } = await import('../main/node-database-migrations.ts')
    const database = new Database({ path: data.database, migrations: nodeDatabaseMigrations, isWhole: true })
    try {
      const pin = await openLedgerPin(config, dataRoot)
      const { privateKey } = key.value
      const options = await createNodeLedgerOptions(config, { data, database, pin, privateKey })
      return await work(rooms === 'all' ? options : { ...options, caches: [] }, privateKey)
    } finally {
      database.close()
    }
  } finally {
    lock.value.release()
  }
}
