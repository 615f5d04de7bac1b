/**
 * Arbitration contest: one initiator's attempt to get the bus, derived from the symbols on the wire.
 *
 *   SYN ▸ own address ▸ ┬ own address back ────────────▶ won
 *                       ├ other, and it goes on ───────▶ lost to it
 *                       └ other, then SYN: nobody won ─▶ second round, ours if the other is of our class
 *
 * A loss is only reported once a symbol has followed the winner's address, because a second round may change the winner
 * until then.
 *
 * Pure, but for the contest it is given.
 */
import { isInitiatorAddress } from './address.ts'
import { computeArbitrationVerdict } from './arbitration.ts'
import { SYN } from './symbol.ts'

export interface ArbitrationContest {
  /** The requested address; `undefined` when the bus is not requested. */
  wanted: number | undefined
  state: 'none' | 'sent' | 'tied' | 'behind'
  /** The address that was read instead of ours. */
  seen: number
  /** Symbols since the last SYN. */
  position: number
}

export interface ContestStep {
  /** Whether to send the requested address at once, if nothing else forbids it. Only ever true after a SYN. */
  readonly mayCompete: boolean
  /** Whether a second round is due: it is for those who tied, whatever the lock counter. */
  readonly mustCompete: boolean
  readonly outcome: 'none' | 'won' | 'lost'
  /** The address that owns the bus after a loss. */
  readonly winner: number
  /** This symbol was an address of the contest, so the requester does not get it as a symbol. */
  readonly hidden: boolean
}

const NOTHING: ContestStep = { mayCompete: false, mustCompete: false, outcome: 'none', winner: 0, hidden: false }

export function newArbitrationContest(): ArbitrationContest {
  return { wanted: undefined, state: 'none', seen: 0, position: 0 }
}

/** Our address is sent now. */
export function recordAddressSent(contest: ArbitrationContest): void {
  contest.state = 'sent'
}

export function abandonArbitrationContest(contest: ArbitrationContest): void {
  contest.wanted = undefined
  contest.state = 'none'
}

/** Processes one symbol. After `won` and `lost` the contest is over and the bus is no longer requested. */
export function stepArbitrationContest(contest: ArbitrationContest, symbol: number): ContestStep {
  const { position, state, wanted } = contest
  contest.position = symbol === SYN ? 0 : position + 1
  if (symbol === SYN) return onSyn(contest, position)
  if (state === 'sent' && wanted !== undefined) {
    const verdict = computeArbitrationVerdict(wanted, symbol)
    if (verdict === 'won') {
      abandonArbitrationContest(contest)
      return { ...NOTHING, outcome: 'won', hidden: true }
    }
    contest.state = verdict === 'second-round' ? 'tied' : 'behind'
    contest.seen = symbol
    return { ...NOTHING, hidden: true }
  }
  if (state !== 'tied' && state !== 'behind') return NOTHING
  if (position > 0) return lost(contest)
  // A second round in which we do not take part.
  contest.state = 'behind'
  contest.seen = isInitiatorAddress(symbol) ? symbol : contest.seen
  return { ...NOTHING, hidden: true }
}

function onSyn(contest: ArbitrationContest, position: number): ContestStep {
  const { state, wanted } = contest
  // The winner sent nothing else: the result is final all the same.
  if ((state === 'tied' || state === 'behind') && position === 0) return lost(contest)
  if (state === 'tied') return { ...NOTHING, mustCompete: true }
  if (state === 'behind') return NOTHING
  contest.state = 'none'
  // A SYN after a single address opens a second round, which is not for us.
  return { ...NOTHING, mayCompete: wanted !== undefined && position !== 1 }
}

function lost(contest: ArbitrationContest): ContestStep {
  const winner = contest.seen
  abandonArbitrationContest(contest)
  return { ...NOTHING, outcome: 'lost', winner }
}
