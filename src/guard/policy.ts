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
import type { Caller } from '../bus/call.ts'
import { EFFECTS } from '../bus/capability.ts'
import type { Assessment, Effect, Offer } from '../bus/capability.ts'
import type { Reason } from '../core/fault.ts'
import { callerReasons, isEffect } from './caller-rights.ts'
import type { LimitVerdict } from './limits.ts'
import { matches } from './pattern.ts'

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
