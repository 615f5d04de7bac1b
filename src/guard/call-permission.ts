/**
 * Call permission: which effects a caller may ever ask for, by role, by trust level, and by what its credential is
 * restricted to. What is not listed here is refused, an unknown role or level included.
 */
import type { Caller, PrincipalRole, TrustLevel } from '../bus/call.ts'
import { EFFECTS } from '../bus/capability.ts'
import type { CapabilityDescriptor, Effect, Offer } from '../bus/capability.ts'
import type { PolicyReason } from '../core/fault.ts'
import type { GuardConfig } from './config.ts'
import { matchesAnyPattern } from './name-pattern.ts'

const ROLE_EFFECTS: Readonly<Record<PrincipalRole, readonly Effect[]>> = {
  observer: ['reads'],
  // An approver decides about other callers' changes. If it could make changes itself, it could approve what it
  // requested under another name.
  approver: ['reads'],
  agent: EFFECTS,
  admin: EFFECTS,
}

/** Spec 2's order; `self` is not a level, and no peer has it. */
const LEVELS: readonly TrustLevel[] = ['unknown', 'member', 'trusted', 'anchor']

/** The least trust level for a peer, however little the capability itself demands. */
const PEER_FLOOR: Readonly<Record<Effect, TrustLevel>> = {
  reads: 'member',
  records: 'member',
  writes: 'trusted',
  sensitive: 'trusted',
  admin: 'anchor',
}

export function isEffectName(value: unknown): value is Effect {
  return EFFECTS.some((effect) => effect === value)
}

export interface CallPermissionFacts {
  readonly effect: Effect
  readonly trustRequired: CapabilityDescriptor['trustRequired']
  /** The actuator, when the call names one. */
  readonly target: string | undefined
  /** Other actuators that the call moves, or might move. */
  readonly reached?: readonly string[]
  /**
   * Whether the tool is in one of the profiles that the credential is restricted to; true without such a restriction.
   */
  readonly inProfile: boolean
  readonly forApprovers?: boolean | undefined
}

export function listCallerRefusalReasons(caller: Caller, standing: CallPermissionFacts): readonly PolicyReason[] {
  switch (caller.kind) {
    case 'principal':
      return [...roleReasons(caller.role, standing), ...restrictionReasons(caller, standing)]
    case 'peer':
      return peerReasons(caller.level, standing)
    case 'service':
      // A service of this node acts on its own behalf here; when it acts for a caller, it passes that caller on.
      return []
    default:
      return [{ rule: 'caller', message: 'It is not known what kind of caller this is.' }]
  }
}

function roleReasons(
  role: PrincipalRole,
  { effect, forApprovers = false }: CallPermissionFacts,
): readonly PolicyReason[] {
  // Approvers may also vote, which is a decision and acts on nothing.
  if (role === 'approver' && forApprovers && effect === 'records') return []
  const may: readonly Effect[] = Object.hasOwn(ROLE_EFFECTS, role) ? ROLE_EFFECTS[role] : []
  if (may.includes(effect)) return []
  return [{ rule: 'role', message: `The role ${role} does not cover the effect ${effect}.` }]
}

function restrictionReasons(
  caller: Caller & { readonly kind: 'principal' },
  standing: CallPermissionFacts,
): readonly PolicyReason[] {
  const { effect, target, reached = [], inProfile } = standing
  const { effects, devices, profiles } = caller.restrictions ?? {}
  const reasons: PolicyReason[] = []
  if (effects !== undefined && !effects.includes(effect))
    reasons.push({
      rule: 'token-effects',
      message: `This credential is narrowed to the effects ${effects.join(', ')}.`,
    })
  if (profiles !== undefined && !inProfile)
    reasons.push({ rule: 'token-profiles', message: 'This tool is in none of the profiles of this credential.' })
  // Effects other than reading a list or writing our own records concern devices.
  const actsOnDevices = effect !== 'reads' && effect !== 'records'
  if (devices !== undefined && (target === undefined ? actsOnDevices : !matchesAnyPattern(devices, target)))
    reasons.push({ rule: 'token-devices', message: `This credential does not cover ${target ?? 'unnamed devices'}.` })
  // A credential for one lamp does not cover what the lamp triggers.
  const beyond = devices === undefined ? undefined : reached.find((each) => !matchesAnyPattern(devices, each))
  if (beyond !== undefined)
    reasons.push({ rule: 'token-devices', message: `This credential does not cover ${beyond}, which this reaches.` })
  return reasons
}

function peerReasons(level: TrustLevel, { effect, trustRequired }: CallPermissionFacts): readonly PolicyReason[] {
  if (trustRequired === 'self') return [{ rule: 'trust', message: 'Only this node itself may call this.' }]
  const needed = Math.max(LEVELS.indexOf(trustRequired), LEVELS.indexOf(PEER_FLOOR[effect]))
  // No caller meets an unknown requirement.
  if (LEVELS.includes(trustRequired) && LEVELS.indexOf(level) >= needed) return []
  const wanted = LEVELS[needed] ?? 'anchor'
  return [{ rule: 'trust', message: `A peer must be at least ${wanted} for this; the caller is ${level}.` }]
}

/**
 * Whether the tool is in one of the profiles that the caller's credential is restricted to; true without such a
 * restriction.
 */
export function isToolInCallerProfiles(
  { profileHolds }: Pick<GuardConfig, 'profileHolds'>,
  caller: Caller,
  offer: Offer,
): boolean {
  const profiles = caller.kind === 'principal' ? caller.restrictions?.profiles : undefined
  return profiles === undefined || profiles.some((profile) => profileHolds?.(profile, offer) === true)
}
