/**
 * Lock loss detector: notices that the lock of the data directory is no longer under its name, so that a second gateway
 * could start on the same records. The ledger then refuses entries: of two possible writers, the one that has noticed
 * stops.
 */
import type { Logger } from '../core/logger.ts'
import type { ProcessLock } from '../core/process-lock-store.ts'
import { formatLedgerFault } from '../ledger/ledger-state.ts'
import type { LedgerFault } from '../ledger/ledger-state.ts'
import type { Ledger } from '../ledger/ledger.ts'

/** Returns a function to be called periodically. */
export function createLockLossDetector(options: {
  readonly lock: Pick<ProcessLock, 'isInPlace'>
  readonly path: string
  readonly ledger: Pick<Ledger, 'state' | 'refuse'>
  readonly logger: Logger
}): () => Promise<void> {
  const { lock, path, ledger, logger } = options
  return async () => {
    if (ledger.state().kind === 'refusing' || lock.isInPlace()) return
    const fault: LedgerFault = { kind: 'lock-lost', path }
    logger.error({ path }, formatLedgerFault(fault))
    ledger.refuse(fault)
  }
}
