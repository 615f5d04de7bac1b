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
const PUBLISH_EVERY_MS = 100

export function createOnDemandLedgerVerification(
  ledger: Pick<Ledger, 'verify' | 'size'>,
  feed: EventFeed,
): OnDemandLedgerVerification {
  let state: VerificationView | null = null

  const publishState = (next: VerificationView): VerificationView => {
    state = next
    feed.publish('verification', next)
    return next
  }

  const run = async (begun: VerificationView): Promise<void> => {
    let publishedMs = 0
    try {
      const report = await ledger.verify({
        onProgress: (checked, size) => {
          const nowMs = Date.now()
          if (nowMs - publishedMs < PUBLISH_EVERY_MS) return
          publishedMs = nowMs
          publishState({ ...begun, checked, size })
        },
      })
      const more = report.more > 0 ? [`… and ${report.more} more.`] : []
      const findings = [...report.findings.map(formatLedgerFinding), ...more]
      publishState({
        ...begun,
        running: false,
        checked: report.size,
        size: report.size,
        endedAtMs: Date.now(),
        findings,
      })
    } catch (error) {
      const reason = readErrorMessage(error)
      publishState({
        ...begun,
        running: false,
        endedAtMs: Date.now(),
        findings: [`It could not be finished: ${reason}`],
      })
    }
  }

  return {
    state: () => state,
    start: () => {
      if (state?.running === true) return state
      const begun = publishState({
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
