/**
 * Low reputation predicate: whether the guard should distrust a caller, from its reputation, where the owner configured
 * it.
 *
 * Reads through the ledger.
 */
import type { Caller } from '../bus/call.ts'
import { toCallerKey } from '../bus/caller.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { toCallerReputationSubject } from '../runtime/reputation/evidence.ts'
import { REPUTATION_FORMULA } from '../runtime/reputation/formula.ts'
import { Reputation } from '../runtime/reputation/reputation.ts'

/**
 * The domains about a caller's own acts and people's opinions of them; the others are about devices, votes and
 * administration.
 */
const JUDGED = ['execution', 'social'] as const

/** Whether a score of the caller is below the bound. Administrators are not asked to approve their own calls. */
export function createLowReputationPredicate(
  ledger: Pick<Ledger, 'entries' | 'size'>,
  bound: number,
): (caller: Caller) => boolean {
  const reputation = new Reputation(ledger)
  const catchUp = (): void => {
    for (const _ of reputation.catchUp(ledger.size()));
  }
  // Reads the whole ledger now rather than at the first call, because this takes long.
  catchUp()
  return (caller) => {
    if (caller.kind === 'service' || (caller.kind === 'principal' && caller.role === 'admin')) return false
    const subject = toCallerReputationSubject(toCallerKey(caller))
    if (subject === undefined) return false
    catchUp()
    return JUDGED.some((domain) => (reputation.row(subject, domain)?.score ?? REPUTATION_FORMULA.neutral) < bound)
  }
}
