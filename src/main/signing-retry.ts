/**
 * Signing retry: a checkpoint that could not be stored is tried again, and the log says when that began and ended.
 * While nothing is signed, somebody with access to the disk could cut off what was recorded.
 *
 * Pure: the ledger does the writing.
 */
import type { Logger } from '../core/logger.ts'
import { formatSigningOutage } from '../ledger/ledger-state.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { SIGNING_FAILED_ENTRY_KIND } from '../ledger/unsigned-tail.ts'

/** How often it is tried again. */
export const SIGNING_RETRY_INTERVAL_MS = 5_000

/** Returns a job that does nothing as long as checkpoints are stored. */
export function createCheckpointSigningRetryJob(ledger: Ledger, logger: Logger): () => Promise<void> {
  let recorded: { readonly signed: number; readonly forMs: number } | undefined
  return async () => {
    const outage = ledger.signingOutage()
    if (ledger.state().kind === 'refusing' || (outage === undefined && recorded === undefined)) return
    if (outage !== undefined) {
      const signed = recorded?.signed ?? ledger.latestCheckpoint()?.checkpoint.size ?? 0
      if (recorded === undefined) {
        const reason = formatSigningOutage(outage)
        logger.error({ reason }, 'no checkpoint can be signed; it is tried again')
        // The sentence contains paths, which may contain names of people.
        await ledger.append({ kind: SIGNING_FAILED_ENTRY_KIND, signed }, { reason })
      }
      recorded = { signed, forMs: outage.forMs }
    }
    const signed = await ledger.checkpoint()
    if (!signed.ok || recorded === undefined) return
    const entries = signed.value.checkpoint.size - recorded.signed
    const seconds = Math.round(recorded.forMs / 1_000)
    recorded = undefined
    await ledger.append({ kind: 'signing.resumed', entries, seconds })
    logger.info({ entries, seconds }, 'checkpoints are signed again')
  }
}
