/**
 * Arbitration: who owns the bus when several initiators speak at once, and how long a loser keeps quiet.
 *
 *   SYN ▸ everybody willing sends its address ▸ the wire shows the AND of all
 *   own address read back ▸ won
 *   another one of my class ▸ after the next SYN a second round, for this class alone
 *   another class ▸ lost, wait until the lock counter has run out
 */
import { isInitiatorAddress, computePriorityClass } from './address.ts'

export type ArbitrationVerdict = 'won' | 'second-round' | 'lost'

/** The result that an initiator derives from the symbol on the wire while it sent its address. */
export function computeArbitrationVerdict(own: number, seen: number): ArbitrationVerdict {
  if (seen === own) return 'won'
  return isInitiatorAddress(seen) && computePriorityClass(seen) === computePriorityClass(own) ? 'second-round' : 'lost'
}

/** How many SYN to wait after a turn of one's own, so that a busy initiator cannot keep the bus. */
export const LOCK_SYN_COUNT_AFTER_SEND = 1
const LOCK_SAME_CLASS = 2
const LOCK_NOISE = 1

/** How many SYN to wait after losing to `winner`; `initiators` is how many have been heard on this bus. */
export function computeLockSynCountAfterLoss(own: number, winner: number, initiators: number): number {
  if (!isInitiatorAddress(winner)) return LOCK_NOISE
  if (computePriorityClass(winner) === computePriorityClass(own)) return LOCK_SAME_CLASS
  return Math.max(3, initiators)
}
