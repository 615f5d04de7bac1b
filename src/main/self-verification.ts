/**
 * Self-verification: a node reads all of its ledger again, at least once a day, and records what it found.
 *
 * It takes a few per cent of one processor: after each bundle of entries it pauses for a multiple of the time that the
 * bundle took. Its findings are in the ledger's state, which health, doctor and console show, and are recorded in the
 * ledger itself. In between, it checks some randomly drawn entries every hour, and records the proof that it did not
 * choose them.
 */
import type { Clock } from '../core/clock.ts'
import type { Logger } from '../core/logger.ts'
import { formatLedgerFinding } from '../ledger/ledger-finding.ts'
import type { RandomDrawKey } from '../ledger/random-draw.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { recordLedgerSample, verifyLedgerSample } from '../ledger/ledger-sample.ts'

export const SELF_VERIFICATION_INTERVAL_MS = 12 * 60 * 60 * 1_000
export const LEDGER_SAMPLE_INTERVAL_MS = 60 * 60 * 1_000
const SHARE = 0.03
const MAX_RECORDED_FINDINGS = 5

export interface SelfVerificationDependencies {
  readonly ledger: Ledger
  readonly clock: Clock
  readonly logger: Logger
  readonly signal: AbortSignal
}

/** One run over the whole ledger. */
export async function verifyOwnLedger({ ledger, clock, logger, signal }: SelfVerificationDependencies): Promise<void> {
  if (ledger.state().kind === 'refusing') return
  const beganMs = clock.monotonic()
  const { size, findings, more } = await ledger.verify({ share: SHARE, signal })
  const sentences = findings.map(formatLedgerFinding)
  if (sentences.length > 0) logger.error({ findings: sentences }, 'the ledger is not what was recorded')
  const found = findings.length + more
  const seconds = Math.round((clock.monotonic() - beganMs) / 1_000)
  // The sentences may contain names, which must be erasable.
  const body = sentences.length === 0 ? undefined : { findings: sentences.slice(0, MAX_RECORDED_FINDINGS) }
  await ledger.append({ kind: 'ledger.verified', size, findings: found, seconds }, body)
}

/** One look at some entries. A finding leads to a look at all of them, which is what changes the state of the ledger. */
export async function verifyAndRecordOwnLedgerSample(
  parts: SelfVerificationDependencies & { readonly draws: RandomDrawKey },
): Promise<void> {
  const { ledger, logger, draws } = parts
  if (ledger.state().kind === 'refusing') return
  const report = await verifyLedgerSample(ledger, draws)
  if (report === undefined) return
  const { findings } = report
  await recordLedgerSample(ledger, report)
  if (findings.length === 0) return
  logger.error({ findings }, 'entries that were drawn are not what was signed')
  await verifyOwnLedger(parts)
}
