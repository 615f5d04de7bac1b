/**
 * Formula: how entries of the ledger become scores, as data. docs/protocols/reputation.md has the same text; with it
 * and an export of the ledger anybody can compute every score again, in whole numbers.
 */
import { hash } from 'node:crypto'
import { canonicalJson } from '../../core/json.ts'

export const REPUTATION_DOMAINS = ['arbitration', 'commissioning', 'execution', 'governance', 'social'] as const
export type ReputationDomain = (typeof REPUTATION_DOMAINS)[number]

/** What one kind of event changes, in basis points for the caller, the device, or the named subject. */
export interface ReputationRule {
  readonly domain: ReputationDomain
  readonly caller?: number
  readonly device?: number
  readonly named?: number
}

/**
 * All numbers but `version` and `epoch_seconds` are basis points or epochs. The bands are those of the original
 * implementation.
 */
export const REPUTATION_FORMULA = {
  version: 2,
  epoch_seconds: 86_400,
  neutral: 5_000,
  ceiling: 10_000,
  gain_per_epoch: 500,
  decay: { arbitration: 1_000, commissioning: 300, execution: 500, governance: 200, social: 400 },
  rules: {
    'call-done': { domain: 'execution', caller: 100, device: 100 },
    'record-done': { domain: 'execution', caller: 20 },
    'call-failed': { domain: 'execution', caller: -20, device: -200 },
    'outcome-unknown': { domain: 'execution', caller: -150, device: -300 },
    'call-malformed': { domain: 'execution', caller: -20 },
    'call-refused': { domain: 'execution', caller: -100 },
    'refusal-repeated': { domain: 'execution', caller: -300 },
    'arrived-later': { domain: 'execution', device: 100 },
    'never-arrived': { domain: 'execution', device: -300 },
    'person-approved': { domain: 'social', caller: 200 },
    'person-denied': { domain: 'social', caller: -1_500 },
    'definition-withheld': { domain: 'commissioning', device: -1_500 },
    'definition-approved': { domain: 'commissioning', device: 500 },
    'decision-made': { domain: 'governance', named: 50 },
    'vote-cast': { domain: 'arbitration', named: 200 },
    'membership-forked': { domain: 'governance', named: -3_000 },
    equivocated: { domain: 'arbitration', named: -10_000 },
  },
  fraud: { rules: ['equivocated'], scar: 5_000, ban_epochs: 100 },
  gates: { max_parallel_tasks: 20, arbitrate: { arbitration: 6_000, execution: 5_000 }, govern: { governance: 5_000 } },
} as const

export type ReputationRuleId = keyof typeof REPUTATION_FORMULA.rules

/** Hex SHA-256 over the canonical JSON (RFC 8785) of the formula. */
export const REPUTATION_FORMULA_HASH: string = hash('sha256', canonicalJson(REPUTATION_FORMULA))
