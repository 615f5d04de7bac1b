/**
 * Open ledger verification: verifies the stored log of a ledger that this process has open and goes on appending to.
 *
 * Reads through the stores of that ledger.
 */
import { join } from 'node:path'
import { findAlteredSchema } from '../core/database-schema-check-store.ts'
import { readFileIfPresent } from './atomic-file-store.ts'
import type { SignedCheckpoint } from './checkpoint.ts'
import { CheckpointStore } from './checkpoint-store.ts'
import { EntryCacheVerification } from './entry-cache-store.ts'
import { deriveTailMacKey } from './entry-group.ts'
import type { LedgerOptions } from './ledger-options.ts'
import { formatLedgerFault } from './ledger-state.ts'
import type { SigningOutage } from './ledger-state.ts'
import { readAppliedEntryCount } from './ledger-tables-store.ts'
import type { LogStore } from './log-store.ts'
import { verifyStoredLog } from './log-verification.ts'
import type { LogVerificationOptions, LogVerificationReport } from './log-verification.ts'
import type { LookupStore } from './lookup-store.ts'
import { readTailSegments } from './tail-reader-store.ts'

export interface OpenLedgerParts extends LedgerOptions {
  readonly directory: string
  readonly log: LogStore
  readonly lookup: LookupStore
  /** The newest checkpoint when the verification begins. */
  readonly latest: SignedCheckpoint | undefined
}

export async function verifyOpenLedger(
  parts: OpenLedgerParts,
  options: LogVerificationOptions,
): Promise<LogVerificationReport> {
  const { database, directory, signer, log, lookup, latest, lastSignedPath: path, caches = [] } = parts
  const tailKey = deriveTailMacKey(signer)
  const stored = {
    log,
    tail: () => readTailSegments(join(directory, 'tail'), tailKey, Infinity),
    checkpoints: new CheckpointStore(database.sql),
    newestRow: latest?.checkpoint.size ?? 0,
    tablesSize: () => readAppliedEntryCount(database.sql),
    key: signer.key,
    pinned: parts.pin,
    // A file that cannot be read counts as one that is not a checkpoint.
    lastSigned: { path, text: await readFileIfPresent(path).catch(() => new Uint8Array(0)) },
    cacheVerifications: () => caches.map((cache) => new EntryCacheVerification(cache, database.sql)),
    projections: parts.projections ?? [],
    contents: parts.contents ?? [],
    schema: () => findAlteredSchema(database.sql, database.migrations),
    databases: [database.path, lookup.path].filter((each) => each !== ':memory:'),
    lookup,
    view: <Value>(read: () => Value): Promise<Value> => database.view(read),
  }
  return verifyStoredLog(stored, options)
}

/**
 * Adds the entries that no signature covers while signing fails. This is not a defect of what is stored, and ends with
 * the next signature.
 */
export function reportSigningOutage(
  report: LogVerificationReport,
  outage: SigningOutage | undefined,
  size: number,
): LogVerificationReport {
  if (outage === undefined || outage.entries <= 0) return report
  const reason = `signing fails (${formatLedgerFault(outage.fault)})`
  const finding = { kind: 'unsigned', from: size - outage.entries, to: size - 1, reason } as const
  return { ...report, findings: [...report.findings, finding] }
}
