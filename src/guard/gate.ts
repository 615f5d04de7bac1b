/**
 * Gate: one call on its way past the guard.
 *
 *   assess ▸ decide ─▶ refused, or asked of a person
 *             ├─▶ rehearsed: no key, approval or budget is touched
 *             └─▶ step (durable) ▸ act ▸ what became of it
 *
 * The step is on the disk before the act begins. A crash after it leaves a used approval and an unknown key, never a
 * second act.
 *
 * Pure: stores and bus do the work.
 */
import type { Proceed } from '../bus/admit.ts'
import type { Call, Outcome } from '../bus/call.ts'
import { accountKey } from '../bus/caller-key.ts'
import type { Assessment, Offer } from '../bus/capability.ts'
import type { Fault } from '../core/fault.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { drivenBy } from './limits.ts'
import type { Act } from './limits.ts'
import { decide, effectOf } from './policy.ts'
import type { Decision } from './policy.ts'
import { denied, withdrawn } from './refusal.ts'
import { settle } from './settle.ts'
import { policyInput, refuse, takeStep } from './step.ts'
import type { Asked, Passed, StepParts, UsedYes } from './step.ts'

export type Around = (call: Call, offer: Offer, proceed: Proceed) => Promise<Outcome>

export interface Judgement {
  readonly decision: Decision
  readonly assessment: Assessment
}

export type Judge = (call: Call, offer: Offer) => Promise<Result<Judgement, Fault>>

export function createGate(parts: StepParts): Around {
  return async (call, offer, proceed) => {
    const arrival = parts.limits.arrive(budgetOf(call))
    if (!arrival.ok) return fail(denied({ verdict: 'deny', ...arrival }))
    const asked = await ask(call, offer, parts)
    if (!asked.ok) return asked
    const passed = await pass(asked.value, parts)
    switch (passed.kind) {
      case 'answer':
        return passed.outcome
      case 'rehearse':
        return proceed({ ...call, rehearsal: true })
      default:
        return passed.effect === 'reads' ? proceed(call) : carryOut(call, proceed, passed, parts)
    }
  }
}

/** The decision alone, as if nobody had been asked before. */
export async function judge(call: Call, offer: Offer, parts: StepParts): Promise<Result<Judgement, Fault>> {
  const asked = await ask(call, offer, parts)
  if (!asked.ok) return asked
  const decision = decide(policyInput(asked.value, parts, { approval: { state: 'none' }, repeat: false }))
  return ok({ decision, assessment: asked.value.assessment })
}

async function ask(call: Call, offer: Offer, parts: StepParts): Promise<Result<Asked, Fault>> {
  const assessed = await assess(call, offer, parts)
  if (!assessed.ok) return assessed
  const assessment = assessed.value
  const effect = effectOf(offer.effect, assessment.effect)
  const { target, label } = assessment
  const act: Act = { caller: budgetOf(call), effect: effect ?? offer.effect, target, label }
  return ok({ call, offer, assessment, effect, act })
}

/** Our own services have no budget: nobody outside makes them call more often. A node has one, whomever it speaks for. */
function budgetOf({ caller }: Call): string | undefined {
  return caller.kind === 'service' ? undefined : accountKey(caller)
}

async function assess(call: Call, offer: Offer, parts: StepParts): Promise<Result<Assessment, Fault>> {
  if (offer.assess === undefined) return ok({ effect: offer.effect, reasons: [] })
  try {
    const assessment = await unlessAborted(offer.assess(call), call.signal)
    if (assessment === LEFT) return fail(withdrawn(call, parts.monotonic()))
    if (!Array.isArray(assessment?.reasons)) throw new TypeError('an assessment without reasons')
    return ok(assessment)
  } catch (error) {
    // Whoever cannot say what a call would do does not get to do it.
    parts.report(error, `assessing ${offer.name} failed`)
    return fail({ kind: 'internal', message: `What ${offer.name} would do could not be told. Nothing was tried.` })
  }
}

async function pass(asked: Asked, parts: StepParts): Promise<Passed> {
  const { assessment, act, effect } = asked
  const plain = decide(policyInput(asked, parts, { approval: { state: 'none' }, repeat: false }))
  if (plain.verdict === 'rehearse') return { kind: 'rehearse' }
  if (assessment.idempotencyKey !== undefined && effect !== 'reads') {
    // A repeat is answered without budget or approval, so only what holds regardless of both refuses it here.
    const regardless = decide(policyInput(asked, parts, { approval: { state: 'none' }, repeat: true }))
    return regardless.verdict === 'allow' ? takeStep(asked, parts) : refuse(plain)
  }
  if (plain.verdict === 'approval-required') return takeStep(asked, parts)
  if (plain.verdict !== 'allow') return refuse(plain)
  // What wears a device out is on the disk before it happens: a restart forgives nothing.
  if (drivenBy(act) !== undefined) return takeStep(asked, parts)
  parts.limits.take(act)
  return { kind: 'act', effect: plain.effect, key: undefined }
}

async function carryOut(
  call: Call,
  proceed: Proceed,
  { effect, key, yes }: Passed & { readonly kind: 'act' },
  parts: StepParts,
): Promise<Outcome> {
  const withdrawnInTime = call.signal.aborted
  const outcome = withdrawnInTime
    ? fail(withdrawn(call, parts.monotonic()))
    : settle(await attempt(call, proceed, parts), effect)
  // Whoever would have acted, another node or a call that this one makes, asks a person as well, and nothing was tried:
  // this yes is for when that one is there.
  if (yes !== undefined && !outcome.ok && outcome.fault.kind === 'approval-required') await giveBack(yes, call, parts)
  if (key === undefined) return outcome
  try {
    await (withdrawnInTime ? parts.keys.release(key) : parts.keys.finish(key, outcome))
  } catch (error) {
    // The act is done and its answer true; only a repeat will hear "still under way", and after a restart "unknown".
    parts.report(error, `the outcome of an idempotency key of ${call.capability} could not be kept`)
  }
  return outcome
}

async function giveBack(yes: UsedYes, call: Call, parts: StepParts): Promise<void> {
  const store = yes.state === 'approved' ? parts.approvals : parts.grants
  try {
    await parts.transact((transaction) => store.giveBackIn(transaction, yes.id, call))
  } catch (error) {
    // The person is asked once more, and nothing worse.
    parts.report(error, `a yes to ${call.capability} could not be given back`)
  }
}

/** Something thrown in the middle of a change is no more than silence about it. */
async function attempt(call: Call, proceed: Proceed, parts: StepParts): Promise<Outcome> {
  try {
    return await proceed(call)
  } catch (error) {
    parts.report(error, `${call.capability} threw`)
    return fail({ kind: 'internal', message: `${call.capability} failed inside this node.` })
  }
}

const LEFT = Symbol('the caller left')

/** `LEFT` when the signal comes first. */
function unlessAborted<Value>(
  value: Value | Promise<Value>,
  signal: AbortSignal,
): Value | Promise<Value | typeof LEFT> {
  if (!(value instanceof Promise)) return value
  return new Promise((resolve, reject) => {
    const leave = (): void => resolve(LEFT)
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    void value.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}
