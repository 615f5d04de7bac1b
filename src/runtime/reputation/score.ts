/**
 * Score: one subject's score in one domain, and how events and time change it. Whole numbers only.
 *
 *   score ──epoch without activity──▶ nearer to neutral ──event──▶ score + delta, within 0 … ceiling − scar
 */
import { REPUTATION_FORMULA } from './formula.ts'
import type { ReputationDomain, ReputationRuleId } from './formula.ts'

export interface ReputationScore {
  readonly score: number
  readonly scarBps: number
  readonly banUntilEpoch: number
  readonly lastActivityEpoch: number
  /**
   * How much was gained in the epoch of the last activity; limited, so that cheap successes cannot build unlimited
   * trust.
   */
  readonly gained: number
}

export function createNeutralScore(epoch: number): ReputationScore {
  return { score: REPUTATION_FORMULA.neutral, scarBps: 0, banUntilEpoch: 0, lastActivityEpoch: epoch, gained: 0 }
}

/**
 * The score in an epoch: for each epoch since the last activity, the distance from neutral shrinks. A scar does not
 * heal with time: a score that rises towards neutral stays below the ceiling that the scar leaves.
 */
export function computeDecayedScore(
  { score, scarBps, lastActivityEpoch }: ReputationScore,
  domain: ReputationDomain,
  epoch: number,
): number {
  const retained = REPUTATION_FORMULA.ceiling - REPUTATION_FORMULA.decay[domain]
  let distance = Math.abs(score - REPUTATION_FORMULA.neutral)
  for (let passed = epoch - lastActivityEpoch; passed > 0 && distance > 0; passed--)
    distance = Math.floor((distance * retained) / REPUTATION_FORMULA.ceiling)
  const decayed =
    score < REPUTATION_FORMULA.neutral ? REPUTATION_FORMULA.neutral - distance : REPUTATION_FORMULA.neutral + distance
  return Math.min(decayed, REPUTATION_FORMULA.ceiling - scarBps)
}

export interface ReputationChange {
  readonly rule: ReputationRuleId
  readonly domain: ReputationDomain
  readonly delta: number
  readonly epoch: number
}

const FRAUD: ReadonlySet<string> = new Set(REPUTATION_FORMULA.fraud.rules)

/** The score after an event, and how much of its delta counted. */
export function applyReputationChange(
  before: ReputationScore,
  { rule, domain, delta, epoch }: ReputationChange,
): { readonly after: ReputationScore; readonly counted: number } {
  const decayed = computeDecayedScore(before, domain, epoch)
  const gainedBefore = before.lastActivityEpoch === epoch ? before.gained : 0
  const gain = delta > 0 ? Math.min(delta, REPUTATION_FORMULA.gain_per_epoch - gainedBefore) : 0
  const scarBps = FRAUD.has(rule)
    ? Math.min(REPUTATION_FORMULA.ceiling, before.scarBps + REPUTATION_FORMULA.fraud.scar)
    : before.scarBps
  const moved = decayed + (delta > 0 ? gain : delta)
  const score = Math.max(0, Math.min(REPUTATION_FORMULA.ceiling - scarBps, moved))
  const banUntilEpoch = FRAUD.has(rule) ? epoch + REPUTATION_FORMULA.fraud.ban_epochs : before.banUntilEpoch
  return {
    after: { score, scarBps, banUntilEpoch, lastActivityEpoch: epoch, gained: gainedBefore + gain },
    counted: score - decayed,
  }
}

export interface ReputationGates {
  readonly max_parallel_tasks: number
  readonly rate_limit_bonus: number
  readonly stake_discount_bps: number
  readonly can_arbitrate: boolean
  readonly can_govern: boolean
}

/** The gates, computed from the decayed scores of all domains; a domain without events has the neutral score. */
export function computeReputationGates(
  scores: Readonly<Record<ReputationDomain, number>>,
  isBanned: boolean,
): ReputationGates {
  const { gates } = REPUTATION_FORMULA
  const { execution, arbitration, governance } = scores
  return {
    max_parallel_tasks: isBanned ? 0 : Math.min(gates.max_parallel_tasks, integerRoot(execution)),
    rate_limit_bonus: execution < 1 ? 0 : 31 - Math.clz32(execution),
    stake_discount_bps: Math.floor(execution / 2),
    can_arbitrate: !isBanned && arbitration >= gates.arbitrate.arbitration && execution >= gates.arbitrate.execution,
    can_govern: !isBanned && governance >= gates.govern.governance,
  }
}

/** The largest whole number whose square is not larger than the given number. */
function integerRoot(value: number): number {
  const root = Math.floor(Math.sqrt(value))
  // For numbers below 2^53 the square root is off by one at most.
  return root * root > value ? root - 1 : root
}
