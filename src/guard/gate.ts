/**
 * Gate: one call on its way past the guard.
 *
 *   assess ▸ decide ─▶ refused, or asked of a person
 *             ├─▶ rehearsed: no key, approval or budget is touched
 *             └─▶ one durable step { key reserved ▸ approval used ▸ budget taken } ▸ act ▸ what became of it
 *
 * The step is on the disk before the act begins. A crash after it leaves a used approval and an unknown key, never a
 * second act.
 *
 * Pure: stores and bus do the work.
 */
import type { Proceed } from '../bus/admit.ts'
import type { Call, Outcome } from '../bus/call.ts'
import type { Assessment, Effect, Offer } from '../bus/capability.ts'
import type { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { ShownCall } from './approval.ts'
import type { ApprovalStore } from './approvals-store.ts'
import { argumentsHash, definitionHash, leafHashes, promiseHash, sha256 } from './binding.ts'
import type { Binding } from './binding.ts'
import { callerKey } from './caller-rights.ts'
import type { GuardConfig } from './config.ts'
import type { GrantStore } from './grants-store.ts'
import type { KeyStore, KeyUse } from './keys-store.ts'
import type { Act, Limits } from './limits.ts'
import { decide, effectOf } from './policy.ts'
import type { ApprovalStanding, Decision, PolicyInput } from './policy.ts'
import { hideSecrets, redactArguments, redactData, redactText } from './redact.ts'
import { approvalRequired, denied, repeated } from './refusal.ts'
import { settle } from './settle.ts'
import type { EmergencyStop } from './stop-store.ts'
import type { Transact, Transaction } from './transaction-store.ts'

export interface GateParts {
  readonly config: GuardConfig
  readonly policyVersion: string
  readonly hashKey: Uint8Array
  readonly monotonic: () => number
  readonly transact: Transact
  readonly limits: Limits
  readonly keys: KeyStore
  readonly approvals: ApprovalStore
  readonly grants: GrantStore
  readonly stop: EmergencyStop
  /** For whoever runs the node: what went wrong where a caller hears only that something did. */
  readonly report: (error: unknown, message: string) => void
}

export type Around = (call: Call, offer: Offer, proceed: Proceed) => Promise<Outcome>

/** A call with all that the decision needs to know about it. */
interface Asked {
  readonly call: Call
  readonly offer: Offer
  readonly assessment: Assessment
  readonly effect: Effect | undefined
  readonly act: Act
}

type Passed =
  | { readonly kind: 'answer'; readonly outcome: Outcome }
  | { readonly kind: 'rehearse' }
  | { readonly kind: 'act'; readonly effect: Effect; readonly key: KeyUse | undefined }

const MAX_KEY = 512
const MAX_LABEL = 300

export function createGate(parts: GateParts): Around {
  return async (call, offer, proceed) => {
    const arrival = parts.limits.arrive(budgetOf(call))
    if (!arrival.ok) return fail(denied({ verdict: 'deny', ...arrival }))
    const assessed = await assess(call, offer, parts)
    if (!assessed.ok) return assessed
    const assessment = assessed.value
    const effect = effectOf(offer.effect, assessment.effect)
    const act: Act = { caller: budgetOf(call), effect: effect ?? offer.effect, target: assessment.target }
    const passed = await pass({ call, offer, assessment, effect, act }, parts)
    switch (passed.kind) {
      case 'answer':
        return passed.outcome
      case 'rehearse':
        return proceed({ ...call, rehearsal: true })
      default:
        return carryOut(call, proceed, passed, parts)
    }
  }
}

/** Our own services have no budget: nobody outside makes them call more often. */
function budgetOf({ caller }: Call): string | undefined {
  return caller.kind === 'service' ? undefined : callerKey(caller)
}

async function assess(call: Call, offer: Offer, parts: GateParts): Promise<Result<Assessment, Fault>> {
  if (offer.assess === undefined) return ok({ effect: offer.effect, reasons: [] })
  try {
    const assessment = await unlessAborted(offer.assess(call), call.signal)
    if (assessment === undefined) return fail(withdrawn(call, parts))
    if (!Array.isArray(assessment.reasons)) throw new TypeError('an assessment without reasons')
    return ok(assessment)
  } catch (error) {
    // Whoever cannot say what a call would do does not get to do it.
    parts.report(error, `assessing ${offer.name} failed`)
    return fail({ kind: 'internal', message: `What ${offer.name} would do could not be told. Nothing was tried.` })
  }
}

async function pass(asked: Asked, parts: GateParts): Promise<Passed> {
  const { assessment, act, effect } = asked
  const plain = decide(policyInput(asked, parts, { approval: { state: 'none' }, repeat: false }))
  if (plain.verdict === 'rehearse') return { kind: 'rehearse' }
  const keyed = assessment.idempotencyKey !== undefined && effect !== undefined && effect !== 'reads'
  if (keyed) {
    const regardless = decide(policyInput(asked, parts, { approval: { state: 'none' }, repeat: true }))
    if (regardless.verdict !== 'allow') return refuse(plain)
    return takeStep(asked, parts)
  }
  if (plain.verdict === 'approval-required') return takeStep(asked, parts)
  if (plain.verdict !== 'allow') return refuse(plain)
  parts.limits.take(act)
  return { kind: 'act', effect: plain.effect, key: undefined }
}

function refuse(decision: Decision): Passed {
  if (decision.verdict !== 'deny') throw new Error(`${decision.verdict} is no refusal`)
  return { kind: 'answer', outcome: fail(denied(decision)) }
}

function policyInput(
  { call, offer, assessment, act }: Asked,
  { config, limits, stop }: GateParts,
  standing: { readonly approval: ApprovalStanding; readonly repeat: boolean },
): PolicyInput {
  const profiles = call.caller.kind === 'principal' ? call.caller.restrictions?.profiles : undefined
  return {
    offer,
    assessment,
    caller: call.caller,
    mode: config.mode,
    stopped: stop.state()?.reason,
    rehearsal: call.rehearsal,
    ownerRules: config.ownerRules,
    inProfile: profiles === undefined || profiles.some((profile) => config.profileHolds?.(profile, offer) === true),
    limits: limits.peek(act),
    ...standing,
  }
}

/** Everything that is used up by a call is used up together, or not at all. */
async function takeStep(asked: Asked, parts: GateParts): Promise<Passed> {
  const argsHash = argumentsHash(parts.hashKey, asked.call.body)
  if (argsHash === undefined) return answer(invalid('The arguments hold text that is not valid Unicode.'))
  const key = asked.assessment.idempotencyKey
  if (key !== undefined && (key === '' || key.length > MAX_KEY))
    return answer(invalid(`An idempotency key has 1 to ${MAX_KEY} characters.`))
  return parts.transact((transaction) => stepIn(transaction, asked, argsHash, parts))
}

function stepIn(transaction: Transaction, asked: Asked, argsHash: string, parts: GateParts): Passed {
  const { call, act } = asked
  const { keys, approvals, grants, limits } = parts
  // While the step waited for its turn, the caller may have left: then nothing is used up.
  if (call.signal.aborted) return answer(withdrawn(call, parts))
  const key = keyUse(asked, argsHash)
  const keyStanding = key === undefined ? ({ state: 'fresh' } as const) : keys.standingIn(transaction, key)
  const repeat = keyStanding.state !== 'fresh'
  const binding = bindingOf(asked, argsHash, parts)
  const leaves = leafHashes(parts.hashKey, call.body)
  const { standing, notes } = approvals.standingIn(transaction, binding)
  const undecided = standing.state === 'none' || standing.state === 'requested'
  const grant = undecided ? grants.findIn(transaction, { binding, body: call.body, leaves }) : undefined
  const approval: ApprovalStanding = grant === undefined ? standing : { state: 'granted', id: grant }
  const decision = decide(policyInput(asked, parts, { approval, repeat }))
  if (decision.verdict === 'approval-required') {
    const open = standing.state === 'requested' ? approvals.get(standing.id) : undefined
    const request = { binding, shown: shownCall(asked), leaves }
    const requested = open === undefined ? approvals.requestIn(transaction, request) : ok(open)
    return answer(requested.ok ? approvalRequired(requested.value, [...decision.reasons, ...notes]) : requested.fault)
  }
  if (decision.verdict !== 'allow') return refuse(decision)
  if (keyStanding.state !== 'fresh') return { kind: 'answer', outcome: repeated(keyStanding) }
  if (key !== undefined) keys.reserveIn(transaction, key)
  if (decision.needsApproval && approval.state === 'approved') approvals.useIn(transaction, approval.id, call)
  if (decision.needsApproval && approval.state === 'granted') grants.useIn(transaction, approval.id, call)
  limits.take(act)
  return { kind: 'act', effect: decision.effect, key }
}

function keyUse({ call, offer, assessment }: Asked, argsHash: string): KeyUse | undefined {
  if (assessment.idempotencyKey === undefined) return undefined
  return { principal: callerKey(call.caller), capability: offer.name, key: assessment.idempotencyKey, argsHash }
}

function bindingOf({ call, offer, assessment }: Asked, argsHash: string, parts: GateParts): Binding {
  return {
    principal: callerKey(call.caller),
    tool: offer.name,
    argsHash,
    definitionHash: definitionHash(offer),
    target: assessment.target,
    policyVersion: parts.policyVersion,
    promiseHash: promiseHash(parts.hashKey, hideSecrets(assessment.preview ?? {}) as JsonObject),
  }
}

function shownCall({ call, offer, assessment, effect }: Asked): ShownCall {
  const { caller } = call
  const preview = assessment.preview === undefined ? undefined : (redactData(assessment.preview) as JsonObject)
  return {
    title: offer.title,
    effect: effect ?? offer.effect,
    arguments: redactArguments(call.body, offer),
    channel: call.channel,
    traceId: call.traceId,
    ...(assessment.label === undefined
      ? {}
      : { label: redactText(assessment.label.slice(0, MAX_LABEL)).toWellFormed() }),
    ...(preview === undefined ? {} : { preview, previewHash: sha256(preview) }),
    ...(caller.kind === 'principal' && caller.client !== undefined
      ? { client: caller.client.slice(0, MAX_LABEL) }
      : {}),
  }
}

async function carryOut(
  call: Call,
  proceed: Proceed,
  { effect, key }: Passed & { readonly kind: 'act' },
  parts: GateParts,
): Promise<Outcome> {
  if (effect !== 'reads' && call.signal.aborted) {
    if (key !== undefined) await parts.keys.release(key)
    return fail(withdrawn(call, parts))
  }
  if (effect === 'reads') return proceed(call)
  const outcome = settle(await attempt(call, proceed, parts), effect)
  if (key === undefined) return outcome
  try {
    await parts.keys.finish(key, outcome)
  } catch (error) {
    // The act is done and its answer true; only a repeat will hear "still under way", and after a restart "unknown".
    parts.report(error, `the outcome of an idempotency key of ${call.capability} could not be kept`)
  }
  return outcome
}

/** Something thrown in the middle of a change is no more than silence about it. */
async function attempt(call: Call, proceed: Proceed, parts: GateParts): Promise<Outcome> {
  try {
    return await proceed(call)
  } catch (error) {
    parts.report(error, `${call.capability} threw`)
    return fail({ kind: 'internal', message: `${call.capability} failed inside this node.` })
  }
}

/** `undefined` when the signal comes first. */
function unlessAborted<Value>(value: Value | Promise<Value>, signal: AbortSignal): Value | Promise<Value | undefined> {
  if (!(value instanceof Promise)) return value
  return new Promise((resolve, reject) => {
    const leave = (): void => resolve(undefined)
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    value.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}

function withdrawn(call: Call, { monotonic }: GateParts): Fault {
  return monotonic() >= call.deadlineMs
    ? { kind: 'timed-out', message: 'The time was over before anything was tried.' }
    : { kind: 'cancelled', message: 'The call was withdrawn before anything was tried.' }
}

function invalid(message: string): Fault {
  return { kind: 'invalid-arguments', message }
}

function answer(fault: Fault): Passed {
  return { kind: 'answer', outcome: fail(fault) }
}
