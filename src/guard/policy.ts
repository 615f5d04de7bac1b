/**
 * Policy: one decision about one call, from facts that were gathered before. Every reason is given at once, so that the
 * caller can correct all of them at once.
 *
 *   deny ◀─ any reason ─ facts ─ none ─▶ dry run? ─▶ rehearse
 *                                          │ no
 *                                          ▼
 *                     approval-required ◀─ sensitive and not approved ─▶ allow
 *
 * Nothing fails open: a value that is not known here is a reason to refuse.
 */
import type { Caller } from '../bus/call.ts'
import { EFFECTS } from '../bus/capability.ts'
import type { CallAssessment, Effect, Offer } from '../bus/capability.ts'
import type { PolicyReason } from '../core/fault.ts'
import { listCallerRefusalReasons, isEffectName } from './call-permission.ts'
import type { LimitVerdict } from './limits.ts'
import { isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { matchesPattern } from './name-pattern.ts'
import { computeTwoThirdsMajority } from './quorum-round-terms.ts'
import type { QuorumRequirement } from './quorum-voters.ts'

/** Whether this node may change anything at all. Only the owner's configuration sets it, never an argument. */
export type GuardMode = 'full' | 'readonly'

const MODES: readonly GuardMode[] = ['full', 'readonly']

export function isGuardMode(value: unknown): value is GuardMode {
  return MODES.some((mode) => mode === value)
}

export interface PolicyInput {
  readonly offer: Pick<Offer, 'name' | 'effect' | 'trustRequired' | 'forApprovers'>
  readonly assessment: CallAssessment
  readonly caller: Caller
  readonly mode: GuardMode
  /** Why everything was stopped, or `undefined`. */
  readonly stopped: string | undefined
  /** The call came in as part of a rehearsal: it must not act, whatever its own arguments say. */
  readonly rehearsal: boolean
  readonly ownerRules: readonly OwnerRule[]
  readonly inProfile: boolean
  readonly limits: LimitVerdict
  readonly approval: CallApprovalStatus
  /** The call is in an open voting round, whether or not it would need approval. */
  readonly proposed?: boolean
  /** A person has to approve each of this caller's changes because of its past behaviour. */
  readonly isDistrusted?: boolean
  readonly body?: JsonObject
  /** The same key was allowed before: this call will not act, so it needs neither budget nor approval. */
  readonly repeat: boolean
}

/** The status of this exact call with the approvers. */
export type CallApprovalStatus =
  | { readonly state: 'none' }
  | { readonly state: 'requested'; readonly id: string }
  | { readonly state: 'approved'; readonly id: string }
  /** A grant covers the call. */
  | { readonly state: 'granted'; readonly id: string }
  | { readonly state: 'denied'; readonly id: string; readonly why: string }

export type PolicyDecision =
  | { readonly verdict: 'allow'; readonly effect: Effect; readonly needsApproval: boolean }
  | { readonly verdict: 'rehearse' }
  | {
      readonly verdict: 'deny'
      readonly reasons: readonly PolicyReason[]
      /** Set when only a limit stands in the way, so that waiting is enough. */
      readonly retryAfterMs?: number
    }
  | { readonly verdict: 'approval-required'; readonly reasons: readonly PolicyReason[] }

const MAX_TARGET = 512

export function evaluatePolicy(input: PolicyInput): PolicyDecision {
  const { offer, assessment } = input
  const effect = resolveEffectiveEffect(offer.effect, assessment.effect)
  if (effect === undefined) return { verdict: 'deny', reasons: [unknownEffect(offer.effect, assessment.effect)] }
  const { target, touches, mayTouch } = assessment
  const word = findOwnerRuleDecision(input.ownerRules, { ...assessment, tool: offer.name, body: input.body })
  const standing = {
    effect,
    trustRequired: offer.trustRequired,
    target,
    reached: [...(touches ?? []), ...(mayTouch ?? [])],
    inProfile: input.inProfile,
    forApprovers: offer.forApprovers,
  }
  const reasons = [
    ...assessmentReasons(input, effect),
    ...listCallerRefusalReasons(input.caller, standing),
    ...modeReasons(input, effect),
    ...ownerReasons(word),
    ...assessment.reasons,
  ]
  const dryRun = assessment.dryRun === true
  // A dry run wears nothing out, so it is allowed for a device that must rest.
  const limited = input.repeat || dryRun || input.limits.ok ? [] : input.limits.reasons
  const isApprovalRequired = isApprovalNeeded(effect, word, input.isDistrusted) || input.proposed === true
  const needsApproval = !dryRun && !input.repeat && isApprovalRequired
  if (needsApproval) reasons.push(...approvalReasons(input.approval))
  // A call that only lacks arguments is not also refused for a rest that ends before the caller has added them.
  if (reasons.length > 0 && reasons.every(({ argument }) => argument !== undefined)) return { verdict: 'deny', reasons }
  if (reasons.length > 0) return { verdict: 'deny', reasons: [...reasons, ...limited] }
  // A person is asked before any budget is checked: an approval that has to wait for budget is still useful.
  if (needsApproval && !isApproved(input.approval))
    return {
      verdict: 'approval-required',
      reasons: [{ rule: 'approval', message: `${whoApproves(word, input)} ${assessment.label ?? offer.name} first.` }],
    }
  if (!input.limits.ok && limited.length > 0)
    return { verdict: 'deny', reasons: limited, retryAfterMs: input.limits.retryAfterMs }
  return dryRun ? { verdict: 'rehearse' } : { verdict: 'allow', effect, needsApproval }
}

function whoApproves(word: OwnerRuleDecision | undefined, { proposed }: PolicyInput): string {
  return word === 'quorum' || proposed === true ? 'Several have to approve' : 'A person has to approve'
}

/**
 * The effect that counts: the family's assessment of this call, within two limits. A tool that is declared to read was
 * shown to models as harmless and may do nothing else; one that is declared admin stays admin, whatever the arguments
 * claim.
 */
export function resolveEffectiveEffect(declared: Effect, assessed: Effect): Effect | undefined {
  if (!isEffectName(declared) || !isEffectName(assessed)) return undefined
  if (declared === 'reads' && assessed !== 'reads') return undefined
  if (declared === 'admin' && EFFECTS.indexOf(assessed) < EFFECTS.indexOf('sensitive')) return 'admin'
  return assessed
}

/** Distrust only adds an approval: it allows nothing, and not even an owner's rule `trust` removes it. */
export function isApprovalNeeded(effect: Effect, word: OwnerRuleDecision | undefined, isDistrusted = false): boolean {
  if (effect === 'reads' || effect === 'records') return false
  if (isDistrusted) return true
  if (word === 'ask' || word === 'quorum') return true
  return effect === 'sensitive' && word !== 'trust'
}

function unknownEffect(declared: Effect, assessed: Effect): PolicyReason {
  if (declared === 'reads' && isEffectName(assessed))
    return { rule: 'effect', message: `This tool is declared to read, and this call ${assessed}.` }
  return { rule: 'effect', message: 'It is not known what this call would do.' }
}

function assessmentReasons({ assessment, rehearsal }: PolicyInput, effect: Effect): readonly PolicyReason[] {
  const { dryRun, target } = assessment
  // The target names rows and ledger fields, and part of it may come from an argument, so its length and form are
  // checked.
  if (target !== undefined && (target.length > MAX_TARGET || !target.isWellFormed()))
    return [{ rule: 'target', message: 'This is not the name of a device.' }]
  if (dryRun !== undefined && typeof dryRun !== 'boolean')
    return [{ rule: 'dry-run', message: 'It is not known whether this is a dry run.' }]
  // If the arguments do not say that the call is a dry run, its handler might act.
  if (rehearsal && dryRun !== true && effect !== 'reads')
    return [{ rule: 'rehearsal', message: 'This tool does not support dry runs.' }]
  return []
}

function modeReasons({ mode, stopped, assessment }: PolicyInput, effect: Effect): readonly PolicyReason[] {
  if (!isGuardMode(mode)) return [{ rule: 'mode', message: 'The mode of this node is not known.' }]
  // A plan changes nothing, so it may be made at any time.
  if (effect === 'reads' || assessment.dryRun === true) return []
  const reasons: PolicyReason[] = []
  if (mode === 'readonly') reasons.push({ rule: 'mode', message: 'This node is in read-only mode.' })
  if (stopped !== undefined) reasons.push({ rule: 'emergency-stop', message: `Everything is stopped: ${stopped}` })
  return reasons
}

function ownerReasons(word: OwnerRuleDecision | undefined): readonly PolicyReason[] {
  return word === 'forbid' ? [{ rule: 'owner', message: 'The owner has forbidden this.' }] : []
}

function approvalReasons(approval: CallApprovalStatus): readonly PolicyReason[] {
  switch (approval.state) {
    case 'denied':
      return [{ rule: 'approval-denied', message: `A person said no to this call: ${approval.why}` }]
    case 'none':
    case 'requested':
    case 'approved':
    case 'granted':
      return []
    default:
      return [{ rule: 'approval', message: 'It is not known whether this call was approved.' }]
  }
}

function isApproved(approval: CallApprovalStatus): boolean {
  return approval.state === 'approved' || approval.state === 'granted'
}

// Owner rule: what the owner decided in the configuration, per tool or device. No argument can change it.
//
//   trust   a sensitive call needs no approval
//   ask     a change needs approval, sensitive or not
//   quorum  a change needs the approval of several people
//   forbid  never

export interface OwnerRule {
  /** A tool name or the beginning of one followed by `*`. */
  readonly tool?: string
  /** A device as assessments name it, or the beginning of a name followed by `*`. */
  readonly target?: string
  /** Arguments by name, each a value or the beginning of a text followed by `*`. */
  readonly arguments?: Readonly<Record<string, string | number | boolean>>
  readonly says: OwnerRuleDecision
  /** With `quorum`: how many of which voters, and whether one no is decisive. */
  readonly need?: number
  readonly voters?: readonly string[]
  readonly veto?: boolean
}

export type OwnerRuleDecision = 'trust' | 'ask' | 'quorum' | 'forbid'

/** The strictest decision wins, so the order of the rules cannot allow anything. */
const STRICTEST_FIRST: readonly OwnerRuleDecision[] = ['forbid', 'quorum', 'ask', 'trust']

/** One call, in the terms that rules use. */
export interface OwnerRuleSubject {
  readonly tool: string
  readonly target?: string | undefined
  /** Devices that it acts on beside its target, or might. */
  readonly touches?: readonly string[] | undefined
  readonly mayTouch?: readonly string[] | undefined
  readonly body?: JsonObject | undefined
}

/** `undefined` when no rule applies. An unknown decision counts as `forbid`. */
export function findOwnerRuleDecision(
  rules: readonly OwnerRule[],
  { tool, target, touches = [], mayTouch = [], body = {} }: OwnerRuleSubject,
): OwnerRuleDecision | undefined {
  const words = [
    ...wordsAbout(rules, { tool, target, body }),
    // Trusting a lamp does not mean trusting every device that switches it.
    ...[...touches, ...mayTouch]
      .flatMap((device) => wordsAbout(rules, { tool, target: device, body }))
      .filter((word) => word !== 'trust'),
  ]
  if (words.some((word) => !STRICTEST_FIRST.includes(word))) return 'forbid'
  return STRICTEST_FIRST.find((word) => words.includes(word))
}

/** The voters and their number, where a rule says `quorum`. If several rules do, the voters of all of them. */
export function findOwnerRuleQuorum(
  rules: readonly OwnerRule[],
  { tool, target, touches = [], mayTouch = [], body = {} }: OwnerRuleSubject,
): QuorumRequirement | undefined {
  const quorumRules = rules.filter(
    (rule) =>
      rule.says === 'quorum' &&
      [target, ...touches, ...mayTouch].some((device) => applies(rule, { tool, target: device, body })),
  )
  const [first, ...more] = quorumRules
  if (first === undefined || more.length === 0)
    return first && { need: first.need, voters: first.voters, veto: first.veto }
  const voters = [...new Set(quorumRules.flatMap((rule) => rule.voters ?? []))]
  return { need: voters.length, voters, veto: quorumRules.some(({ veto }) => veto === true) }
}

interface NamedCall {
  readonly tool: string
  readonly target: string | undefined
  readonly body: JsonObject
}

function wordsAbout(rules: readonly OwnerRule[], call: NamedCall): readonly OwnerRuleDecision[] {
  return rules.filter((rule) => applies(rule, call)).map((rule) => rule.says)
}

/** What is wrong with a rule, or `undefined`. The node refuses to start with such a rule. */
export function explainOwnerRuleFlaw(rule: OwnerRule): string | undefined {
  if (!STRICTEST_FIRST.includes(rule.says)) return `a rule of the owner says ${rule.says}, which is not a known word`
  if (rule.tool === undefined && rule.target === undefined) return 'an owner rule names a tool or a target'
  const { voters = [], need = computeTwoThirdsMajority(voters.length) } = rule
  if (rule.says === 'quorum' && (new Set(voters).size < voters.length || need < 1 || need > voters.length))
    return `a rule that says quorum names its voters once each, and needs 1 to ${voters.length} of them`
  if (rule.says === 'trust' && rule.arguments !== undefined) return 'trust depends on no argument'
  if (rule.says === 'trust' && [rule.tool, rule.target].every((pattern) => pattern === undefined || pattern === '*'))
    return 'an owner rule that trusts everything would leave nothing to approve'
  return undefined
}

function applies(rule: OwnerRule, { tool, target, body }: NamedCall): boolean {
  if (rule.tool === undefined && rule.target === undefined) return false
  if (!Object.entries(rule.arguments ?? {}).every(([name, wanted]) => hasArgument(body, name, wanted))) return false
  if (rule.tool !== undefined && !matchesPattern(rule.tool, tool)) return false
  return rule.target === undefined || (target !== undefined && matchesPattern(rule.target, target))
}

/**
 * Finds an argument by its name at any depth and in any case, so that a rule cannot be evaded by nesting or capitals.
 */
function hasArgument(value: Json, name: string, wanted: string | number | boolean, isNamed = false): boolean {
  if (Array.isArray(value)) return value.some((each) => hasArgument(each, name, wanted, isNamed))
  if (isJsonObject(value))
    return Object.entries(value).some(([key, each]) => hasArgument(each, name, wanted, isNamed || key === name))
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return isNamed && matchesPattern(String(wanted).toLowerCase(), text.trim().toLowerCase())
}
