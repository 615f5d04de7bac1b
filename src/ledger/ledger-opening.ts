/**
 * Ledger opening: whether the log, the tables and the checkpoints that a start finds belong together and extend what
 * was signed, so that the ledger may be appended to; and what a crash left unfinished.
 *
 *   known to be signed ▸ log and tables read ▸ fault? ▸ projections ▸ bundles authentic? ▸ recovery
 *
 * Reads and writes through the stores it is given.
 */
import type { Database } from '../core/database-store.ts'
import { readFileIfPresent } from './atomic-file-store.ts'
import { verifyAndParseCheckpoint } from './checkpoint.ts'
import type { CheckpointSigner } from './checkpoint-signer.ts'
import { CheckpointStore } from './checkpoint-store.ts'
import { wipeErasedBodies } from './erasure.ts'
import type { ErasureState } from './erasure.ts'
import type { LedgerOptions } from './ledger-options.ts'
import type { LedgerFault } from './ledger-state.ts'
import { readAppliedEntryCount } from './ledger-tables-store.ts'
import type { LogStore } from './log-store.ts'
import { recoverLookupAndListOpenCalls } from './lookup-recovery.ts'
import type { LookupStore } from './lookup-store.ts'
import { findUnsignedTailGapOrStopFault, summarizeUnsignedTail } from './unsigned-tail.ts'
import type { UnsignedTailSummary } from './unsigned-tail.ts'

/**
 * The number of entries known to be signed, before anything is checked; all entries, where it cannot be read, so that
 * nothing is cut off.
 */
export async function readKnownSignedSize({ database, lastSignedPath, signer, pin }: LedgerOptions): Promise<number> {
  const known = Math.max(new CheckpointStore(database.sql).latest()?.size ?? 0, pin?.pin?.size ?? 0)
  try {
    const text = await readFileIfPresent(lastSignedPath)
    if (text === undefined) return known
    const opened = verifyAndParseCheckpoint(text, signer.key)
    return opened.ok ? Math.max(known, opened.value.checkpoint.size) : Infinity
  } catch {
    return Infinity
  }
}

export interface OpenedLedgerParts {
  readonly log: LogStore
  readonly lookup: LookupStore
  readonly database: Pick<Database, 'sql'>
  readonly signing: CheckpointSigner
}

/** Why the ledger may not be appended to, or `undefined`. */
export async function findOpeningFault(opened: OpenedLedgerParts): Promise<LedgerFault | undefined> {
  const { log, signing } = opened
  const fault = await signing.check()
  // A wrong key explains all other findings.
  if (isAboutLastSigned(fault)) return fault
  const signed = signing.latest()?.checkpoint.size ?? 0
  return findLogFault(opened) ?? fault ?? findUnsignedTailGapOrStopFault(log, signed, signing.pinnedSize())
}

/**
 * The fault that remains when a person vouches for the database although the last signed checkpoint is missing or
 * unreadable.
 */
export function findFaultBeyondLastSigned(fault: LedgerFault, opened: OpenedLedgerParts): LedgerFault | undefined {
  return isAboutLastSigned(fault) ? (findLogFault(opened) ?? opened.signing.checkDatabase()) : fault
}

function isAboutLastSigned(fault: LedgerFault | undefined): boolean {
  return fault?.kind === 'last-signed-invalid' || fault?.kind === 'last-signed-missing'
}

/** Whether the log is complete, and the tables belong to it. */
function findLogFault({ log, database }: OpenedLedgerParts): LedgerFault | undefined {
  const { damage, size, tablesNeed } = log
  if (damage !== undefined) return { kind: 'damaged', reason: damage }
  const applied = readAppliedEntryCount(database.sql)
  if (applied > size) return { kind: 'truncated', size, signedSize: applied, source: 'tables' }
  return applied < tablesNeed ? { kind: 'tables-behind', size: applied, needed: tablesNeed } : undefined
}

/** Looks among the bundles that were read so far; if there are projections, these are all bundles. */
export function findUnauthenticBundle({ bundles }: Pick<LogStore, 'bundles'>): LedgerFault | undefined {
  const [index] = bundles.unauthentic
  if (index === undefined) return undefined
  return { kind: 'damaged', reason: `entry bundle ${index} does not hold the entries that were signed` }
}

export interface LedgerRecovery {
  /** What follows the last signature; `undefined` when everything was signed, or the ledger has a fault. */
  readonly unsigned: UnsignedTailSummary | undefined
  readonly openCalls: readonly number[]
}

/** Brings the lookups up to the log, and finishes what a crash interrupted. */
export function recoverOpenedLedger(
  { log, lookup, signing }: OpenedLedgerParts,
  erasures: ErasureState,
  isSound: boolean,
): LedgerRecovery {
  const unsigned = isSound ? summarizeUnsignedTail(log, signing.latest()?.checkpoint.size ?? 0) : undefined
  const openCalls = recoverLookupAndListOpenCalls(lookup, log)
  if (isSound) wipeErasedBodies(log, erasures)
  return { unsigned, openCalls }
}
