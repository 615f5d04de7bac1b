/** Guard config: what the guard must be configured with. Defaults are in the configuration's own schema. */
import type { Caller } from '../bus/call.ts'
import type { Offer } from '../bus/capability.ts'
import type { ApprovalsConfig } from './approval-service.ts'
import { computeJsonSha256 } from './call-binding.ts'
import type { PreparedChangesConfig } from './prepared-changes-store.ts'
import type { IdempotencyKeysConfig } from './idempotency-key-store.ts'
import type { GuardLimitsConfig } from './limits.ts'
import { isGuardMode, explainOwnerRuleFlaw } from './policy.ts'
import type { GuardMode, OwnerRule } from './policy.ts'

export interface GuardConfig {
  readonly mode: GuardMode
  readonly ownerRules: readonly OwnerRule[]
  /** A digest of the families' own rules (allow lists, gates): when it changes, open approvals and grants are void. */
  readonly familyRules?: string
  readonly limits: GuardLimitsConfig
  readonly approvals: ApprovalsConfig
  readonly changes: PreparedChangesConfig
  readonly keys: IdempotencyKeysConfig
  /** Whether a profile includes a tool. Absent: a credential that is restricted to profiles can call nothing. */
  readonly profileHolds?: (profile: string, offer: Offer) => boolean
  /**
   * Whether a person has to approve each of this caller's changes because of its past behaviour. Absent: no caller is
   * distrusted.
   */
  readonly distrusts?: (caller: Caller) => boolean
}

/** What is wrong with the configuration, as sentences; the node does not start if there are any. */
export function listGuardConfigFlaws(config: GuardConfig): readonly string[] {
  const flaws = config.ownerRules.map(explainOwnerRuleFlaw).filter((flaw) => flaw !== undefined)
  if (!isGuardMode(config.mode)) flaws.push(`${String(config.mode)} is not a mode`)
  const { limits, approvals, changes, keys } = config
  const rates = [limits.calls, ...Object.values(limits.effects)].flatMap(({ perMinute, burst }) => [perMinute, burst])
  const actuators = [limits.actuator, ...(limits.actuators ?? [])].flatMap(({ minIntervalMs, writesPerDay }) => [
    minIntervalMs,
    writesPerDay,
  ])
  const amounts = [
    ...rates,
    ...actuators,
    ...Object.values(approvals),
    ...Object.values(changes),
    ...Object.values(keys),
  ]
  if (amounts.some((amount) => !Number.isFinite(amount) || amount < 0))
    flaws.push('limits, times and numbers of entries are finite and not negative')
  return flaws
}

/** Changes whenever a rule changes under which somebody may have approved a call. */
export function computePolicyVersion({ mode, ownerRules, familyRules }: GuardConfig): string {
  return computeJsonSha256({ mode, ownerRules, familyRules }).slice(0, 16)
}
