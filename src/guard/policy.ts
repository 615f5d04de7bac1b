/**
 * Policy: one decision about one call, from facts that were gathered before. Every reason is given at once, so that
 * whoever asks can put all of it right in one go.
 *
 *   deny ◀─ any reason ─ facts ─ none ─▶ dry run? ─▶ rehearse
 *                                          │ no
 *                                          ▼
 *                     approval-required ◀─ sensitive and not approved ─▶ allow
 *
 * Nothing fails open: a value that is not known here is a reason to refuse.
 *
 * Pure.
 */
import type { Caller, Role, TrustLevel } from '../bus/call.ts'
import { EFFECTS } from '../bus/capability.ts'
import type { Assessment, Effect, Offer, CapabilityDescriptor } from '../bus/capability.ts'
import type { Reason } from '../core/fault.ts'
import type { LimitVerdict } from './limits.ts'
import { matches, matchesAny } from './pattern.ts'
import type { GuardConfig } from './config.ts'

/** Whether this node changes anything at all. The owner sets it in the configuration; no argument does. */
export type Mode = 'full' | 'readonly'

const MODES: readonly Mode[] = ['full', 'readonly']

export function isMode(value: unknown): value is Mode {
  return MODES.some((mode) => mode === value)
}

export interface PolicyInput {
  readonly offer: Pick<Offer, 'name' | 'effect' | 'trustRequired'>
  readonly assessment: Assessment
  readonly caller: Caller
  readonly mode: Mode
  /** Why everything was stopped, or `undefined` while it is not. */
  readonly stopped: string | undefined
  /** The call came in as part of a rehearsal: it must not act, whatever its own arguments say. */
  readonly rehearsal: boolean
  readonly ownerRules: readonly OwnerRule[]
  readonly inProfile: boolean
  readonly limits: LimitVerdict
  readonly approval: ApprovalStanding
  /** The same key was let through before: nothing will act, so neither budget nor approval is asked for. */
  readonly repeat: boolean
}

/** How this exact call stands with the approvers. */
export type ApprovalStanding =
  | { readonly state: 'none' }
  | { readonly state: 'requested'; readonly id: string }
  | { readonly state: 'approved'; readonly id: string }
  /** Covered by a bounded grant. */
  | { readonly state: 'granted'; readonly id: string }
  | { readonly state: 'denied'; readonly id: string; readonly why: string }

export type Decision =
  | { readonly verdict: 'allow'; readonly effect: Effect; readonly needsApproval: boolean }
  | { readonly verdict: 'rehearse' }
  | {
      readonly verdict: 'deny'
      readonly reasons: readonly Reason[]
      /** Set when waiting is all it takes: no reason but a limit. */
      readonly retryAfterMs?: number
    }
  | { readonly verdict: 'approval-required'; readonly reasons: readonly Reason[] }

const MAX_TARGET = 512

export function decide(input: PolicyInput): Decision {
  const { offer, assessment } = input
  const effect = effectOf(offer.effect, assessment.effect)
  if (effect === undefined) return { verdict: 'deny', reasons: [unknownEffect(offer.effect, assessment.effect)] }
  const { target, touches, mayTouch } = assessment
  const word = ownerWord(input.ownerRules, { tool: offer.name, target, touches, mayTouch })
  const standing = {
    effect,
    trustRequired: offer.trustRequired,
    target,
    reached: [...(touches ?? []), ...(mayTouch ?? [])],
    inProfile: input.inProfile,
  }
  const reasons = [
    ...assessmentReasons(input, effect),
    ...callerReasons(input.caller, standing),
    ...modeReasons(input, effect),
    ...ownerReasons(word),
    ...assessment.reasons,
  ]
  const dryRun = assessment.dryRun === true
  // A plan wears nothing out, so a device that rests may be planned for.
  const limited = input.repeat || dryRun || input.limits.ok ? [] : input.limits.reasons
  const needsApproval = !dryRun && !input.repeat && approvalNeeded(effect, word)
  if (needsApproval) reasons.push(...approvalReasons(input.approval))
  if (reasons.length > 0) return { verdict: 'deny', reasons: [...reasons, ...limited] }
  // A person is asked before any budget is: an approval that waits for a quiet minute is still worth having.
  if (needsApproval && !isApproved(input.approval))
    return {
      verdict: 'approval-required',
      reasons: [{ rule: 'approval', message: `A person has to approve ${assessment.label ?? offer.name} first.` }],
    }
  if (!input.limits.ok && limited.length > 0)
    return { verdict: 'deny', reasons: limited, retryAfterMs: input.limits.retryAfterMs }
  return dryRun ? { verdict: 'rehearse' } : { verdict: 'allow', effect, needsApproval }
}

/**
 * The effect that counts: what the family says this very call would do. Two limits hold. What is declared to read was
 * shown to models as harmless and may do nothing else; what is declared admin stays so, whatever the arguments claim.
 */
export function effectOf(declared: Effect, assessed: Effect): Effect | undefined {
  if (!isEffect(declared) || !isEffect(assessed)) return undefined
  if (declared === 'reads' && assessed !== 'reads') return undefined
  if (declared === 'admin' && EFFECTS.indexOf(assessed) < EFFECTS.indexOf('sensitive')) return 'admin'
  return assessed
}

export function approvalNeeded(effect: Effect, word: OwnerWord | undefined): boolean {
  if (effect === 'reads' || effect === 'records') return false
  if (word === 'ask') return true
  return effect === 'sensitive' && word !== 'trust'
}

function unknownEffect(declared: Effect, assessed: Effect): Reason {
  if (declared === 'reads' && isEffect(assessed))
    return { rule: 'effect', message: `This tool is declared to read, and this call ${assessed}.` }
  return { rule: 'effect', message: 'Nobody knows what this call would do.' }
}

function assessmentReasons({ assessment, rehearsal }: PolicyInput, effect: Effect): readonly Reason[] {
  const { dryRun, target } = assessment
  // It names rows and ledger fields, and part of it may come from an argument.
  if (target !== undefined && (target.length > MAX_TARGET || !target.isWellFormed()))
    return [{ rule: 'target', message: 'This is no name of a device.' }]
  if (dryRun !== undefined && typeof dryRun !== 'boolean')
    return [{ rule: 'dry-run', message: 'Nobody knows whether this is a dry run.' }]
  // A handler whose arguments do not say that it is a dry run might act.
  if (rehearsal && dryRun !== true && effect !== 'reads')
    return [{ rule: 'rehearsal', message: 'This tool cannot be rehearsed.' }]
  return []
}

function modeReasons({ mode, stopped, assessment }: PolicyInput, effect: Effect): readonly Reason[] {
  if (!isMode(mode)) return [{ rule: 'mode', message: 'This node does not know its mode.' }]
  // A plan changes nothing, so it may be made at any time.
  if (effect === 'reads' || assessment.dryRun === true) return []
  const reasons: Reason[] = []
  if (mode === 'readonly') reasons.push({ rule: 'mode', message: 'This node is in read-only mode.' })
  if (stopped !== undefined) reasons.push({ rule: 'emergency-stop', message: `Everything is stopped: ${stopped}` })
  return reasons
}

function ownerReasons(word: OwnerWord | undefined): readonly Reason[] {
  return word === 'forbid' ? [{ rule: 'owner', message: 'The owner has forbidden this.' }] : []
}

function approvalReasons(approval: ApprovalStanding): readonly Reason[] {
  switch (approval.state) {
    case 'denied':
      return [{ rule: 'approval-denied', message: `A person said no to this call: ${approval.why}` }]
    case 'none':
    case 'requested':
    case 'approved':
    case 'granted':
      return []
    default:
      return [{ rule: 'approval', message: 'Nobody knows whether this call was approved.' }]
  }
}

function isApproved(approval: ApprovalStanding): boolean {
  return approval.state === 'approved' || approval.state === 'granted'
}

// Owner rule: what the owner decided beforehand in the configuration, per tool or device. No argument reaches it.
//
//   trust   a sensitive call needs no approval
//   ask     a change needs approval, sensitive or not
//   forbid  never

export interface OwnerRule {
  /** A tool name or the beginning of one followed by `*`. */
  readonly tool?: string
  /** A device as assessments name it, or the beginning of one followed by `*`. */
  readonly target?: string
  readonly says: OwnerWord
}

export type OwnerWord = 'trust' | 'ask' | 'forbid'

/** The strictest word wins, so that the order of the rules cannot open anything. */
const STRICTEST_FIRST: readonly OwnerWord[] = ['forbid', 'ask', 'trust']

/** One call, as rules name it. */
export interface RuledCall {
  readonly tool: string
  readonly target: string | undefined
  /** Devices that it reaches beside its target, or might. */
  readonly touches?: readonly string[] | undefined
  readonly mayTouch?: readonly string[] | undefined
}

/** `undefined`: the owner said nothing about this. A word that nobody knows counts as `forbid`. */
export function ownerWord(
  rules: readonly OwnerRule[],
  { tool, target, touches = [], mayTouch = [] }: RuledCall,
): OwnerWord | undefined {
  const words = [
    ...wordsAbout(rules, tool, target),
    // Trust in a lamp is no trust in whatever else switches it.
    ...[...touches, ...mayTouch]
      .flatMap((device) => wordsAbout(rules, tool, device))
      .filter((word) => word !== 'trust'),
  ]
  if (words.some((word) => !STRICTEST_FIRST.includes(word))) return 'forbid'
  return STRICTEST_FIRST.find((word) => words.includes(word))
}

function wordsAbout(rules: readonly OwnerRule[], tool: string, target: string | undefined): readonly OwnerWord[] {
  return rules.filter((rule) => applies(rule, tool, target)).map((rule) => rule.says)
}

/** What is wrong with a rule, or `undefined`. The node refuses to start with such a rule. */
export function ownerRuleFlaw(rule: OwnerRule): string | undefined {
  if (!STRICTEST_FIRST.includes(rule.says)) return `the owner's word ${rule.says} means nothing`
  if (rule.tool === undefined && rule.target === undefined) return 'an owner rule names a tool or a target'
  if (rule.says === 'trust' && [rule.tool, rule.target].every((pattern) => pattern === undefined || pattern === '*'))
    return 'an owner rule that trusts everything would leave nothing to approve'
  return undefined
}

function applies(rule: OwnerRule, tool: string, target: string | undefined): boolean {
  if (rule.tool === undefined && rule.target === undefined) return false
  if (rule.tool !== undefined && !matches(rule.tool, tool)) return false
  return rule.target === undefined || (target !== undefined && matches(rule.target, target))
}

// Caller rights: which effects a caller may ever ask for, by role, by trust level, and by what its credential was
// narrowed to. What is not listed here is refused, an unheard-of role or level included.

const ROLE_EFFECTS: Readonly<Record<Role, readonly Effect[]>> = {
  observer: ['reads'],
  // Decides about the acts of others; if it could act itself, it could approve what it asked for under another name.
  approver: ['reads'],
  agent: EFFECTS,
  admin: EFFECTS,
}

/** Spec 2's order; `self` is no level and no peer has it. */
const LEVELS: readonly TrustLevel[] = ['unknown', 'member', 'trusted', 'anchor']

/** What a peer must at least be, however little the capability itself asks for. */
const PEER_FLOOR: Readonly<Record<Effect, TrustLevel>> = {
  reads: 'member',
  records: 'member',
  writes: 'trusted',
  sensitive: 'trusted',
  admin: 'anchor',
}

export function isEffect(value: unknown): value is Effect {
  return EFFECTS.some((effect) => effect === value)
}

export interface Standing {
  readonly effect: Effect
  readonly trustRequired: CapabilityDescriptor['trustRequired']
  /** The actuator, when the call names one. */
  readonly target: string | undefined
  /** Other actuators that the call moves, or might move. */
  readonly reached?: readonly string[]
  /**
   * Whether the tool is in one of the profiles that the credential was narrowed to; `true` when it was not narrowed.
   */
  readonly inProfile: boolean
}

export function callerReasons(caller: Caller, standing: Standing): readonly Reason[] {
  switch (caller.kind) {
    case 'principal':
      return [...roleReasons(caller.role, standing.effect), ...restrictionReasons(caller, standing)]
    case 'peer':
      return peerReasons(caller.level, standing)
    case 'service':
      // Our own code, acting on its own behalf. Acting for somebody, it passes that caller on.
      return []
    default:
      return [{ rule: 'caller', message: 'Nobody knows what kind of caller this is.' }]
  }
}

function roleReasons(role: Role, effect: Effect): readonly Reason[] {
  const may: readonly Effect[] = Object.hasOwn(ROLE_EFFECTS, role) ? ROLE_EFFECTS[role] : []
  if (may.includes(effect)) return []
  return [{ rule: 'role', message: `The role ${role} does not cover what ${effect}.` }]
}

function restrictionReasons(caller: Caller & { readonly kind: 'principal' }, standing: Standing): readonly Reason[] {
  const { effect, target, reached = [], inProfile } = standing
  const { effects, devices, profiles } = caller.restrictions ?? {}
  const reasons: Reason[] = []
  if (effects !== undefined && !effects.includes(effect))
    reasons.push({ rule: 'token-effects', message: `This credential is narrowed to what ${effects.join(', ')}.` })
  if (profiles !== undefined && !inProfile)
    reasons.push({ rule: 'token-profiles', message: 'This tool is in none of the profiles of this credential.' })
  // Reading a list, or writing into our own records, names no device and needs none; acting without one does.
  const actsOnDevices = effect !== 'reads' && effect !== 'records'
  if (devices !== undefined && (target === undefined ? actsOnDevices : !matchesAny(devices, target)))
    reasons.push({ rule: 'token-devices', message: `This credential does not cover ${target ?? 'unnamed devices'}.` })
  // A credential for one lamp is none for what the lamp sets off.
  const beyond = devices === undefined ? undefined : reached.find((each) => !matchesAny(devices, each))
  if (beyond !== undefined)
    reasons.push({ rule: 'token-devices', message: `This credential does not cover ${beyond}, which this reaches.` })
  return reasons
}

function peerReasons(level: TrustLevel, { effect, trustRequired }: Standing): readonly Reason[] {
  if (trustRequired === 'self') return [{ rule: 'trust', message: 'Only this node itself may call this.' }]
  const needed = Math.max(LEVELS.indexOf(trustRequired), LEVELS.indexOf(PEER_FLOOR[effect]))
  // A requirement that nobody has heard of is met by nobody.
  const known = LEVELS.includes(trustRequired) && LEVELS.includes(level)
  if (known && LEVELS.indexOf(level) >= needed) return []
  const wanted = LEVELS[needed] ?? 'anchor'
  return [{ rule: 'trust', message: `A peer must be at least ${wanted} for this; the caller is ${level}.` }]
}

/** Whether the tool is in one of the profiles that the caller's credential was narrowed to, if it was. */
export function holdsTool({ profileHolds }: Pick<GuardConfig, 'profileHolds'>, caller: Caller, offer: Offer): boolean {
  const profiles = caller.kind === 'principal' ? caller.restrictions?.profiles : undefined
  return profiles === undefined || profiles.some((profile) => profileHolds?.(profile, offer) === true)
}
