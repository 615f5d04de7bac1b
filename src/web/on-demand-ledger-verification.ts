/** On-demand ledger verification: one verification of the whole ledger at a time, and its progress. */
import { formatLedgerFinding } from '../ledger/ledger-finding.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { EventFeed } from './event-feed.ts'
import type { VerificationView } from './views.ts'
import { readErrorMessage } from '../core/thrown-error.ts'

export interface OnDemandLedgerVerification {
  readonly state: () => VerificationView | null
  /** Joins the running one, if there is one. */
  readonly start: () => VerificationView
}

/** Progress is for people, who cannot see more frequent updates. */
const TELL_EVERY_MS = 100

export function createOnDemandLedgerVerification(
  ledger: Pick<Ledger, 'verify' | 'size'>,
  feed: EventFeed,
): OnDemandLedgerVerification {
  let state: VerificationView | null = null

  const tell = (next: VerificationView): VerificationView => {
    state = next
    feed.publish('verification', next)
    return next
  }

  const run = async (begun: VerificationView): Promise<void> => {
    let toldMs = 0
    try {
      const report = await ledger.verify({
        onProgress: (checked, size) => {
          const nowMs = Date.now()
          if (nowMs - toldMs < TELL_EVERY_MS) return
          toldMs = nowMs
          tell({ ...begun, checked, size })
        },
      })
      const more = report.more > 0 ? [`… and ${report.more} more.`] : []
      const findings = [...report.findings.map(formatLedgerFinding), ...more]
      tell({ ...begun, running: false, checked: report.size, size: report.size, endedAtMs: Date.now(), findings })
    } catch (error) {
      const reason = readErrorMessage(error)
      tell({ ...begun, running: false, endedAtMs: Date.now(), findings: [`It could not be finished: ${reason}`] })
    }
  }

  return {
    state: () => state,
    start: () => {
      if (state?.running === true) return state
      const begun = tell({
        running: true,
        checked: 0,
        size: ledger.size(),
        startedAtMs: Date.now(),
        endedAtMs: null,
        findings: [],
      })
      void run(begun)
      return begun
    },
  }
}
