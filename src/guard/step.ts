/**
 * Step: the one durable step between a decision and an act.
 *
 *   key reserved ▸ approval or grant used ▸ budget taken ▸ wear of the device counted        all of it, or nothing
 *
 * The decision is made again inside, from what the tables say at that moment: of a hundred calls that were promised
 * the same approval, one finds it there.
 *
 * Pure: the stores do the work.
 */
import type { Call, Outcome } from '../bus/call.ts'
import { callerKey } from '../bus/caller-key.ts'
import type { Assessment, Effect, Offer } from '../bus/capability.ts'
import type { Fault, Reason } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { LedgerRefuses, ledgerFaultBrief } from '../ledger/fork.ts'
import type { ActuatorStore } from './actuators-store.ts'
import type { Approval, OpenCall, ShownCall } from './approval.ts'
import type { ApprovalStore } from './approvals-store.ts'
import { argumentsHash, definitionHash, leafHashes, promiseHash, sha256 } from './binding.ts'
import type { Binding, Leaves } from './binding.ts'
import type { GuardConfig } from './config.ts'
import { holdsTool } from './config.ts'
import type { GrantStore } from './grants-store.ts'
import type { KeyStore, KeyUse } from './keys-store.ts'
import { drivenBy } from './limits.ts'
import type { Act, Limits } from './limits.ts'
import { ownerWord } from './owner-rule.ts'
import { approvalNeeded, decide } from './policy.ts'
import type { ApprovalStanding, Decision, PolicyInput } from './policy.ts'
import { hideSecrets, redactArguments, redactData } from './redact.ts'
import { approvalRequired, denied, repeated, withdrawn } from './refusal.ts'
import { redactText } from './secret-text.ts'
import type { EmergencyStop } from './stop-store.ts'
import type { Transact, Transaction } from './transaction-store.ts'

export interface StepParts {
  readonly config: GuardConfig
  readonly policyVersion: string
  readonly hashKey: Uint8Array
  readonly monotonic: () => number
  readonly transact: Transact
  readonly limits: Limits
  readonly actuators: ActuatorStore
  readonly keys: KeyStore
  readonly approvals: ApprovalStore
  readonly grants: GrantStore
  readonly stop: EmergencyStop
  /** For whoever runs the node: what went wrong where a caller hears only that something did. */
  readonly report: (error: unknown, message: string) => void
}

/** A call with all that the decision needs to know about it. */
export interface Asked {
  readonly call: Call
  readonly offer: Offer
  readonly assessment: Assessment
  /** `undefined`: nobody knows what the call would do. */
  readonly effect: Effect | undefined
  readonly act: Act
}

export type Passed =
  | { readonly kind: 'answer'; readonly outcome: Outcome }
  | { readonly kind: 'rehearse' }
  | {
      readonly kind: 'act'
      readonly effect: Effect
      readonly key: KeyUse | undefined
      readonly yes?: UsedYes | undefined
    }

/** What a person said before, of which the act uses something up. */
export type UsedYes = Extract<ApprovalStanding, { readonly state: 'approved' | 'granted' }>

const MAX_KEY = 512
const MAX_LABEL = 300

export async function takeStep(asked: Asked, parts: StepParts): Promise<Passed> {
  const argsHash = argumentsHash(parts.hashKey, asked.call.body)
  if (argsHash === undefined) return answer(invalid('The arguments hold text that is not valid Unicode.'))
  const key = asked.assessment.idempotencyKey
  if (key !== undefined && (key === '' || key.length > MAX_KEY))
    return answer(invalid(`An idempotency key has 1 to ${MAX_KEY} characters.`))
  try {
    return await parts.transact((transaction) => stepIn(transaction, asked, argsHash, parts))
  } catch (error) {
    // A full disk, or a ledger that refuses: what cannot be recorded is not done.
    parts.report(error, `${asked.offer.name} could not be recorded beforehand`)
    const cause =
      error instanceof LedgerRefuses
        ? ledgerFaultBrief(error.fault)
        : 'This call cannot be recorded (is the disk full?).'
    return answer({ kind: 'internal', message: `${cause} Nothing was tried. \`hearthbus doctor\` says more.` })
  }
}

export function policyInput(
  { call, offer, assessment, act }: Asked,
  { config, limits, stop }: StepParts,
  standing: { readonly approval: ApprovalStanding; readonly repeat: boolean },
): PolicyInput {
  return {
    offer,
    assessment,
    caller: call.caller,
    mode: config.mode,
    stopped: stop.state()?.reason,
    rehearsal: call.rehearsal,
    ownerRules: config.ownerRules,
    inProfile: holdsTool(config, call.caller, offer),
    limits: limits.peek(act),
    ...standing,
  }
}

export function refuse(decision: Decision): Passed {
  if (decision.verdict !== 'deny') throw new Error(`${decision.verdict} is no refusal`)
  return answer(denied(decision))
}

function answer(fault: Fault): Passed {
  return { kind: 'answer', outcome: fail(fault) }
}

function stepIn(transaction: Transaction, asked: Asked, argsHash: string, parts: StepParts): Passed {
  const { call, act } = asked
  const { keys, approvals, grants, limits, actuators } = parts
  // While the step waited for its turn, the caller may have left: then nothing is used up.
  if (call.signal.aborted) return answer(withdrawn(call, parts.monotonic()))
  const key = keyUse(asked, argsHash)
  const keyStanding = key === undefined ? FRESH : keys.standingIn(transaction, key)
  const question = asksPerson(asked, parts) ? questionIn(transaction, asked, argsHash, parts) : undefined
  const approval = question?.standing ?? NOT_ASKED
  const decision = decide(policyInput(asked, parts, { approval, repeat: keyStanding.state !== 'fresh' }))
  if (decision.verdict === 'approval-required' && question !== undefined) {
    const put = putQuestionIn(transaction, asked, question, parts)
    return answer(put.ok ? approvalRequired(put.value, [...decision.reasons, ...question.notes]) : put.fault)
  }
  if (decision.verdict !== 'allow') return refuse(decision)
  if (keyStanding.state !== 'fresh') return { kind: 'answer', outcome: repeated(keyStanding) }
  if (key !== undefined) keys.reserveIn(transaction, key)
  const yes = decision.needsApproval ? yesOf(approval) : undefined
  if (yes !== undefined) (yes.state === 'approved' ? approvals : grants).useIn(transaction, yes.id, call)
  limits.take(act)
  const driven = drivenBy(act)
  if (driven !== undefined) actuators.countIn(transaction, driven)
  return { kind: 'act', effect: decision.effect, key, yes }
}

function yesOf(standing: ApprovalStanding): UsedYes | undefined {
  return standing.state === 'approved' || standing.state === 'granted' ? standing : undefined
}

const FRESH = { state: 'fresh' } as const
const NOT_ASKED = { state: 'none' } as const

/** One exact call as the approvers know it. */
interface Question {
  readonly binding: Binding
  readonly leaves: Leaves | undefined
  readonly standing: ApprovalStanding
  /** Why an earlier yes does not help. */
  readonly notes: readonly Reason[]
}

function asksPerson({ offer, assessment, effect }: Asked, { config }: StepParts): boolean {
  const { target, touches } = assessment
  const word = ownerWord(config.ownerRules, { tool: offer.name, target, touches })
  return effect !== undefined && approvalNeeded(effect, word)
}

function questionIn(transaction: Transaction, asked: Asked, argsHash: string, parts: StepParts): Question {
  const { body } = asked.call
  const binding = bindingOf(asked, argsHash, parts)
  const leaves = leafHashes(parts.hashKey, body)
  const { standing, notes } = parts.approvals.standingIn(transaction, binding, leaves)
  // A grant speaks for a person who has not spoken about this very call, and never against one who has.
  const spoken = standing.state === 'approved' || standing.state === 'denied'
  const grant = spoken ? undefined : parts.grants.findIn(transaction, { binding, body, leaves })
  return { binding, leaves, notes, standing: grant === undefined ? standing : { state: 'granted', id: grant } }
}

function putQuestionIn(
  transaction: Transaction,
  asked: Asked,
  { binding, leaves, standing }: Question,
  { approvals }: StepParts,
): Result<Approval, Fault> {
  const known = standing.state === 'requested' ? approvals.get(standing.id) : undefined
  const open = openCall(asked)
  if (known === undefined) return approvals.requestIn(transaction, { binding, leaves, shown: shownCall(asked), open })
  approvals.remindIn(transaction, known.id, open)
  return ok(known)
}

function keyUse({ call, offer, assessment }: Asked, argsHash: string): KeyUse | undefined {
  if (assessment.idempotencyKey === undefined) return undefined
  return { principal: callerKey(call.caller), capability: offer.name, key: assessment.idempotencyKey, argsHash }
}

function bindingOf({ call, offer, assessment }: Asked, argsHash: string, parts: StepParts): Binding {
  return {
    principal: callerKey(call.caller),
    tool: offer.name,
    argsHash,
    definitionHash: definitionHash(offer),
    target: assessment.target,
    policyVersion: parts.policyVersion,
    // Of what the approver sees: what is hidden from records alone was promised as well.
    promiseHash: promiseHash(parts.hashKey, hideSecrets(assessment.preview ?? {}, [], 'approver') as JsonObject),
  }
}

function shownCall({ call, offer, assessment, effect }: Asked): ShownCall {
  const { caller } = call
  const preview =
    assessment.preview === undefined ? undefined : (redactData(assessment.preview, offer.secrets) as JsonObject)
  const client = caller.kind === 'principal' ? caller.client : undefined
  return {
    title: offer.title,
    effect: effect ?? offer.effect,
    arguments: redactArguments(call.body, offer),
    channel: call.channel,
    traceId: call.traceId,
    ...(assessment.label === undefined ? {} : { label: shortText(assessment.label) }),
    ...(preview === undefined ? {} : { preview, previewHash: sha256(preview) }),
    ...(client === undefined ? {} : { client: shortText(client) }),
  }
}

function openCall({ call, offer, assessment: { preview } }: Asked): OpenCall {
  return {
    arguments: redactArguments(call.body, offer, 'approver'),
    ...(preview === undefined ? {} : { preview: redactData(preview, [], 'approver') as JsonObject }),
  }
}

function shortText(text: string): string {
  return redactText(text.slice(0, MAX_LABEL)).toWellFormed()
}

function invalid(message: string): Fault {
  return { kind: 'invalid-arguments', message }
}
