/**
 * Decision signing: signs soon what decides. Entries that no signature covers can be cut off after a crash: of calls that
 * were only looked at that may be a minute's, but not an emergency stop, a revocation or the use of an approval.
 *
 * Pure: the ledger does the writing.
 */
import type { Ledger } from '../ledger/ledger.ts'

/** How often the job checks whether something must be signed. */
export const DECISION_SIGNING_INTERVAL_MS = 1_000

/** Returns a job that does nothing as long as only entries that decide nothing are unsigned. */
export function createDecisionCheckpointJob(ledger: Ledger): () => Promise<void> {
  return async () => {
    // What fails is tried again, and reported, by the retry (signing-retry.ts).
    if (ledger.state().kind === 'refusing' || ledger.signingOutage() !== undefined) return
    const signed = ledger.latestCheckpoint()?.checkpoint.size ?? 0
    if (ledger.projections.newestAppended >= signed) await ledger.checkpoint()
  }
}
