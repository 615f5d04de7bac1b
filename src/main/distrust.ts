/**
 * Distrust: the guard's question whether a caller has behaved badly, answered from reputation, where the owner wants it.
 *
 * Reads through the ledger.
 */
import type { Caller } from '../bus/call.ts'
import { callerKey } from '../bus/caller.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { callerSubject } from '../runtime/reputation/evidence.ts'
import { REPUTATION_FORMULA } from '../runtime/reputation/formula.ts'
import { Reputation } from '../runtime/reputation/reputation.ts'

/** Its deeds and what people said of them; the other domains are about devices, votes and people. */
const JUDGED = ['execution', 'social'] as const

/** Whether a score of the caller is below the bound. People who administer are not asked about themselves. */
export function createDistrustTest(
  ledger: Pick<Ledger, 'entries' | 'size'>,
  bound: number,
): (caller: Caller) => boolean {
  const reputation = new Reputation(ledger)
  const catchUp = (): void => {
    for (const _ of reputation.catchUp(ledger.size()));
  }
  // Now rather than at the first call: the whole ledger is read once.
  catchUp()
  return (caller) => {
    if (caller.kind === 'service' || (caller.kind === 'principal' && caller.role === 'admin')) return false
    const subject = callerSubject(callerKey(caller))
    if (subject === undefined) return false
    catchUp()
    return JUDGED.some((domain) => (reputation.row(subject, domain)?.score ?? REPUTATION_FORMULA.neutral) < bound)
  }
}
