/**
 * Config: what the guard must be told. Defaults live in the configuration's own schema.
 */
import type { Caller } from '../bus/call.ts'
import type { Offer } from '../bus/capability.ts'
import type { ApprovalsConfig } from './approvals.ts'
import { sha256OfJson } from './binding.ts'
import type { ChangesConfig } from './changes-store.ts'
import type { KeysConfig } from './idempotency-key-store.ts'
import type { LimitsConfig } from './limits.ts'
import { isGuardMode, explainOwnerRuleFlaw } from './policy.ts'
import type { GuardMode, OwnerRule } from './policy.ts'

export interface GuardConfig {
  readonly mode: GuardMode
  readonly ownerRules: readonly OwnerRule[]
  /** A digest of the families' own rules (allow lists, gates): when it changes, open approvals and grants are void. */
  readonly familyRules?: string
  readonly limits: LimitsConfig
  readonly approvals: ApprovalsConfig
  readonly changes: ChangesConfig
  readonly keys: KeysConfig
  /** Whether a profile holds a tool. Absent: a credential that is narrowed to profiles can call nothing. */
  readonly profileHolds?: (profile: string, offer: Offer) => boolean
  /** Whether a caller has behaved so that a person is asked about each of its changes. Absent: nobody has. */
  readonly distrusts?: (caller: Caller) => boolean
}

/** What is wrong, as sentences; the node does not start with any. */
export function listConfigFlaws(config: GuardConfig): readonly string[] {
  const flaws = config.ownerRules.map(explainOwnerRuleFlaw).filter((flaw) => flaw !== undefined)
  if (!isGuardMode(config.mode)) flaws.push(`${String(config.mode)} is no mode`)
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

/** Changes whenever a rule does under which somebody may have said yes. */
export function computePolicyVersion({ mode, ownerRules, familyRules }: GuardConfig): string {
  return sha256OfJson({ mode, ownerRules, familyRules }).slice(0, 16)
}
