/**
 * Self-verification: a node reads all of its ledger again, at least once a day, and records what it found.
 *
 * It takes a few per cent of one processor: after each bundle of entries it rests for as many times as long. What it
 * finds is in the state of the ledger, from where health, doctor and console have it, and in the ledger itself.
 *
 * Pure: the ledger does the reading.
 */
import type { Clock } from '../core/clock.ts'
import type { Logger } from '../core/logger.ts'
import { findingSentence } from '../ledger/finding.ts'
import type { Ledger } from '../ledger/ledger.ts'

export const VERIFY_EVERY_MS = 12 * 60 * 60 * 1_000
const SHARE = 0.03
const MAX_RECORDED_FINDINGS = 5

export interface SelfVerificationParts {
  readonly ledger: Pick<Ledger, 'verify' | 'append' | 'state'>
  readonly clock: Clock
  readonly logger: Logger
  readonly signal: AbortSignal
}

/** One run over everything. */
export async function verifySelf({ ledger, clock, logger, signal }: SelfVerificationParts): Promise<void> {
  if (ledger.state().kind === 'refusing') return
  const beganMs = clock.monotonic()
  const { size, findings, more } = await ledger.verify({ share: SHARE, signal })
  const sentences = findings.map(findingSentence)
  if (sentences.length > 0) logger.error({ findings: sentences }, 'the ledger is not what was recorded')
  const found = findings.length + more
  const seconds = Math.round((clock.monotonic() - beganMs) / 1_000)
  // The sentences may have names in them, which can be erased.
  const body = sentences.length === 0 ? undefined : { findings: sentences.slice(0, MAX_RECORDED_FINDINGS) }
  await ledger.append({ kind: 'ledger.verified', size, findings: found, seconds }, body)
}
