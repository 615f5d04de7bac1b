/**
 * Guard configuration: the owner's file in the guard's terms.
 */
import { hash } from 'node:crypto'
import type { Offer } from '../bus/capability.ts'
import type { Config } from '../config/schema.ts'
import { canonicalJson } from '../core/json.ts'
import type { GuardConfig } from '../guard/config.ts'
import { findMcpProfile, isOfferInProfile } from '../mcp/profile.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

export function toGuardConfig(config: Config): GuardConfig {
  const { guard } = config
  const openMs = guard.approvalMinutes * MINUTE_MS
  // A minute's budget may be used at once: agents act in bursts, and the actuator limit protects each device.
  const writes = { perMinute: guard.writesPerMinute, burst: guard.writesPerMinute }
  return {
    mode: config.mode,
    ownerRules: guard.rules,
    familyRules: familyRules(config),
    limits: {
      calls: { perMinute: guard.callsPerMinute, burst: guard.callsPerMinute },
      effects: { writes, sensitive: writes, admin: writes },
      actuator: { minIntervalMs: guard.actuatorIntervalMs, writesPerDay: guard.actuatorWritesPerDay },
      // Callers and devices whose recent use is remembered; more than a house has, fewer than a flood could invent.
      maxTracked: 10_000,
      maxRestWaitMs: guard.actuatorWaitMs,
    },
    approvals: {
      // A person has as long to decide as the caller has to use the approval.
      openMs,
      useMs: openMs,
      disputeMs: guard.disputeHours * HOUR_MS,
      maxOpen: guard.maxPendingApprovals,
      maxOpenPerPrincipal: guard.maxPendingPerPrincipal,
    },
    changes: {
      maxPrepared: config.homeseer.changeTokenEntries,
      // An eighth, so that one caller that prepares changes and never commits leaves room for seven others.
      maxPreparedPerPrincipal: Math.ceil(config.homeseer.changeTokenEntries / 8),
    },
    keys: {
      ttlMs: guard.idempotencyHours * HOUR_MS,
      maxKeys: 20_000,
      maxKeysPerPrincipal: 5_000,
      // Longer answers are not stored; a repetition of their call is refused with that reason.
      maxOutcomeBytes: 65_536,
    },
    profileHolds: (profile, offer) =>
      createProfileMembershipTest(config, new Set([offer.family.name]))(profile, offer) ?? false,
  }
}

/** The families' gates and lists: approvals were given under these rules. */
function familyRules({ homeseer }: Config): string {
  const { safeMode, requireConfirm, defaultDryRun, allow, admin } = homeseer
  return hash('sha256', canonicalJson({ homeseer: { safeMode, requireConfirm, defaultDryRun, allow, admin } }))
}

/** Whether a profile includes a tool; `undefined` when there is no such profile. */
export function createProfileMembershipTest(
  config: Config,
  familyNames: ReadonlySet<string>,
): (name: string, offer: Offer) => boolean | undefined {
  return (name, offer) => {
    const profile = findMcpProfile(name, config.profiles, familyNames)
    return profile === undefined ? undefined : isOfferInProfile(offer, profile)
  }
}
